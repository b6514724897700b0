// The marks that are drawn on a picture: masks first, then boxes, then dots. All places are in the picture's own
// pixels, also where the picture is drawn in another size. Plain values and pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/sheet/canvas.h"

namespace spdld::sheet {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  Colour colour;
  std::string label = {};  // empty: none
};

struct Dot {
  double x = 0, y = 0;
  Colour colour;
};

// A value for each pixel of a picture, row by row: 0 is left as it is, and any other value is tinted.
struct Mask {
  int width = 0, height = 0;
  std::vector<uint32_t> values;
  std::vector<Colour> colours;  // of the values from 1 on, from the first again behind the last; at least one
};

struct Marks {
  std::vector<Mask> masks;
  std::vector<Box> boxes;
  std::vector<Dot> dots;
};

// The picture, resized to fit into a square of this side, with its marks. Precondition: it has no empty side.
Canvas drawn(const Canvas& picture, const Marks& marks, int side);

}  // namespace spdld::sheet
