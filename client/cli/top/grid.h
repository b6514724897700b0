// A table whose columns fit a screen: the least important ones are left out where it is narrow. The same table is
// written whole, by Table, where there is no screen. Plain values; one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/table.h"
#include "client/cli/top/lines.h"

namespace spdld::cli::top {

struct GridColumn {
  std::string name;
  Align align = Align::kRight;
  size_t drop = 0;      // columns with greater numbers are left out first; 0: never
  size_t least = 0;     // columns that it takes at least, so that figures do not move about
  bool is_key = false;  // names the row's subject
  bool has_bar = false;
};

struct GridCell {
  std::string text;
  Style style = Style::kPlain;
  double weight = 0;          // sorts numbers; texts are sorted by their letters
  std::optional<double> bar;  // 0 to 1

  GridCell(std::string cell_text, Style cell_style = Style::kPlain, double cell_weight = 0)
      : text(std::move(cell_text)), style(cell_style), weight(cell_weight) {}
};

struct Sort {
  size_t column = 0;
  bool is_rising = false;
};

class Grid {
 public:
  explicit Grid(std::vector<GridColumn> columns) : columns_(std::move(columns)) {}

  // `key` tells the row from others, and stays its own from look to look. Precondition: one cell a column (throws
  // std::logic_error else).
  void add(std::string key, std::vector<GridCell> cells);
  // Rows that are equal in this stay in the order of their keys.
  void sort(const Sort& wanted);

  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }
  const std::vector<GridColumn>& columns() const { return columns_; }
  const std::string& key_of(size_t row) const { return rows_[row].key; }
  std::vector<std::string> keys() const;

  // A head line, and the rows from `first` on, `count` at most. `selected` is the row that is marked.
  struct Window {
    size_t first = 0, count = SIZE_MAX;
    std::optional<size_t> selected;
    std::optional<Sort> sort;  // marks the head
  };
  Lines lines(size_t columns, const Window& window) const;
  Table table() const;

 private:
  struct Row {
    std::string key;
    std::vector<GridCell> cells;
  };
  struct Place {
    size_t column, width, bar;
  };

  std::vector<Place> places(size_t columns) const;
  Line head(const std::vector<Place>& places, size_t columns, const std::optional<Sort>& sort) const;
  Line line(const Row& row, const std::vector<Place>& places) const;

  std::vector<GridColumn> columns_;
  std::vector<Row> rows_;
};

}  // namespace spdld::cli::top
