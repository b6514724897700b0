#include "config/text/field_path.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "config/text/words.h"
#include "utf8/utf8.h"

namespace spdld::config {
namespace {

constexpr std::string_view kNotPlain = ".[]\"";  // what a key in a path can't hold unless it is quoted

std::string steps_rule() {
  return "must name a JSON value by keys with dots between them and indices in brackets, such as \"json:meta.label\" "
         "or "
         "\"json:boxes[0].id\" (a key with other signs stands in brackets and quotes: \"json:[\\\"a.b\\\"]\")";
}

// Extensions of members are words; columns and features have names such as "image/encoded" and "Größe (cm)".
bool is_field_name(std::string_view name) {
  constexpr std::string_view kOthers = "_.+-/ ()%#&@", kNeverFirst = ".+-/ ";
  const auto is_allowed = [&](char c) { return is_word({&c, 1}, kOthers) || static_cast<unsigned char>(c) >= 0x80; };
  return !name.empty() && name.size() <= kFieldNameBytesMax && std::all_of(name.begin(), name.end(), is_allowed) &&
         kNeverFirst.find(name.front()) == std::string_view::npos && name.back() != ' ' && utf8::is_utf8(name) &&
         is_plain(name);
}

// Takes steps off the front of a text.
class StepReader {
 public:
  explicit StepReader(std::string_view text) : rest_(text) {}

  // False: the text is no path.
  bool read(std::vector<JsonStep>& steps) {
    bool first = true;
    while (!rest_.empty()) {
      JsonStep step;
      const bool bracket = rest_.front() == '[';
      if (!bracket && !first && !take('.')) return false;
      if (!(bracket ? read_bracket(step) : read_key(step)) || steps.size() == kJsonStepsMax) return false;
      steps.push_back(std::move(step));
      first = false;
    }
    return !first;
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool read_key(JsonStep& step) {
    step.key = rest_.substr(0, rest_.find_first_of(kNotPlain));
    rest_.remove_prefix(step.key.size());
    return !step.key.empty();
  }

  bool read_bracket(JsonStep& step) {
    rest_.remove_prefix(1);
    if (take('"')) return read_quoted(step);
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), step.index);
    if (error != std::errc() || step.index > kJsonIndexMax) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    step.is_index = true;
    return take(']');
  }

  // A backslash takes the quote or backslash behind it as it is.
  bool read_quoted(JsonStep& step) {
    while (!rest_.empty() && rest_.front() != '"') {
      if (take('\\') && !rest_.starts_with('"') && !rest_.starts_with('\\')) return false;
      step.key += rest_.front();
      rest_.remove_prefix(1);
    }
    return take('"') && take(']');
  }

  std::string_view rest_;
};

}  // namespace

std::string FieldPath::field() const {
  std::string text;
  for (const auto& name : alternatives) text += (text.empty() ? "" : ";") + name;
  return text;
}

FieldPath parse_field_path(std::string_view text) {
  FieldPath path;
  if (text.size() > kFieldPathBytesMax) {
    path.error = "may have at most " + std::to_string(kFieldPathBytesMax) + " bytes";
    return path;
  }
  const size_t colon = text.find(':');
  std::string_view fields = text.substr(0, colon);
  for (bool more = true; more && path.error.empty();) {
    const size_t end = fields.find(';');
    const std::string name(fields.substr(0, end));
    more = end != std::string_view::npos;
    if (more) fields.remove_prefix(end + 1);
    if (!is_field_name(name)) {
      path.error =
          "must be a member's extension such as \"jpg\", a column's name, several such as \"jpg;jpeg;png\", or "
          "\"path\", not " +
          in_quotes(text);
    } else if (std::find(path.alternatives.begin(), path.alternatives.end(), name) != path.alternatives.end()) {
      path.error = "names " + in_quotes(name) + " twice";
    } else if (path.alternatives.size() == kFieldAlternativesMax) {
      path.error = "may name at most " + std::to_string(kFieldAlternativesMax) + " fields";
    }
    path.alternatives.push_back(name);
  }
  if (path.error.empty() && colon != std::string_view::npos && !StepReader(text.substr(colon + 1)).read(path.steps)) {
    path.error = steps_rule() + ", not " + in_quotes(text);
  }
  return path;
}

std::string steps_text(const std::vector<JsonStep>& steps) {
  std::string text;
  for (const JsonStep& step : steps) {
    if (step.is_index) {
      text += "[" + std::to_string(step.index) + "]";
    } else if (!step.key.empty() && step.key.find_first_of(kNotPlain) == std::string::npos) {
      text += (text.empty() ? "" : ".") + step.key;
    } else {
      text += "[\"";
      for (const char c : step.key) (c == '"' || c == '\\' ? text += '\\' : text) += c;
      text += "\"]";
    }
  }
  return text;
}

}  // namespace spdld::config
