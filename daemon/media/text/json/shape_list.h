// The shapes of a sample's objects, as COCO writes its segmentations: polygons, run lengths, or run lengths in a packed
// text. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::text {

enum class ShapeKind : uint8_t { kPolygons, kRuns, kPackedRuns };

// Memory is reused from sample to sample.
class ShapeList {
 public:
  static constexpr size_t kShapesMax = 65'536, kPolygonsMax = size_t{1} << 20;  // of one sample

  struct Shape {
    ShapeKind kind = ShapeKind::kPolygons;
    size_t first = 0, count = 0;    // of polygons, of run lengths, or of characters
    int64_t height = 0, width = 0;  // of the picture that run lengths are for
  };
  struct Polygon {
    size_t first = 0, count = 0;  // numbers: x, y, x, y and so on
  };

  std::vector<Shape> shapes;
  std::vector<Polygon> polygons;
  std::vector<double> numbers;
  std::vector<uint32_t> runs;
  std::string characters;

  void clear() {
    shapes.clear();
    polygons.clear();
    numbers.clear();
    runs.clear();
    characters.clear();
  }
  // Gives all memory back where it is more.
  void shrink(size_t bytes_max) {
    const size_t bytes = shapes.capacity() * sizeof(Shape) + polygons.capacity() * sizeof(Polygon) +
                         numbers.capacity() * sizeof(double) + runs.capacity() * sizeof(uint32_t) +
                         characters.capacity();
    if (bytes > bytes_max) *this = {};
  }
  std::span<const Polygon> polygons_of(const Shape& shape) const {
    return std::span(polygons).subspan(shape.first, shape.count);
  }
  std::span<const double> numbers_of(const Polygon& polygon) const {
    return std::span(numbers).subspan(polygon.first, polygon.count);
  }
  std::span<const uint32_t> runs_of(const Shape& shape) const {
    return std::span(runs).subspan(shape.first, shape.count);
  }
  std::string_view packed_of(const Shape& shape) const {
    return std::string_view(characters).substr(shape.first, shape.count);
  }
};

}  // namespace spdld::text
