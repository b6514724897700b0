// Lines of coloured text for a screen of a given number of columns. A column holds an ASCII character; some characters
// take two columns, and marks that stand on others take none. Texts are UTF-8 without control characters (safe_text).
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/format.h"

namespace spdld::cli::top {

struct Span {
  std::string text;
  Style style = Style::kPlain;
  bool is_reversed = false;
};

struct Line {
  std::vector<Span> spans;
  bool is_reversed = false;  // all of the row, to its end

  Line& add(std::string text, Style style = Style::kPlain, bool is_reversed_span = false);
  size_t columns() const;
  std::string text() const;  // without styles
};
using Lines = std::vector<Line>;

Line line_of(std::string text, Style style = Style::kPlain);

// The columns that a character takes: 0, 1 or 2.
size_t columns_of(char32_t character);
size_t columns_of(std::string_view text);
// The next character of a text, which is taken off. Bytes that are no UTF-8 give '?'. Precondition: not empty.
char32_t take_character(std::string_view& text);
// As much of a text as fits. A text that is cut ends with ".." where there is room for more than that.
std::string cut(std::string_view text, size_t columns);
// The text with blanks behind it, or in front of it with `is_right`; cut where it is longer.
std::string padded(std::string_view text, size_t columns, bool is_right = false);

// "[||||    ]" in `columns`, the brackets among them; `part` is 0 to 1. Something that is not nothing shows.
void add_bar(Line& line, double part, size_t columns, Style style);
// The lines of a text that is broken between its words, also within a word that is longer than a line.
std::vector<std::string> broken(std::string_view text, size_t columns);
// Puts `right` at the end of a line of `columns`, where it fits behind the line's own text.
void add_at_end(Line& line, std::string right, size_t columns, Style style);

}  // namespace spdld::cli::top
