#include "config/parameter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace spdld::config {
namespace {

using Type = ParameterType;

std::string number_text(double number) {
  char text[40];
  if (number >= 9223372036854775807.0) return "9223372036854775807";  // the bound is rounded up to 2^63 as a double
  constexpr double kWholeMax = 9007199254740992;                      // 2^53: below it a double holds every integer
  const bool whole = std::abs(number) < kWholeMax && number == static_cast<double>(static_cast<int64_t>(number));
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.10g", number);
  return text;
}

std::string bounds_text(const Parameter& parameter) {
  if (parameter.min == parameter.max) return "";
  if (parameter.above_min) {
    return " above " + number_text(parameter.min) + " and at most " + number_text(parameter.max);
  }
  return " from " + number_text(parameter.min) + " to " + number_text(parameter.max);
}

std::string count_text(int count) {
  static constexpr std::array<std::string_view, 5> kWords = {"no", "one", "two", "three", "four"};
  return count < static_cast<int>(kWords.size()) ? std::string(kWords[static_cast<size_t>(count)])
                                                 : std::to_string(count);
}

// "one or two", "no to four"
std::string counts_text(const Parameter& parameter) {
  const std::string least = count_text(parameter.count_min);
  if (parameter.count_max == parameter.count_min) return least;
  const bool has_between = parameter.count_max > parameter.count_min + 1;
  return least + (has_between ? " to " : " or ") + count_text(parameter.count_max);
}

std::string choices_text(const Parameter& parameter) {
  std::string text;
  for (const auto& word : parameter.choices) {
    text += (text.empty() ? "\"" : word == parameter.choices.back() ? " or \"" : ", \"") + std::string(word) + "\"";
  }
  return text;
}

}  // namespace

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kFlag:
      return "flag";
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kText:
      return "text";
    case Type::kNumbers:
      return "numbers";
    case Type::kChoice:
      return "choice";
    case Type::kSize:
      return "size";
    case Type::kTexts:
      return "texts";
    case Type::kNames:
      return "names";
    case Type::kPath:
      return "path";
    case Type::kValueType:
      return "value type";
    case Type::kValueTypes:
      return "value types";
    case Type::kOperations:
      return "operations";
    case Type::kTable:
      return "table";
  }
  return "";
}

std::string allowed(const Parameter& parameter) {
  if (!parameter.word.empty()) {
    Parameter other = parameter;
    other.word = {};
    return "\"" + std::string(parameter.word) + "\" or " + allowed(other);
  }
  switch (parameter.type) {
    case Type::kFlag:
      return parameter.choices.empty() ? "true or false" : "true, false, " + choices_text(parameter);
    case Type::kInteger:
      return "an integer" + bounds_text(parameter);
    case Type::kNumber:
      return "a number" + bounds_text(parameter);
    case Type::kText:
      return "a text";
    case Type::kChoice:
      return choices_text(parameter);
    case Type::kSize:
      return "a size such as \"8 GiB\", or bytes," + bounds_text(parameter);
    case Type::kTexts:
      return "a list of texts";
    case Type::kNames:
      return "names with commas between them, or a list of names";
    case Type::kPath:
      return "the path of a file or of a folder";
    case Type::kValueType:
      return "\"bytes\", or a table such as { dtype = \"uint8\", shape = [224, 224, 3] }";
    case Type::kValueTypes:
      return "a table such as { image = { dtype = \"uint8\", shape = [224, 224, 3] }, text = \"bytes\" }";
    case Type::kOperations:
      return "a list of " + counts_text(parameter) + " operations";
    case Type::kTable:
      return "a table";
    case Type::kNumbers:
      break;
  }
  std::string text = counts_text(parameter);
  text += parameter.whole ? " whole number" : " number";
  if (parameter.count_max > 1) text += "s";
  return text + bounds_text(parameter);
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    names.emplace_back(name);
    text.remove_prefix(std::min(text.size(), name.size() + 1));
  }
  return names;
}

}  // namespace spdld::config
