// The forms of YAML (https://yaml.org/spec/1.2.2/) in which data sets' descriptions list their classes:
//
//   names: [cat, 'dog', "bird"]      names:            names:
//   names: {0: cat, 1: dog}            - cat             0: cat
//
// Anchors, tags, texts over several lines and the like are refused.
#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

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
  std::vector<std::string> take_names() { return std::move(names_); }

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
      const bool is_numbered = !line.empty() && line.front() >= '0' && line.front() <= '9' && blanks > 0;
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

  // The number of the next name, which must be its place.
  bool take_key() {
    uint64_t key = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), key);
    if (error != std::errc() || key != names_.size()) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    skip_blanks(false);
    return take(':') && !rest_.empty() && without_blanks(rest_.substr(0, 1)).empty();
  }

  bool take_name(std::string_view ends) {
    if (names_.size() == kClassesMax || rest_.empty()) return false;
    auto name = rest_.front() == '\'' || rest_.front() == '"' ? take_quoted() : take_plain(ends);
    if (!name || name->empty() || name->find_first_of(std::string_view("\0\n", 2)) != std::string::npos) return false;
    names_.push_back(std::move(*name));
    return true;
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
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> read_yolo_names(std::string_view yaml, const std::string& path) {
  constexpr std::string_view kKey = "names:";
  size_t at = yaml.starts_with(kKey) ? 0 : yaml.find("\nnames:");
  if (at == std::string_view::npos) throw SetupError(Trouble::kUsage, path + " has no key `names` for the classes.");
  at += yaml[at] == '\n' ? 1 : 0;
  NamesReader reader(yaml.substr(at + kKey.size()));
  if (!reader.read_all())
    throw SetupError(Trouble::kUsage, path +
                                          ": its `names` are no list, and no table from 0 on, in a form that is read "
                                          "here: write `names` in the source.");
  return reader.take_names();
}

}  // namespace spdld::source
