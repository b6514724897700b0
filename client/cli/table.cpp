#include "client/cli/table.h"

#include <algorithm>
#include <stdexcept>

namespace spdld::cli {
namespace {

std::string padded(const std::string& text, size_t width, Align align, Style style, bool colour) {
  const std::string blanks(width - std::min(width, display_width(text)), ' ');
  const std::string shown = styled(text, style, colour);
  return align == Align::kRight ? blanks + shown : shown + blanks;
}

void trim_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

void Table::add(std::vector<Cell> row) {
  if (row.size() != columns_.size()) throw std::logic_error("a table's row has another number of cells than columns");
  rows_.push_back(std::move(row));
}

std::string Table::text(bool colour) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); c++) {
    size_t width = display_width(columns_[c].name);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c].text));
    widths.push_back(width);
  }
  std::string head, all;
  for (size_t c = 0; c < columns_.size(); c++) {
    if (c > 0) head += "  ";
    head += padded(columns_[c].name, widths[c], columns_[c].align, Style::kPlain, false);
  }
  trim_right(head);
  all = styled(head, Style::kStrong, colour) + "\n";
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); c++) {
      if (c > 0) line += "  ";
      line += padded(row[c].text, widths[c], columns_[c].align, row[c].style, colour);
    }
    trim_right(line);
    all += line + "\n";
  }
  return all;
}

std::string Facts::text(bool colour) const {
  size_t width = 0;
  for (const auto& [name, cell] : lines_) width = std::max(width, display_width(name));
  std::string all;
  for (const auto& [name, cell] : lines_) {
    std::string line =
        padded(name, width, Align::kLeft, Style::kStrong, colour) + "  " + styled(cell.text, cell.style, colour);
    trim_right(line);
    all += line + "\n";
  }
  return all;
}

Style state_style(std::string_view state) {
  if (state == "running" || state == "ready") return Style::kGood;
  if (state == "degraded" || state == "draining" || state == "listing") return Style::kWarning;
  if (state == "failed") return Style::kBad;
  return Style::kPlain;
}

}  // namespace spdld::cli
