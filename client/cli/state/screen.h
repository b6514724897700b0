// A text that is shown on a terminal again and again, in its place. It writes nothing itself: it returns the text to
// write, with only the plain escape sequences that every terminal knows. Plain values; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spdld::cli {

class Screen {
 public:
  // Puts `text` in place of the text before. It shows as much as the terminal has room for, and says how much more
  // there is. After a change of the terminal's size the screen is cleared first.
  std::string show(std::string_view text, size_t columns, size_t rows);
  // Puts all of the text there, and leaves the cursor below it.
  std::string end(std::string_view text);

 private:
  std::string home() const;

  size_t below_ = 0;  // rows from the text's first one to the cursor's
  size_t columns_ = 0, rows_ = 0;
};

// The number of columns that a line with colours takes.
size_t visible_width(std::string_view line);

}  // namespace spdld::cli
