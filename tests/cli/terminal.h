// A terminal as the tests see it: what stands in its cells after what was written to it. It knows what spdlctl writes:
// carriage returns, line ends, backspaces, moves up, clearing, and colours (which it forgets). One byte a cell.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::test {

class Terminal {
 public:
  Terminal(size_t columns, size_t rows) : columns_(columns), cells_(rows, std::string(columns, ' ')) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      if (text.front() == '\033') {
        text.remove_prefix(escape(text));
        continue;
      }
      put(text.front());
      text.remove_prefix(1);
    }
  }

  // The rows down to the last one with text, without the blanks at their ends.
  std::string shown() const {
    std::string all;
    for (const std::string& row : cells_) all += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
    return all.substr(0, all.find_last_not_of('\n') + 1) + "\n";
  }
  const std::vector<std::string>& scrolled() const { return scrolled_; }  // rows that left at the top
  size_t row() const { return row_; }
  size_t column() const { return column_; }

 private:
  void put(char c) {
    if (c == '\r') {
      column_ = 0;
    } else if (c == '\n') {
      column_ = 0;
      down();
    } else if (c == '\b') {
      column_ -= column_ > 0;
    } else {
      if (column_ == columns_) column_ = 0, down();  // only now, as terminals do it
      cells_[row_][column_++] = c;
    }
  }

  void down() {
    if (++row_ < cells_.size()) return;
    scrolled_.push_back(cells_.front());
    cells_.erase(cells_.begin());
    cells_.emplace_back(columns_, ' ');
    row_--;
  }

  size_t escape(std::string_view text) {
    const size_t end = text.find_first_not_of("\033[0123456789;");
    const std::string number(text.substr(2, end - 2));
    switch (text.at(end)) {
      case 'A':
        row_ -= std::min(row_, static_cast<size_t>(std::stoul(number)));
        break;
      case 'H':
        row_ = column_ = 0;
        break;
      case 'J':
        for (size_t row = number == "2" ? 0 : row_ + 1; row < cells_.size(); row++) cells_[row].assign(columns_, ' ');
        if (number != "2") clear_line();
        break;
      case 'K':
        clear_line();
        break;
      case 'm':
        break;
      default:
        throw std::logic_error("an escape sequence that the tests do not know: " + std::string(text.substr(1, end)));
    }
    return end + 1;
  }

  void clear_line() { std::fill(cells_[row_].begin() + static_cast<std::ptrdiff_t>(column_), cells_[row_].end(), ' '); }

  size_t columns_, row_ = 0, column_ = 0;
  std::vector<std::string> cells_, scrolled_;
};

}  // namespace spdld::test
