// A text that is shown on a terminal again and again, in its place. Writes nothing itself: gives what is to be written,
// of the plainest escape sequences that every terminal knows. Plain values; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spdld::cli {

class Screen {
 public:
  // Puts `text` in place of the text before. As much of it is shown as the terminal has room for, and how much more
  // there is. A terminal of another size than before is made empty first.
  std::string show(std::string_view text, size_t columns, size_t rows);
  // Puts all of the text there, and leaves the cursor below it.
  std::string end(std::string_view text);

 private:
  std::string home() const;

  size_t below_ = 0;  // rows from the text's first one to the cursor's
  size_t columns_ = 0, rows_ = 0;
};

// Columns that a text with colours takes.
size_t visible_width(std::string_view line);

}  // namespace spdld::cli
