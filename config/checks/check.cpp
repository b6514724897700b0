#include "config/checks/check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "config/text/value_type.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

bool in_bounds(const Parameter& parameter, double number) {
  if (!std::isfinite(number)) return false;
  if (parameter.min == parameter.max) return true;
  return (parameter.above_min ? number > parameter.min : number >= parameter.min) && number <= parameter.max;
}

std::optional<double> number_of(const Node& node) {
  if (const auto* integer = std::get_if<int64_t>(&node.value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&node.value)) return *number;
  return std::nullopt;
}

// "1.5 GiB", "512 MB", "4096": bytes, rounded down.
std::optional<double> parse_size(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{{"", 1},
                                                                                  {"B", 1},
                                                                                  {"KiB", 0x1p10},
                                                                                  {"MiB", 0x1p20},
                                                                                  {"GiB", 0x1p30},
                                                                                  {"TiB", 0x1p40},
                                                                                  {"kB", 1e3},
                                                                                  {"MB", 1e6},
                                                                                  {"GB", 1e9},
                                                                                  {"TB", 1e12}}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  for (const auto& [unit, bytes] : kUnits) {
    if (unit == text) return std::floor(number * bytes);
  }
  return std::nullopt;
}

Value stand_in(const Parameter& parameter) {
  if (parameter.fallback) return *parameter.fallback;
  switch (parameter.type) {
    case Type::kFlag:
      return false;
    case Type::kInteger:
    case Type::kSize:
      return static_cast<int64_t>(parameter.min);
    case Type::kNumber:
      return parameter.max;
    case Type::kNumbers:
      return std::vector<double>(static_cast<size_t>(parameter.count_max), parameter.max);
    case Type::kChoice:
      return std::string(parameter.choices.front());
    case Type::kText:
    case Type::kTexts:
    case Type::kNames:
    case Type::kPath:
    case Type::kOperations:
    case Type::kTable:
    case Type::kValueTypes:
      return std::string();
    case Type::kValueType:
      return value_type_text({});
  }
  return false;
}

std::optional<Value> convert_numbers(const Parameter& parameter, const Node& node) {
  const auto* list = node.list();
  std::vector<double> numbers;
  const size_t count = list == nullptr ? 1 : list->size();
  if (count < static_cast<size_t>(parameter.count_min) || count > static_cast<size_t>(parameter.count_max)) {
    return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i) {
    const auto number = number_of(list == nullptr ? node : (*list)[i]);
    if (!number || !in_bounds(parameter, *number)) return std::nullopt;
    if (parameter.whole && *number != std::floor(*number)) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// Each name once, with commas between them. None: there is something else, or a name is empty or there twice.
std::optional<Value> convert_names(const Node& node) {
  std::vector<std::string> names;
  if (const auto* text = node.text()) {
    if (!text->empty()) names = names_in(*text + (text->ends_with(',') ? "," : ""));
  } else if (const auto* list = node.list()) {
    for (const Node& element : *list) {
      if (element.text() == nullptr || element.text()->find(',') != std::string::npos) return std::nullopt;
      names.push_back(*element.text());
    }
  } else {
    return std::nullopt;
  }
  std::string joined;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string& name = names[i];
    name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
    name.erase(name.find_last_not_of(' ') + 1);
    const auto before = names.begin() + static_cast<std::ptrdiff_t>(i);
    if (name.empty() || !is_plain(name) || std::find(names.begin(), before, name) != before) return std::nullopt;
    joined.append(i == 0 ? "" : ",").append(name);
  }
  return joined;
}

std::optional<Value> chosen(const Parameter& parameter, const std::string* text) {
  if (text == nullptr) return std::nullopt;
  for (const auto& choice : parameter.choices) {
    if (*text == choice) return *text;
  }
  return std::nullopt;
}

std::optional<Value> convert_value_type(const Node& node) {
  const std::optional<ValueType> type = node.text() == nullptr ? std::nullopt : value_type_in(*node.text());
  if (!type) return std::nullopt;
  return value_type_text(*type);
}

std::optional<Value> convert_value_types(const Node& node) {
  const auto types = node.text() == nullptr ? std::nullopt : value_types_in(*node.text());
  if (!types) return std::nullopt;
  return value_types_text(*types);
}

// The value as its parameter wants it; none: it is not allowed there.
std::optional<Value> convert(const Parameter& parameter, const Node& node) {
  const auto number = number_of(node);
  const auto* text = node.text();
  if (text != nullptr && !parameter.word.empty() && *text == parameter.word) return *text;
  switch (parameter.type) {
    case Type::kFlag:
      if (const auto* flag = std::get_if<bool>(&node.value)) return *flag;
      return chosen(parameter, text);
    case Type::kInteger:
      if (!std::holds_alternative<int64_t>(node.value) || !in_bounds(parameter, *number)) return std::nullopt;
      return std::get<int64_t>(node.value);
    case Type::kNumber:
      if (!number || !in_bounds(parameter, *number)) return std::nullopt;
      return *number;
    case Type::kNumbers:
      return convert_numbers(parameter, node);
    case Type::kText:
    case Type::kPath:
      if (text == nullptr || !is_plain(*text)) return std::nullopt;
      return *text;
    case Type::kNames:
      return convert_names(node);
    case Type::kValueType:
      return convert_value_type(node);
    case Type::kChoice:
      return chosen(parameter, text);
    case Type::kSize: {
      const bool whole = std::holds_alternative<int64_t>(node.value);
      const auto bytes = text != nullptr ? parse_size(*text) : whole ? number : std::nullopt;
      if (!bytes || !in_bounds(parameter, *bytes)) return std::nullopt;
      return static_cast<int64_t>(*bytes);
    }
    case Type::kValueTypes:
      return convert_value_types(node);
    case Type::kTexts:
    case Type::kOperations:
    case Type::kTable:
      break;
  }
  throw std::logic_error("a list of " + std::string(type_name(parameter.type)) + " is no Value");
}

// The value itself where it is short and says more than its kind.
std::string shown(const Node& node) {
  if (const auto* text = node.text()) return in_quotes(*text);
  if (const auto* integer = std::get_if<int64_t>(&node.value)) return std::to_string(*integer);
  if (const auto* flag = std::get_if<bool>(&node.value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&node.value)) {
    std::array<char, 32> text;
    const int length = std::snprintf(text.data(), text.size(), "%.10g", *number);
    const std::string shown(text.data(), static_cast<size_t>(length));
    return shown.find_first_not_of("-0123456789") == std::string::npos ? shown + ".0" : shown;
  }
  if (const auto* list = node.list(); list != nullptr && !list->empty() && list->size() <= 4) {
    std::string text = "[";
    for (const auto& element : *list) {
      const bool nested = element.list() != nullptr || element.table() != nullptr;
      text += (text.size() > 1 ? ", " : "") + (nested ? std::string(kind_of(element)) : shown(element));
    }
    return text + "]";
  }
  if (const auto* list = node.list()) return "a list of " + std::to_string(list->size());
  return std::string(kind_of(node));
}

// ": write 8" where 8.0 stands in the place of an integer.
std::string integer_meant(const Parameter& parameter, const Node& node) {
  const auto* number = std::get_if<double>(&node.value);
  if (parameter.type != Type::kInteger || number == nullptr || !in_bounds(parameter, *number)) return "";
  if (*number != std::floor(*number) || std::abs(*number) > 0x1p53) return "";
  return ": write " + std::to_string(static_cast<int64_t>(*number));
}

}  // namespace

void Complaints::add(int line, std::string key, std::string text) {
  if (complaints_.size() >= kComplaintsMax) return;
  if (complaints_.size() + 1 == kComplaintsMax) {
    key.clear();
    line = 0;
    text = "has more errors than are shown";
  }
  complaints_.push_back({{file_, line}, std::move(key), std::move(text)});
}

bool Complaints::has(std::string_view key) const {
  return std::any_of(complaints_.begin(), complaints_.end(), [key](const Complaint& one) { return one.key == key; });
}

bool Complaints::has_inside(std::string_view key) const {
  const std::string table = std::string(key) + ".";
  return std::any_of(complaints_.begin(), complaints_.end(),
                     [&](const Complaint& one) { return one.key.starts_with(table); });
}

std::vector<Complaint> Complaints::take() {
  std::stable_sort(complaints_.begin(), complaints_.end(),
                   [](const Complaint& a, const Complaint& b) { return a.where.line < b.where.line; });
  return std::move(complaints_);
}

TableReader::TableReader(const Node& node, std::string key, std::span<const Parameter> known, Complaints& complaints)
    : node_(node), key_(std::move(key)), known_(known), complaints_(complaints) {
  if (node_.table() == nullptr) {
    complaints_.add(node_.line, key_, "must be a table, not " + std::string(kind_of(node_)));
  }
}

std::string TableReader::key(std::string_view name) const {
  return (key_.empty() ? "" : key_ + ".") + printable(name, 64);
}

int TableReader::line(std::string_view name) const {
  const Node* entry = find(name);
  return entry == nullptr ? node_.line : entry->line;
}

void TableReader::complain(std::string_view name, std::string text) const {
  complaints_.add(line(name), key(name), std::move(text));
}

Value TableReader::checked(const Parameter& parameter, const Node& node) const {
  if (parameter.type == Type::kValueType && node.table() != nullptr) {
    const auto type = check_value_type(node, key(parameter.name), complaints_);
    return value_type_text(type.value_or(ValueType()));
  }
  if (parameter.type == Type::kValueTypes && node.table() != nullptr)
    return value_types_text(check_value_types(node, key(parameter.name), complaints_));
  if (auto value = convert(parameter, node)) return *std::move(value);
  std::string text = "must be " + allowed(parameter) + ", not " + shown(node);
  const bool is_text = parameter.type == Type::kText || parameter.type == Type::kPath;
  if (is_text && node.text() != nullptr) text = "must have no control characters";
  text += integer_meant(parameter, node);
  if (!parameter.choices.empty() && node.text() != nullptr) text += did_you_mean(*node.text(), parameter.choices);
  complain(parameter.name, std::move(text));
  // A wrong type of values is no missing one.
  return parameter.type == Type::kValueType ? Value(value_type_text({})) : stand_in(parameter);
}

Value TableReader::value(std::string_view name) const {
  for (const auto& parameter : known_) {
    if (parameter.name != name) continue;
    if (const Node* node = find(name)) return checked(parameter, *node);
    // A node that is not a table was complained about already.
    if (!parameter.fallback && node_.table() != nullptr) {
      complain(name, "is missing: it must be " + allowed(parameter));
    }
    return stand_in(parameter);
  }
  throw std::logic_error("no such parameter: " + key(name));
}

std::optional<int64_t> TableReader::integer_or_word(std::string_view name) const {
  const Value read = value(name);
  const auto* number = std::get_if<int64_t>(&read);
  return number == nullptr ? std::nullopt : std::optional<int64_t>(*number);
}

std::optional<std::string> TableReader::given_text(std::string_view name) const {
  const Node* node = find(name);
  std::string read = text(name);
  if (node == nullptr || node->text() == nullptr || !is_plain(*node->text())) return std::nullopt;
  return read;
}

std::vector<std::string> TableReader::texts(std::string_view name) const {
  std::vector<std::string> result;
  const Node* node = find(name);
  if (node == nullptr) return result;
  const auto* list = node->list();
  if (list == nullptr) {
    complain(name, "must be a list of texts, not " + shown(*node));
    return result;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    const auto& element = (*list)[i];
    const auto* text = element.text();
    if (text != nullptr && is_plain(*text) && !text->empty()) {
      result.push_back(*text);
    } else {
      complaints_.add(element.line, key(name) + "[" + std::to_string(i) + "]",
                      "must be a text that is not empty and has no control characters, not " + shown(element));
    }
  }
  return result;
}

Parameters TableReader::values() const {
  Parameters all;
  for (const auto& parameter : known_)
    if (is_value(parameter.type)) all.emplace(parameter.name, value(parameter.name));
  return all;
}

void TableReader::refuse_unknown(std::span<const std::string_view> others) const {
  const auto* entries = node_.table();
  if (entries == nullptr) return;
  std::vector<std::string_view> names(others.begin(), others.end());
  for (const auto& parameter : known_) names.push_back(parameter.name);
  std::string listed;
  for (const auto& name : names) listed += (listed.empty() ? "" : ", ") + std::string(name);
  for (const auto& entry : *entries) {
    if (std::find(names.begin(), names.end(), entry.name) != names.end()) continue;
    const bool is_near =
        std::any_of(names.begin(), names.end(), [&](std::string_view known) { return is_nearly(entry.name, known); });
    const std::string place = is_near ? "" : place_of_key(complaints_.places(), entry.name);
    complain(entry.name, (place.empty() ? "is not a key that is known here" + did_you_mean(entry.name, names)
                                        : "does not belong here, but " + place) +
                             "; known are " + listed);
  }
}

}  // namespace spdld::config
