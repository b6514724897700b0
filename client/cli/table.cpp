#include "client/cli/table.h"

#include <algorithm>
#include <stdexcept>

namespace spdld::cli {
namespace {

constexpr size_t kApart = 2;   // blanks between columns
constexpr size_t kBelow = 4;   // before words below a row
constexpr size_t kIndent = 2;  // before figures below their keys

std::string blanks(size_t count) { return std::string(count, ' '); }

std::string padded(const std::string& text, size_t width, Align align, Style style, bool colour) {
  const std::string fill = blanks(width - std::min(width, display_width(text)));
  const std::string shown = styled(text, style, colour);
  return align == Align::kRight ? fill + shown : shown + fill;
}

void trim_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

Cell trouble_cell(uint64_t count) { return {count_text(count), count > 0 ? Style::kWarning : Style::kPlain}; }

void Table::add(std::vector<Cell> row) {
  if (row.size() != columns_.size()) throw std::logic_error("a table's row has another number of cells than columns");
  rows_.push_back(std::move(row));
}

size_t Table::width_of(size_t column) const {
  size_t width = display_width(columns_[column].name);
  for (const auto& row : rows_) width = std::max(width, display_width(row[column].text));
  return width;
}

size_t Table::width_of(const Choice& columns) const {
  size_t width = 0;
  for (const size_t column : columns) width += (width > 0 ? kApart : 0) + width_of(column);
  return width;
}

Table::Choice Table::columns_of(Role role, bool but_empty) const {
  Choice chosen;
  for (size_t c = 0; c < columns_.size(); c++) {
    const bool has_text =
        std::any_of(rows_.begin(), rows_.end(), [c](const auto& row) { return !row[c].text.empty(); });
    if (columns_[c].role == role && (has_text || !but_empty)) chosen.push_back(c);
  }
  return chosen;
}

std::string Table::line_of(const std::vector<Cell>& row, const Choice& columns, bool aligned, bool colour) const {
  std::string line;
  for (const size_t c : columns) {
    if (!line.empty()) line += blanks(kApart);
    const Cell cell = row.empty() ? Cell(columns_[c].name) : row[c];
    line += padded(cell.text, aligned ? width_of(c) : 0, columns_[c].align, cell.style, colour);
  }
  trim_right(line);
  return row.empty() ? styled(line, Style::kStrong, colour) : line;
}

std::string Table::words_text(const std::vector<Cell>& row, const Choice& words, const Page& page) const {
  std::string text;
  for (const size_t c : words) {
    if (row[c].text.empty()) continue;
    const std::string name = lower_case(columns_[c].name) + ": ";
    const auto lines = wrapped(name + row[c].text, page.columns - kBelow);
    for (const auto& line : lines) text += blanks(kBelow) + styled(line, row[c].style, page.colour) + "\n";
  }
  return text;
}

std::string Table::block_text(const Block& block, const Page& page) const {
  Choice beside = block.keys;
  beside.insert(beside.end(), block.figures.begin(), block.figures.end());
  const auto lines = [&](const std::vector<Cell>& row) {
    if (!block.keys_above) return line_of(row, beside, true, page.colour) + "\n";
    return line_of(row, block.keys, false, page.colour) + "\n" + blanks(kIndent) +
           line_of(row, block.figures, true, page.colour) + "\n";
  };
  std::string text = lines({});
  for (const auto& row : rows_) text += lines(row) + words_text(row, block.words, page);
  return text;
}

std::string Table::text(const Page& page) const {
  Choice all;
  const Choice figures = columns_of(Role::kFigure, false), words = columns_of(Role::kWords, true);
  for (size_t c = 0; c < columns_.size(); c++)
    if (columns_[c].role != Role::kWords || std::count(words.begin(), words.end(), c) > 0) all.push_back(c);
  if (width_of(all) <= page.columns) return block_text({{}, all, {}}, page);

  Block block{columns_of(Role::kKey, false), {}, words};
  const size_t key_width = width_of(block.keys);
  block.keys_above = 2 * key_width > page.columns && !figures.empty();
  const size_t taken = block.keys_above ? kIndent : key_width > 0 ? key_width + kApart : 0;
  std::string text;
  for (size_t i = 0; i < figures.size(); i++) {
    const size_t figure = figures[i];
    Choice longer = block.figures;
    longer.push_back(figure);
    if (columns_[figure].begins)
      for (size_t next = i + 1; next < figures.size() && !columns_[figures[next]].begins; next++)
        longer.push_back(figures[next]);
    if (!block.figures.empty() && taken + width_of(longer) > page.columns) {
      text += block_text(block, page) + "\n";
      block.figures.clear();
      block.words.clear();
    }
    block.figures.push_back(figure);
  }
  return text + block_text(block, page);
}

std::string Facts::text(const Page& page) const {
  size_t width = 0;
  for (const auto& [name, cell] : lines_) width = std::max(width, display_width(name));
  const size_t before = width + kApart;
  std::string all;
  for (const auto& [name, cell] : lines_) {
    std::string start = padded(name, width, Align::kLeft, Style::kStrong, page.colour) + blanks(kApart);
    for (const auto& part : wrapped(cell.text, page.columns - std::min(before, page.columns / 2))) {
      std::string line = start + styled(part, cell.style, page.colour);
      trim_right(line);
      all += line + "\n";
      start = blanks(before);
    }
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
