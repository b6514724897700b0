#include "client/sheet/layout.h"

#include <algorithm>

namespace spdld::sheet {
namespace {

constexpr int kGap = 4, kMargin = 16;  // between tiles, and around each card
constexpr Colour kTitle{240, 240, 240}, kName{150, 150, 160}, kText{200, 205, 215};

int card_width(const Grid& grid) { return grid.across * (grid.side + kGap) - kGap; }

// The height of each row of tiles.
std::vector<int> row_heights(const std::vector<Tile>& tiles, const Grid& grid) {
  const auto across = static_cast<size_t>(grid.across);
  std::vector<int> heights((tiles.size() + across - 1) / across);
  for (size_t i = 0; i < tiles.size(); ++i)
    heights[i / across] = std::max(heights[i / across], tiles[i].picture.height());
  return heights;
}

int card_height(const Card& card, const Grid& grid) {
  int height = kGlyphHeight + static_cast<int>(card.lines.size()) * kGlyphHeight;
  for (const int row : row_heights(card.tiles, grid)) height += kGlyphHeight + row + kGap;
  return height;
}

void draw_line(Canvas& sheet, int left, int top, int width, const std::string& text, Colour colour) {
  sheet.write(left, top, shortened(text, static_cast<size_t>(std::max(0, width / kGlyphWidth))), colour);
}

void draw_card(Canvas& sheet, const Card& card, const Grid& grid, int left, int top) {
  draw_line(sheet, left, top, card_width(grid), card.title, kTitle);
  top += kGlyphHeight;
  const std::vector<int> heights = row_heights(card.tiles, grid);
  const auto across = static_cast<size_t>(grid.across);
  for (size_t i = 0; i < card.tiles.size(); ++i) {
    const Tile& tile = card.tiles[i];
    const int x = left + static_cast<int>(i % across) * (grid.side + kGap);
    draw_line(sheet, x, top, grid.side, tile.name, kName);
    sheet.lay(tile.picture, x, top + kGlyphHeight);
    if (i % across + 1 == across || i + 1 == card.tiles.size()) top += kGlyphHeight + heights[i / across] + kGap;
  }
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

Canvas strip_of(const std::vector<Tile>& tiles, const Grid& grid) {
  const auto across = static_cast<size_t>(grid.across);
  const std::vector<int> heights = row_heights(tiles, grid);
  int height = 0;
  for (const int row : heights) height += row + kGap;
  Canvas strip(card_width(grid), height, kPaper);
  int top = 0;
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (i > 0 && i % across == 0) top += heights[i / across - 1] + kGap;
    strip.lay(tiles[i].picture, static_cast<int>(i % across) * (grid.side + kGap), top);
  }
  return strip;
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
