// Text that is safe and fits on a terminal, and the terminal's own properties. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/text/numbers.h"

namespace spdld::cli {

using text::bytes_text;
using text::count_text;
using text::counted;
using text::decimal_text;
using text::display_width;
using text::duration_text;
using text::percent_text;

// Makes a text from elsewhere safe, so that it can't steer the terminal.
std::string safe_text(std::string_view text);
// Makes sentences from elsewhere safe, a line each.
std::string safe_lines(std::string_view text);

enum class Style : uint8_t { kPlain, kStrong, kDim, kGood, kWarning, kBad };

// How a text for people is laid out: coloured or not, and in how many columns.
struct Page {
  bool colour = false;
  size_t columns = 80;
};
constexpr size_t kColumnsMin = 40;  // a narrower page is laid out as if it had so many columns

// How many columns the terminal at `fd` has; 0: it is no terminal, or does not say.
size_t terminal_columns(int fd);

// The page of stdout: colour on a terminal that wants it (https://no-color.org); the terminal's width, else $COLUMNS,
// else 80.
Page page_of_stdout();

std::string styled(std::string_view text, Style style, bool colour);

// The lines of a text that is broken between its words, each at most `columns` wide. A word that is longer stays whole:
// it may be a path that somebody copies.
std::vector<std::string> wrapped(std::string_view text, size_t columns);

// Breaks a text of many lines so that each line fits: the rest of a long line goes on below, under its last column
// (columns stand two blanks apart).
std::string fitted(std::string_view text, size_t columns);

}  // namespace spdld::cli
