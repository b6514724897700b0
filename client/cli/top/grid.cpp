#include "client/cli/top/grid.h"

#include <algorithm>
#include <stdexcept>

namespace spdld::cli::top {
namespace {

constexpr size_t kKeyLeast = 8, kKeyMost = 32;  // columns of a key, so that one long name does not take the screen
constexpr size_t kCellBarLeast = 6, kCellBarMost = 14;  // with the brackets
constexpr size_t kImportant = 2;                        // the drop of columns that are left out last
constexpr size_t kBarApart = 1;                         // between a bar and its figures

}  // namespace

void Grid::add(std::string key, std::vector<GridCell> cells) {
  if (cells.size() != columns_.size()) throw std::logic_error("a grid's row has another number of cells than columns");
  rows_.push_back({std::move(key), std::move(cells)});
}

void Grid::sort(const Sort& wanted) {
  // A column may have gone, of a stage that no pipeline has any more.
  const Sort sort{std::min(wanted.column, columns_.size() - 1), wanted.is_rising};
  const bool is_text = columns_[sort.column].align == Align::kLeft;
  std::sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
    const GridCell &left = a.cells[sort.column], &right = b.cells[sort.column];
    const int order = is_text                       ? left.text.compare(right.text)
                      : left.weight == right.weight ? 0
                      : left.weight < right.weight  ? -1
                                                    : 1;
    if (order == 0) return a.key < b.key;
    return (order < 0) == sort.is_rising;
  });
}

std::vector<std::string> Grid::keys() const {
  std::vector<std::string> keys;
  keys.reserve(rows_.size());
  for (const Row& row : rows_) keys.push_back(row.key);
  return keys;
}

std::vector<Grid::Place> Grid::places(size_t columns) const {
  std::vector<Place> places;
  for (size_t c = 0; c < columns_.size(); c++) {
    const GridColumn& column = columns_[c];
    size_t width = std::max(columns_of(column.name), column.least);
    for (const Row& row : rows_) width = std::max(width, columns_of(row.cells[c].text));
    if (column.is_key) width = std::min(width, std::max(kKeyMost, column.least));
    places.push_back({c, width, column.has_bar ? kCellBarLeast : 0});
  }
  const auto taken = [&] {
    size_t sum = 0;
    for (const Place& place : places) sum += place.width + (place.bar > 0 ? place.bar + kBarApart : 0);
    return sum + (places.empty() ? 0 : places.size() - 1);
  };
  const auto squeeze = [&](bool is_last) {
    for (Place& place : places) {
      const size_t floor = is_last ? kKeyLeast : std::max(kKeyLeast, columns_[place.column].least);
      const size_t excess = taken() - std::min(taken(), columns);
      if (columns_[place.column].is_key && place.width > floor) place.width -= std::min(place.width - floor, excess);
    }
  };
  squeeze(false);
  while (taken() > columns) {
    const auto least = std::max_element(places.begin(), places.end(), [&](const Place& a, const Place& b) {
      return columns_[a.column].drop < columns_[b.column].drop;
    });
    const size_t drop = least == places.end() ? 0 : columns_[least->column].drop;
    if (drop <= kImportant) squeeze(true);  // they are worth more than the ends of names
    if (drop == 0 || taken() <= columns) break;
    places.erase(least);
  }
  for (Place& place : places) {
    const size_t room = columns - std::min(columns, taken());
    if (place.bar > 0) place.bar += std::min(room, kCellBarMost - place.bar);
  }
  return places;
}

Line Grid::head(const std::vector<Place>& places, size_t columns, const std::optional<Sort>& sort) const {
  Line line;
  line.is_reversed = true;
  for (const Place& place : places) {
    const GridColumn& column = columns_[place.column];
    const size_t width = place.width + (place.bar > 0 ? place.bar + kBarApart : 0);
    const bool is_sorted = sort && sort->column == place.column;
    if (!line.spans.empty()) line.add(" ");
    line.add(padded(column.name, width, column.align == Align::kRight), is_sorted ? Style::kStrong : Style::kPlain);
    if (!is_sorted) continue;
    // The mark takes a blank of the column, or the blank before it.
    std::string& text = line.spans.back().text;
    const char mark = sort->is_rising ? '^' : 'v';
    if (column.align == Align::kLeft && width > column.name.size()) {
      text[column.name.size()] = mark;
    } else if (const size_t at = text.find_first_not_of(' '); at > 0 && at != std::string::npos) {
      text[at - 1] = mark;
    } else if (line.spans.size() > 1) {
      line.spans[line.spans.size() - 2].text.back() = mark;
    }
  }
  line.add(std::string(columns - std::min(columns, line.columns()), ' '));
  return line;
}

Line Grid::line(const Row& row, const std::vector<Place>& places) const {
  Line line;
  for (const Place& place : places) {
    const GridCell& cell = row.cells[place.column];
    if (!line.spans.empty()) line.add(" ");
    if (place.bar > 0) {
      if (cell.bar) {
        add_bar(line, *cell.bar, place.bar, cell.style);
      } else {
        line.add(std::string(place.bar, ' '));
      }
      line.add(" ");
    }
    line.add(padded(cell.text, place.width, columns_[place.column].align == Align::kRight),
             place.bar > 0 ? Style::kPlain : cell.style);
  }
  return line;
}

Lines Grid::lines(size_t columns, const Window& window) const {
  const std::vector<Place> fitting = places(columns);
  Lines lines = {head(fitting, columns, window.sort)};
  const size_t end = window.first + std::min(window.count, rows_.size() - std::min(rows_.size(), window.first));
  for (size_t r = window.first; r < end; r++) {
    lines.push_back(line(rows_[r], fitting));
    lines.back().is_reversed = window.selected == r;
  }
  return lines;
}

Table Grid::table() const {
  std::vector<Column> columns;
  for (const GridColumn& column : columns_)
    columns.push_back({column.name, column.align, column.is_key ? Role::kKey : Role::kFigure});
  Table table(std::move(columns));
  for (const Row& row : rows_) {
    std::vector<Cell> cells;
    for (const GridCell& cell : row.cells) cells.emplace_back(cell.text, cell.style);
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace spdld::cli::top
