#include "daemon/store/credentials/ini.h"

#include <algorithm>

#include "config/text/words.h"
#include "daemon/base/formats/text_encoding.h"

namespace spdld::store {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

// A comment at the end of a line begins after a blank.
std::string_view without_comment(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins = (text[i] == '#' || text[i] == ';') && (i == 0 || is_blank(text[i - 1]));
    if (begins) return text.substr(0, i);
  }
  return text;
}

std::string single_blanks(std::string_view text) {
  std::string out;
  for (const char c : trimmed(text)) {
    if (!is_blank(c))
      out += c;
    else if (out.back() != ' ')
      out += ' ';
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

}  // namespace

Result<IniFile> read_ini(std::string_view text, const std::string& path) {
  IniFile file;
  IniSection* section = nullptr;
  size_t number = 0, entries = 0;
  const auto refused = [&](Trouble trouble, const std::string& why) {
    return Error{trouble, config::printable(path, 200) + ", line " + std::to_string(number) + ": " + why + "."};
  };
  if (text.size() > kIniBytesMax)
    return refused(Trouble::kLimit, "the file has more than " + std::to_string(kIniBytesMax) + " bytes");
  text = without_byte_order_mark(text);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    number++;
    const std::string_view content = trimmed(without_comment(line));
    if (content.empty()) continue;
    if (is_blank(line.front()) && section != nullptr) continue;
    if (++entries > kIniEntriesMax)
      return refused(Trouble::kLimit, "the file has more than " + std::to_string(kIniEntriesMax) + " settings");
    if (content.front() == '[') {
      if (content.back() != ']' || content.size() < 3)
        return refused(Trouble::kUsage, "the name of a section must stand between [ and ]");
      section = &file[single_blanks(content.substr(1, content.size() - 2))];
      continue;
    }
    const size_t equals = content.find('=');
    if (equals == std::string_view::npos || trimmed(content.substr(0, equals)).empty())
      return refused(Trouble::kUsage, "this is neither [SECTION] nor NAME = VALUE");
    if (section == nullptr) return refused(Trouble::kUsage, "a setting stands before the first [SECTION]");
    (*section)[lower(trimmed(content.substr(0, equals)))] = trimmed(content.substr(equals + 1));
  }
  return file;
}

}  // namespace spdld::store
