// A picture of 8-bit colours in memory, and what is drawn on it. Nothing is drawn outside of it. Plain
// values; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::sheet {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

// A colour that neighbouring numbers do not share, and that stands out on photographs.
Colour colour_of(uint64_t number);
// The first colour, mixed with so much of the second: 0 is the first alone, 1 the second alone.
Colour mixed(Colour below, Colour above, double part);

inline constexpr int kSideMax = 16'384;                   // of a canvas
inline constexpr int64_t kPixelsMax = int64_t{64} << 20;  // of a canvas
inline constexpr int kGlyphWidth = 6, kGlyphHeight = 10;  // of a character, with the space around it

class Canvas {
 public:
  Canvas() = default;
  // Throws std::length_error where a side is negative or beyond kSideMax, or there are more than kPixelsMax pixels.
  Canvas(int width, int height, Colour background = {});

  int width() const { return width_; }
  int height() const { return height_; }
  bool holds(int x, int y) const { return x >= 0 && y >= 0 && x < width_ && y < height_; }
  // Precondition of both: the canvas holds the place.
  Colour at(int x, int y) const { return pixels_[place(x, y)]; }
  const Colour* row(int y) const { return &pixels_[place(0, y)]; }

  void set(int x, int y, Colour colour);
  void tint(int x, int y, Colour colour, double part);
  // The pixels from (left, top) to the ones before (right, bottom).
  void fill(int left, int top, int right, int bottom, Colour colour);
  // A frame of this width, whose outer edges are the four numbers.
  void frame(int left, int top, int right, int bottom, int thickness, Colour colour);
  // A dot with a dark edge around it.
  void dot(int x, int y, int radius, Colour colour);
  void lay(const Canvas& picture, int left, int top);
  // One line of characters of ASCII, its upper left corner at (left, top); any other byte sequence shows as a box.
  void write(int left, int top, std::string_view text, Colour colour);

 private:
  size_t place(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x);
  }

  int width_ = 0, height_ = 0;
  std::vector<Colour> pixels_;
};

// How many characters `write` draws for a text.
size_t glyphs_of(std::string_view text);
// The text, shortened with dots where it has more characters than that.
std::string shortened(std::string_view text, size_t glyphs);

// The picture in another size: each pixel is the mean of what it covers, and a larger picture shows each pixel as a
// square. Precondition: neither has an empty side.
Canvas resized(const Canvas& picture, int width, int height);
// The part of the picture inside its outer rows and columns of this colour alone; all of it where nothing else is
// there.
Canvas trimmed(const Canvas& picture, Colour border);
// The largest size of the same shape that fits into a square; a small picture grows by whole factors alone.
struct Size {
  int width = 0, height = 0;
};
Size fitting(int width, int height, int side);

}  // namespace spdld::sheet
