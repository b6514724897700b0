#include "client/sheet/layout.h"

#include <algorithm>

namespace spdld::sheet {
namespace {

constexpr int kGap = 4, kMargin = 10;  // between tiles, and around each card
constexpr Colour kTitle{240, 240, 240}, kName{150, 150, 160}, kText{200, 205, 215};

int card_width(const Grid& grid) { return grid.across * (grid.side + kGap) - kGap; }

int tile_rows(const Card& card, const Grid& grid) {
  return (static_cast<int>(card.tiles.size()) + grid.across - 1) / grid.across;
}

int card_height(const Card& card, const Grid& grid) {
  return kGlyphHeight + tile_rows(card, grid) * (kGlyphHeight + grid.side + kGap) +
         static_cast<int>(card.lines.size()) * kGlyphHeight;
}

void draw_line(Canvas& sheet, int left, int top, int width, const std::string& text, Colour colour) {
  sheet.write(left, top, shortened(text, static_cast<size_t>(std::max(0, width / kGlyphWidth))), colour);
}

void draw_card(Canvas& sheet, const Card& card, const Grid& grid, int left, int top) {
  draw_line(sheet, left, top, card_width(grid), card.title, kTitle);
  top += kGlyphHeight;
  for (size_t i = 0; i < card.tiles.size(); ++i) {
    const int column = static_cast<int>(i) % grid.across, row = static_cast<int>(i) / grid.across;
    const int x = left + column * (grid.side + kGap), y = top + row * (kGlyphHeight + grid.side + kGap);
    draw_line(sheet, x, y, grid.side, card.tiles[i].name, kName);
    sheet.lay(card.tiles[i].picture, x, y + kGlyphHeight);
  }
  top += tile_rows(card, grid) * (kGlyphHeight + grid.side + kGap);
  for (const std::string& line : card.lines) {
    draw_line(sheet, left, top, card_width(grid), line, kText);
    top += kGlyphHeight;
  }
}

}  // namespace

int side_for(int width, int columns, int across) {
  const int card = (width - kMargin) / std::max(columns, 1) - kMargin;
  return std::max(0, (card + kGap) / std::max(across, 1) - kGap);
}

Canvas sheet_of(const std::vector<Card>& cards, const Grid& grid) {
  const auto columns = static_cast<size_t>(grid.columns);
  std::vector<int> heights;
  for (size_t begin = 0; begin < cards.size(); begin += columns) {
    int height = 0;
    for (size_t i = begin; i < std::min(begin + columns, cards.size()); ++i)
      height = std::max(height, card_height(cards[i], grid));
    heights.push_back(height);
  }
  int height = kMargin;
  for (const int row : heights) height += row + kMargin;
  const int used = static_cast<int>(std::min(columns, std::max<size_t>(cards.size(), 1)));
  Canvas sheet(used * (card_width(grid) + kMargin) + kMargin, height, kPaper);
  int top = kMargin;
  for (size_t begin = 0; begin < cards.size(); begin += columns) {
    for (size_t i = begin; i < std::min(begin + columns, cards.size()); ++i)
      draw_card(sheet, cards[i], grid, kMargin + static_cast<int>(i - begin) * (card_width(grid) + kMargin), top);
    top += heights[begin / columns] + kMargin;
  }
  return sheet;
}

}  // namespace spdld::sheet
