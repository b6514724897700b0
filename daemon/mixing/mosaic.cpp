#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "daemon/mixing/box_rows.h"
#include "daemon/mixing/operations.h"

namespace spdld::mixing {
namespace {

// The pictures lie around the place where they meet: the sample's own on the upper left, its partners on the upper
// right, the lower left and the lower right. Each shows its corner there, so that no pixel is resized.
class Mosaic final : public Operation, public Lists {
 public:
  explicit Mosaic(const PlacedOperation& placed)
      : shape_(shape_of(placed.images.front())),
        format_(placed.boxes),
        side_min_(static_cast<float>(placed.spec.number("min_size"))),
        area_min_(static_cast<float>(placed.spec.number("min_area"))),
        part_min_(static_cast<float>(placed.spec.number("min_part"))) {
    const auto& center = placed.spec.numbers("center");
    std::tie(center_[0], center_[1]) = std::minmax(center[0], center[1]);
    const bool is_planar = layout_of(placed.images.front()) == config::Layout::kNchw;
    const uint64_t element = config::dtype_bytes(placed.images.front().dtype());
    pixel_bytes_ = is_planar ? element : shape_.channels * element;
    planes_ = is_planar ? shape_.channels : 1;
  }

 private:
  // A quarter of the mosaic, and how far its picture is moved.
  struct Quarter {
    Box box;
    int64_t right, down;
  };

  Mix draw(const Draws& draws) const override {
    Draw draw = draws.named(draw_key("mosaic"));
    const auto place = [&](uint64_t side) {
      const double at = draw.uniform(center_[0], center_[1]) * static_cast<double>(side);
      return std::min(static_cast<uint64_t>(at), side);
    };
    Mix mix;
    mix.x = place(shape_.width);
    mix.y = place(shape_.height);
    mix.lam = static_cast<double>(mix.x * mix.y) / static_cast<double>(shape_.width * shape_.height);
    return mix;
  }

  Quarter quarter_of(const Mix& mix, uint32_t from) const {
    const bool is_right = from % 2 == 1, is_lower = from >= 2;
    const Box box{is_right ? mix.x : 0, is_lower ? mix.y : 0, is_right ? shape_.width : mix.x,
                  is_lower ? shape_.height : mix.y};
    const auto move = [](uint64_t at, uint64_t side, bool is_behind) {
      return static_cast<int64_t>(at) - (is_behind ? 0 : static_cast<int64_t>(side));
    };
    return {box, move(mix.x, shape_.width, is_right), move(mix.y, shape_.height, is_lower)};
  }

  // Its source may be `own` itself on the upper left: lines are moved up and to the left, from the first one on.
  void copy_quarter(const Quarter& quarter, uint64_t pixel_bytes, uint64_t planes, const uint8_t* from,
                    uint8_t* out) const {
    const auto at = [&](uint64_t plane, int64_t x, int64_t y) {
      const int64_t line = static_cast<int64_t>(plane * shape_.height) + y;
      return (line * static_cast<int64_t>(shape_.width) + x) * static_cast<int64_t>(pixel_bytes);
    };
    const uint64_t bytes = (quarter.box.right - quarter.box.left) * pixel_bytes;
    if (bytes == 0) return;
    for (uint64_t plane = 0; plane < planes; ++plane)
      for (uint64_t line = quarter.box.top; line < quarter.box.bottom; ++line) {
        const auto x = static_cast<int64_t>(quarter.box.left), y = static_cast<int64_t>(line);
        std::memmove(out + at(plane, x, y), from + at(plane, x - quarter.right, y - quarter.down), bytes);
      }
  }

  void mix(const Mix& mix, size_t, uint8_t* own, std::span<const uint8_t* const> partners) const override {
    copy_quarter(quarter_of(mix, 0), pixel_bytes_, planes_, own, own);
    for (uint32_t i = 0; i < partners.size(); ++i)
      copy_quarter(quarter_of(mix, i + 1), pixel_bytes_, planes_, partners[i], own);
  }

  // --- lists ---

  const Lists* lists() const override { return this; }

  Corners moved(const Mix& mix, uint32_t from, const Corners& box) const {
    const Quarter quarter = quarter_of(mix, from);
    const auto across = [&](float x) {
      return std::clamp(x + static_cast<float>(quarter.right), static_cast<float>(quarter.box.left),
                        static_cast<float>(quarter.box.right));
    };
    const auto down = [&](float y) {
      return std::clamp(y + static_cast<float>(quarter.down), static_cast<float>(quarter.box.top),
                        static_cast<float>(quarter.box.bottom));
    };
    return {across(box.x1), down(box.y1), across(box.x2), down(box.y2)};
  }

  bool stays(const Corners& was, const Corners& is) const {
    const float width = is.x2 - is.x1, height = is.y2 - is.y1;
    return width >= side_min_ && height >= side_min_ && width * height >= area_min_ &&
           width * height >= part_min_ * (was.x2 - was.x1) * (was.y2 - was.y1);
  }

  void choose(const Mix& mix, const ListSources& sources, uint64_t most, std::span<uint8_t>,
              std::vector<TakenRow>& taken) const override {
    choose_boxes(format_, sources, most, taken,
                 [&](uint32_t from, const Corners& box) { return stays(box, moved(mix, from, box)); });
  }

  void write_box(const Mix& mix, uint32_t from, const uint8_t* box, const uint8_t*, uint8_t* out) const override {
    write_row(format_, moved(mix, from, read_row(format_, box)), out);
  }

  void write_mask(const Mix& mix, uint32_t from, const uint8_t* mask, uint8_t* out) const override {
    std::memset(out, 0, shape_.width * shape_.height);
    copy_quarter(quarter_of(mix, from), 1, 1, mask, out);
  }

  config::PictureShape shape_;
  BoxFormat format_;
  float side_min_, area_min_, part_min_;
  std::array<double, 2> center_{};  // least and greatest, in parts of the sides
  uint64_t pixel_bytes_ = 0, planes_ = 0;
};

}  // namespace

namespace ops {

std::unique_ptr<Operation> mosaic(const PlacedOperation& placed) { return std::make_unique<Mosaic>(placed); }

}  // namespace ops

}  // namespace spdld::mixing
