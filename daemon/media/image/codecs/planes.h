// A picture as a JPEG stores it: luma at full size, chroma at a size of its own, both full-range BT.601 (JFIF). Planes
// are smaller than RGB, and are enough to resize a picture without ever making its full-size RGB. Plain values; any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "daemon/base/picture.h"

namespace spdld {

// The properties that decide the memory of a picture's planes. Chroma has ceil(size / factor) samples.
struct PlanesShape {
  Size picture;
  uint8_t chroma_across = 2, chroma_down = 2;  // 1 or 2: the factors by which chroma is smaller
  bool grey = false;                           // luma alone
  friend bool operator==(const PlanesShape&, const PlanesShape&) = default;

  int planes() const { return grey ? 1 : 3; }
  Size plane(int index) const {
    if (index == 0) return picture;
    return {(picture.width + chroma_across - 1) / chroma_across, (picture.height + chroma_down - 1) / chroma_down};
  }
};

// The places of the planes in one piece of memory: one after another, each row aligned to kAlignment, and after the
// last row kSlackBytes that may be read. The memory begins with kHeaderBytes in which the shape itself is kept, so that
// planes explain themselves (the node's cache, and its files).
struct PlanesLayout {
  // Raised when planes are laid out otherwise, and when they get other samples of the same picture.
  static constexpr int kVersion = 1;
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kSlackBytes = 64;
  static constexpr size_t kHeaderBytes = 64;

  explicit PlanesLayout(const PlanesShape& shape);

  std::array<size_t, 3> offset{};        // of each plane in the memory; 0: there is no such plane
  std::array<size_t, 3> stride_bytes{};  // from row to row
  size_t bytes = 0;                      // of all, with header and slack
};

// How the planes of a video become RGB: red = luma_scale * (luma - black) + red_from_cr * (cr - 128), and so on. The
// numbers come from ITU-T H.273 (8.3): limited range, and BT.601, BT.709 or BT.2020, for example.
struct PlanesColours {
  double black = 16, luma_scale = 255.0 / 219;
  double red_from_cr = 0, green_from_cb = 0, green_from_cr = 0, blue_from_cb = 0;
};

// Planes in memory that somebody else owns; readers rely on no alignment (planes from a file are aligned to 16 bytes).
struct PlanesView {
  PlanesShape shape;
  std::array<const uint8_t*, 3> plane{};
  std::array<size_t, 3> stride_bytes{};
  const PlanesColours* colours = nullptr;  // null: JFIF's, as a JPEG has them
};

void write_planes_header(const PlanesShape& shape, uint8_t* memory);
// False: these bytes are no planes, or are not as many as their header says (a file may be damaged).
bool view_planes(const uint8_t* memory, size_t bytes, PlanesView& view);

}  // namespace spdld
