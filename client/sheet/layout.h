// The sheet: a card for each sample, with its tiles beside each other and lines of text below them. Pure function; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "client/sheet/canvas.h"

namespace spdld::sheet {

inline constexpr Colour kPaper{24, 24, 28};  // of the sheet's background

struct Tile {
  std::string name;
  Canvas picture;  // each side is at most Grid::side
};

struct Card {
  std::string title;
  std::vector<Tile> tiles;
  std::vector<std::string> lines;  // each is shortened to the card's width
};

struct Grid {
  int columns = 1;  // cards beside each other
  int across = 1;   // tiles of a card beside each other; the others stand in rows below
  int side = 1;     // of the square that a tile's picture stands in
};

// The greatest side of tiles for a sheet that is at most so wide; 0: there is no room.
int side_for(int width, int columns, int across);

// Tiles alone, without words. Preconditions and errors as below.
Canvas strip_of(const std::vector<Tile>& tiles, const Grid& grid);
// Precondition: each number of the grid is at least 1. Throws std::length_error where the sheet has too many pixels.
Canvas sheet_of(const std::vector<Card>& cards, const Grid& grid);

}  // namespace spdld::sheet
