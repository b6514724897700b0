// The forms of YAML (https://yaml.org/spec/1.2.2/) in which data sets' descriptions list their classes:
//
//   names: [cat, 'dog', "bird"]      names:            names:
//   names: {0: cat, 1: dog}            - cat             0: cat
//
// Keys may stand in quotes, and the numbers of a table in any order, as long as none from 0 on is missing.
// Anchors, tags, texts over several lines and the like are refused.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "daemon/base/formats/text_encoding.h"
#include "daemon/base/result.h"
#include "daemon/source/annotations/list_text.h"
#include "daemon/source/annotations/yolo_labels.h"
#include "daemon/source/tables/manifest_index.h"

namespace spdld::source {
namespace {

// Takes names off a text's front. Each function returns false, or none, where the text is in another form.
class NamesReader {
 public:
  explicit NamesReader(std::string_view rest) : rest_(rest) {}

  bool read_all() {
    skip_blanks(false);
    if (take('[')) return read_flow(']', false);
    if (take('{')) return read_flow('}', true);
    return !rest_.empty() && read_block();
  }
  // Empty: a number is missing.
  std::vector<std::string> take_names() {
    std::vector<std::string> names;
    for (auto& [number, name] : names_)
      if (number == names.size()) names.push_back(std::move(name));
    return names.size() == names_.size() ? names : std::vector<std::string>();
  }

 private:
  bool take(char sign) {
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Blanks and comments; ends of lines too, where `over_lines`.
  void skip_blanks(bool over_lines) {
    bool is_behind_blank = true;  // a comment stands behind a blank
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '#' && is_behind_blank) {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (c == ' ' || c == '\t' || c == '\r' || (over_lines && c == '\n')) {
        rest_.remove_prefix(1);
        is_behind_blank = true;
      } else {
        return;
      }
    }
  }

  bool read_flow(char closing, bool has_keys) {
    for (skip_blanks(true); !take(closing); skip_blanks(true)) {
      if (has_keys && !take_key()) return false;
      skip_blanks(true);
      if (!take_name(",]}\n")) return false;
      skip_blanks(true);
      if (!take(',') && !rest_.starts_with(closing)) return false;
    }
    return !names_.empty();
  }

  // Lines that begin alike: with a dash or a number. The list ends with the first line that does not.
  bool read_block() {
    std::optional<size_t> indent;
    std::optional<bool> has_keys;
    while (skip_to_line(), !rest_.empty()) {
      const size_t blanks = std::min(rest_.find_first_not_of(' '), rest_.size());
      const std::string_view line = rest_.substr(blanks);
      const bool is_item = line.starts_with("- ");
      const bool is_numbered = blanks > 0 && is_numbered_line(line);
      if (!is_item && !is_numbered) break;
      if (indent.value_or(blanks) != blanks || has_keys.value_or(is_numbered) != is_numbered) return false;
      indent = blanks;
      has_keys = is_numbered;
      rest_.remove_prefix(blanks + (is_item ? 2 : 0));
      if (is_numbered && !take_key()) return false;
      skip_blanks(false);
      if (!take_name("\n")) return false;
      skip_blanks(false);
      if (!rest_.empty() && rest_.front() != '\n') return false;
    }
    return !names_.empty();
  }

  // To the next line that has more than blanks and a comment; its blanks stay.
  void skip_to_line() {
    while (!rest_.empty()) {
      const std::string_view line = rest_.substr(0, rest_.find('\n')), words = without_blanks(line);
      if (!words.empty() && words.front() != '#') return;
      rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
    }
  }

  static bool is_numbered_line(std::string_view line) {
    if (line.starts_with('\'') || line.starts_with('"')) line.remove_prefix(1);
    return !line.empty() && line.front() >= '0' && line.front() <= '9';
  }

  // The number of the next name.
  bool take_key() {
    const char quote = rest_.starts_with('\'') || rest_.starts_with('"') ? rest_.front() : '\0';
    if (quote != '\0') rest_.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number_);
    if (error != std::errc() || number_ >= kClassesMax) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    if (quote != '\0' && !take(quote)) return false;
    skip_blanks(false);
    return take(':') && !rest_.empty() && without_blanks(rest_.substr(0, 1)).empty();
  }

  bool take_name(std::string_view ends) {
    if (names_.size() == kClassesMax || rest_.empty()) return false;
    auto name = rest_.front() == '\'' || rest_.front() == '"' ? take_quoted() : take_plain(ends);
    if (!name || name->empty() || name->find_first_of(std::string_view("\0\n", 2)) != std::string::npos) return false;
    return names_.emplace(number_++, std::move(*name)).second;
  }

  std::optional<std::string> take_quoted() {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == quote && !(quote == '\'' && take('\''))) return text;
      if (c != '\\' || quote == '\'') {
        text += c;
      } else if (rest_.starts_with('"') || rest_.starts_with('\\')) {
        text += rest_.front();
        rest_.remove_prefix(1);
      } else {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> take_plain(std::string_view ends) {
    constexpr std::string_view kSigns = "&*!|>%@`[{#?,";  // begin other things than plain texts
    if (kSigns.find(rest_.front()) != std::string_view::npos || rest_.starts_with("- ")) return std::nullopt;
    const size_t end = std::min({rest_.find_first_of(ends), rest_.find(" #"), rest_.size()});
    const std::string_view text = without_blanks(rest_.substr(0, end));
    if (text.find(": ") != std::string_view::npos || text.ends_with(':')) return std::nullopt;
    rest_.remove_prefix(end);
    return std::string(text);
  }

  std::string_view rest_;
  uint64_t number_ = 0;  // of the next name
  std::map<uint64_t, std::string> names_;
};

// The text behind the key `names`, which begins a line, perhaps in quotes; none: there is no such key.
std::optional<std::string_view> behind_names_key(std::string_view yaml) {
  for (std::string_view rest = yaml; !rest.empty();) {
    const size_t end = rest.find('\n');
    for (const std::string_view key : {"names", "'names'", "\"names\""}) {
      if (!rest.starts_with(key)) continue;
      const size_t colon = rest.find_first_not_of(" \t", key.size());
      const bool is_key =
          colon != std::string_view::npos && rest[colon] == ':' &&
          (colon + 1 == rest.size() || std::string_view(" \t\r\n").find(rest[colon + 1]) != std::string_view::npos);
      if (is_key) return rest.substr(colon + 1);
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> read_yolo_names(std::string_view yaml, const std::string& path) {
  const auto names_text = behind_names_key(without_byte_order_mark(yaml));
  if (!names_text) throw SetupError(Trouble::kUsage, path + " has no key `names` for the classes.");
  NamesReader reader(*names_text);
  std::vector<std::string> names;
  if (reader.read_all()) names = reader.take_names();
  if (names.empty())
    throw SetupError(Trouble::kUsage, path +
                                          ": its `names` are no list, and no table from 0 on, in a form that is read "
                                          "here: write `names` in the source.");
  return names;
}

}  // namespace spdld::source
