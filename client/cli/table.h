// Aligned text for people. Plain values; one thread.
#pragma once

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

enum class Align : uint8_t { kLeft, kRight };

struct Column {
  std::string name;
  Align align = Align::kLeft;
};

// A head line and a line a row; columns are as wide as their widest cell and stand two blanks apart.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Precondition: one cell a column (throws std::logic_error else).
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  std::string text(bool colour) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Lines of a name and what there is to say about it, the names in one column.
class Facts {
 public:
  void add(std::string name, Cell cell) { lines_.emplace_back(std::move(name), std::move(cell)); }
  std::string text(bool colour) const;

 private:
  std::vector<std::pair<std::string, Cell>> lines_;
};

// How a pipeline's or the daemon's state looks: good, to be watched, bad.
Style state_style(std::string_view state);

}  // namespace spdld::cli
