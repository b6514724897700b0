#include "client/cli/state/screen.h"

#include <algorithm>

#include "client/text/numbers.h"

namespace spdld::cli {
namespace {

constexpr std::string_view kToLineEnd = "\033[K", kToScreenEnd = "\033[J", kWholeScreen = "\033[H\033[2J";
constexpr size_t kRowsMin = 3;

// Takes the first line off a text.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// A line that is wider than the terminal goes on in its next rows.
size_t rows_of(std::string_view line, size_t columns) {
  return std::max<size_t>(1, (visible_width(line) + columns - 1) / columns);
}

size_t rows_of_all(std::string_view text, size_t columns) {
  size_t rows = 0;
  while (!text.empty()) rows += rows_of(next_line(text), columns);
  return rows;
}

}  // namespace

size_t visible_width(std::string_view line) {
  size_t width = 0;
  for (;;) {
    const size_t plain = std::min(line.find('\033'), line.size());
    width += text::display_width(line.substr(0, plain));
    line.remove_prefix(plain);
    if (line.empty()) return width;
    line.remove_prefix(std::min(line.find('m'), line.size() - 1) + 1);  // the end of a colour
  }
}

std::string Screen::home() const { return below_ == 0 ? "\r" : "\r\033[" + std::to_string(below_) + "A"; }

std::string Screen::show(std::string_view text, size_t columns, size_t rows) {
  columns = std::max<size_t>(columns, 1);
  rows = std::max(rows, kRowsMin);
  const bool other_size = columns_ != 0 && (columns != columns_ || rows != rows_);
  columns_ = columns;
  rows_ = rows;
  std::string out = other_size ? std::string(kWholeScreen) : home();
  below_ = 0;
  const size_t room = rows - 1;  // the cursor stands in the last one
  const bool all_fits = rows_of_all(text, columns) <= room;
  while (!text.empty()) {
    std::string_view rest = text;
    const std::string_view line = next_line(rest);
    const size_t its_rows = rows_of(line, columns);
    if (!all_fits && below_ + its_rows > room - 1) break;
    out += std::string(line) + std::string(kToLineEnd) + "\n";
    below_ += its_rows;
    text = rest;
  }
  if (!text.empty()) {
    const auto more = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
    out += ("... " + text::counted(more, "line") + " more").substr(0, columns);  // one row, also where it is narrow
    out += std::string(kToLineEnd) + "\n";
    below_++;
  }
  return out + std::string(kToScreenEnd);
}

std::string Screen::end(std::string_view text) {
  std::string out = home() + std::string(kToScreenEnd) + std::string(text);
  below_ = 0;
  return out;
}

}  // namespace spdld::cli
