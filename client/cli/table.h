// Aligned text for people, on a page of a given number of columns. Plain values; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/format.h"

namespace spdld::cli {

struct Cell {
  std::string text;
  Style style = Style::kPlain;

  Cell(std::string cell_text, Style cell_style = Style::kPlain) : text(std::move(cell_text)), style(cell_style) {}
  Cell(const char* cell_text) : text(cell_text) {}
};

// A count that should be zero: marked where it is not.
Cell trouble_cell(uint64_t count);

enum class Align : uint8_t { kLeft, kRight };

enum class Role : uint8_t {
  kFigure,
  kKey,   // names the row's subject; the keys are the table's first columns
  kWords  // free text, of any length
};

struct Column {
  std::string name;
  Align align = Align::kLeft;
  Role role = Role::kFigure;
  bool begins = false;  // here begins a group of figures that is kept together where it fits
};

// A head line and one line for each row. Columns are as wide as their widest cell and stand two blanks apart. Where the
// page is narrower, nothing is left out and no cell is cut:
//
//   Words go to lines of their own below the row, and a column of words without any word is not there at all.
//   Figures that still do not fit go to a second table below the first, which repeats the keys.
//   Keys that take more than half of the page stand on a line of their own, above the row's figures.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Precondition: one cell a column (throws std::logic_error else).
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  std::string text(const Page& page) const;

 private:
  // Numbers of columns, in the order in which they are shown.
  using Choice = std::vector<size_t>;

  size_t width_of(size_t column) const;
  size_t width_of(const Choice& columns) const;
  Choice columns_of(Role role, bool but_empty) const;
  // The text of a row; of the head where `row` is empty. Not `aligned`: cells are as wide as their text.
  std::string line_of(const std::vector<Cell>& row, const Choice& columns, bool aligned, bool colour) const;
  // Columns that stand beside one another. A table that is too wide for the page is several blocks, one below the
  // other, each with the keys and some of the figures of all rows.
  struct Block {
    Choice keys, figures, words;
    bool keys_above = false;  // on a line of their own
  };
  std::string block_text(const Block& block, const Page& page) const;
  std::string words_text(const std::vector<Cell>& row, const Choice& words, const Page& page) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Lines of a name and a text about it, with the names in one column. The rest of a long text goes on below.
class Facts {
 public:
  void add(std::string name, Cell cell) { lines_.emplace_back(std::move(name), std::move(cell)); }
  void add(const Facts& others) { lines_.insert(lines_.end(), others.lines_.begin(), others.lines_.end()); }
  bool empty() const { return lines_.empty(); }
  std::string text(const Page& page) const;

 private:
  std::vector<std::pair<std::string, Cell>> lines_;
};

// How a pipeline's or the daemon's state looks: good, to be watched, bad.
Style state_style(std::string_view state);

}  // namespace spdld::cli
