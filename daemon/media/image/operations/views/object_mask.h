// The pixels of one object of a picture, drawn from polygons or from run lengths, bit for bit as pycocotools draws them
// (rleFrPoly, rleFrString and rleDecode of its maskApi.c). Memory is reused from object to object. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/picture.h"
#include "daemon/base/result.h"

namespace spdld::image {

class ObjectMask {
 public:
  // The most work for the objects of one picture: a pixel that is drawn counts 1, and each of five points of a pixel
  // along a side of a polygon counts 4. It takes less than a second.
  static constexpr uint64_t kWorkMax = uint64_t{1} << 28;

  // Objects of a picture of this size follow. The memory takes a byte for each pixel.
  void open(const Size& picture);
  // Another object, which has no pixel yet.
  void begin();

  // Adds the pixels of a polygon with corners x, y, x, y and so on. kContent: it is none, or drawing the picture's
  // objects would take too much work; a clause.
  Status add_polygon(std::span<const double> corners);
  // Adds runs of pixels that go down the columns, from left to right: outside and inside in turn. kContent: they are no
  // runs of the picture's pixels; a clause.
  Status add_runs(std::span<const uint32_t> runs);
  // Adds runs in COCO's packed text, as add_runs() does.
  Status add_packed_runs(std::string_view packed);

  // A byte for each pixel, 1 inside of the object; null: no pixel of the line is inside.
  const uint8_t* row(int y) const { return y < top_ || y >= bottom_ ? nullptr : pixels_.data() + at(0, y); }

  void shrink(size_t bytes_max);

 private:
  size_t at(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(size_.width) + static_cast<size_t>(x);
  }
  uint64_t pixels() const { return static_cast<uint64_t>(size_.width) * static_cast<uint64_t>(size_.height); }
  // Marks the pixels from `first` on and before `end`, which are counted down the columns.
  Status fill(uint64_t first, uint64_t end);
  Status spend(uint64_t work);
  // Visits the points of a polygon's side from one corner to the next, in fifths of a pixel. A point on the other side
  // of the middle of a column than the point before it is a crossing.
  void trace(std::pair<int, int> from, std::pair<int, int> to);
  void visit(int x, int y);

  Size size_;
  ByteBuffer pixels_;  // of lines
  int top_ = 0, bottom_ = 0;
  uint64_t work_ = 0;
  // Of a polygon: pixels, counted down the columns, from which on the inside and the outside change.
  std::vector<uint32_t> crossings_;
  std::vector<uint32_t> runs_;
  std::pair<int, int> last_ = {};  // the point that was visited before
  bool has_last_ = false;
};

}  // namespace spdld::image
