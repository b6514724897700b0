#include "client/sheet/marks.h"

#include <algorithm>
#include <cmath>

namespace spdld::sheet {
namespace {

constexpr double kMaskPart = 0.45, kMaskEdgePart = 0.9;
constexpr int kThickFrom = 160;  // the side from which on frames are two pixels wide
constexpr Colour kInk{0, 0, 0};

// Places beyond this are outside of any canvas; what is no number is there as well.
constexpr double kFar = 4.0 * kSideMax;
int pixel_of(double place, double scale) {
  const double scaled = place * scale;
  if (!(scaled > -kFar)) return static_cast<int>(-kFar);
  return static_cast<int>(std::lround(std::min(scaled, kFar)));
}

struct Scale {
  double x, y;
};

void draw_mask(Canvas& canvas, const Mask& mask) {
  if (mask.width <= 0 || mask.height <= 0) return;
  const auto value_at = [&](int x, int y) -> uint32_t {
    if (!canvas.holds(x, y)) return 0;
    const auto column = static_cast<size_t>(int64_t{x} * mask.width / canvas.width());
    const auto row = static_cast<size_t>(int64_t{y} * mask.height / canvas.height());
    return mask.values[row * static_cast<size_t>(mask.width) + column];
  };
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      const uint32_t value = value_at(x, y);
      if (value == 0) continue;
      const bool is_edge = value_at(x - 1, y) != value || value_at(x + 1, y) != value || value_at(x, y - 1) != value ||
                           value_at(x, y + 1) != value;
      canvas.tint(x, y, mask.colours[(value - 1) % mask.colours.size()], is_edge ? kMaskEdgePart : kMaskPart);
    }
  }
}

void draw_label(Canvas& canvas, const Box& box, int left, int top) {
  const auto room = static_cast<size_t>(std::max(0, (canvas.width() - 2) / kGlyphWidth));
  const std::string text = shortened(box.label, room);
  const int width = static_cast<int>(glyphs_of(text)) * kGlyphWidth + 1;
  const int above = top - kGlyphHeight;
  const int at_y = above >= 0 ? above : std::max(top, 0);
  const int at_x = std::clamp(left, 0, std::max(0, canvas.width() - width));
  canvas.fill(at_x, at_y, at_x + width, at_y + kGlyphHeight, box.colour);
  canvas.write(at_x + 1, at_y, text, kInk);
}

void draw_box(Canvas& canvas, const Box& box, Scale scale) {
  const int left = pixel_of(box.left, scale.x), top = pixel_of(box.top, scale.y);
  const int right = std::max(left + 1, pixel_of(box.right, scale.x));
  const int bottom = std::max(top + 1, pixel_of(box.bottom, scale.y));
  canvas.frame(left, top, right, bottom, std::max(canvas.width(), canvas.height()) >= kThickFrom ? 2 : 1, box.colour);
  if (!box.label.empty()) draw_label(canvas, box, left, top);
}

}  // namespace

Canvas drawn(const Canvas& picture, const Marks& marks, int side) {
  const Size size = fitting(picture.width(), picture.height(), side);
  Canvas canvas = resized(picture, size.width, size.height);
  const Scale scale{static_cast<double>(size.width) / picture.width(),
                    static_cast<double>(size.height) / picture.height()};
  for (const Mask& mask : marks.masks) draw_mask(canvas, mask);
  for (const Box& box : marks.boxes) draw_box(canvas, box, scale);
  for (const Dot& dot : marks.dots) canvas.dot(pixel_of(dot.x, scale.x), pixel_of(dot.y, scale.y), 2, dot.colour);
  return canvas;
}

}  // namespace spdld::sheet
