#include "client/cli/format.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "config/text/words.h"

namespace spdld::cli {
namespace {

constexpr size_t kTextBytesMax = 4096;
constexpr size_t kSentenceBytesMax = 8192;

size_t columns_of_stdout() {
  if (const size_t columns = terminal_columns(STDOUT_FILENO); columns > 0) return columns;
  const char* said = std::getenv("COLUMNS");
  const std::string_view text = said ? said : "";
  size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool sound = error == std::errc() && end == text.data() + text.size() && columns > 0;
  return sound ? columns : Page().columns;
}

bool colour_wanted() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (refused && *refused) return false;
  if (!terminal || std::string_view(terminal) == "dumb") return false;
  return isatty(STDOUT_FILENO) == 1;
}

}  // namespace

std::string safe_text(std::string_view text) { return config::printable(text, kTextBytesMax); }

std::string safe_lines(std::string_view text) {
  std::string lines;
  while (true) {
    const size_t end = text.find('\n');
    lines += config::printable(text.substr(0, end), kSentenceBytesMax);
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

size_t terminal_columns(int fd) {
  winsize size{};
  return isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Page page_of_stdout() { return {colour_wanted(), std::max(kColumnsMin, columns_of_stdout())}; }

std::string styled(std::string_view text, Style style, bool colour) {
  static constexpr std::array<const char*, 6> kCodes = {"", "1", "2", "32", "33", "31"};
  if (!colour || style == Style::kPlain || text.empty()) return std::string(text);
  return std::string("\033[") + kCodes[static_cast<size_t>(style)] + "m" + std::string(text) + "\033[0m";
}

std::string fitted(std::string_view text, size_t columns) {
  std::string all;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // Where the last column begins: behind two blanks, and not in the right half.
    size_t indent = std::min(line.find_first_not_of(' '), line.size());
    for (size_t at = indent; (at = line.find("  ", at)) < columns / 2;) at = indent = line.find_first_not_of(' ', at);
    if (indent > columns / 2) indent = 0;
    std::string start(line.substr(0, indent));
    for (const auto& part : wrapped(line.substr(indent), columns - indent)) {
      all += start + part + "\n";
      start.assign(indent, ' ');
    }
  }
  return all;
}

std::vector<std::string> wrapped(std::string_view text, size_t columns) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    // A word, with the blanks in front of it.
    const size_t blanks = std::min(text.find_first_not_of(' '), text.size());
    const size_t end = std::min(text.find(' ', blanks), text.size());
    const std::string_view word = text.substr(blanks, end - blanks);
    std::string& line = lines.back();
    if (!line.empty() && display_width(line) + blanks + display_width(word) > columns) {
      lines.emplace_back(word);
    } else {
      line += text.substr(0, end);
    }
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace spdld::cli
