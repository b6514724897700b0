#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "daemon/mixing/box_rows.h"
#include "daemon/mixing/operations.h"

namespace spdld::mixing {
namespace {

// The pictures lie around the place where they meet, on a canvas with sides twice as long: the sample's own on the
// upper left, its partners on the upper right, the lower left and the lower right. The canvas is then moved by an
// affine map into the picture's size, as YOLO's random perspective does it (Jocher et al.). A pixel is bilinear between
// the four around its place, and a mask's is the nearest.
class MosaicWarp final : public Operation, public Lists {
 public:
  explicit MosaicWarp(const PlacedOperation& placed)
      : shape_(shape_of(placed.images.front())),
        format_(placed.boxes),
        degrees_(placed.spec.number("degrees")),
        translate_(placed.spec.number("translate")),
        shear_(placed.spec.number("shear")),
        fill_(static_cast<uint8_t>(std::lrint(placed.spec.number("fill")))),
        side_min_(static_cast<float>(placed.spec.number("min_size"))),
        part_min_(static_cast<float>(placed.spec.number("min_part"))),
        aspect_max_(static_cast<float>(placed.spec.number("max_aspect"))),
        is_planar_(layout_of(placed.images.front()) == config::Layout::kNchw) {
    const auto ordered = [&](const char* name) {
      const auto& pair = placed.spec.numbers(name);
      return std::array{std::min(pair[0], pair[1]), std::max(pair[0], pair[1])};
    };
    center_ = ordered("center");
    scale_ = ordered("scale");
  }

 private:
  struct Place {
    double x, y;
  };
  // A part of the canvas, and how far its picture is moved there.
  struct Quarter {
    int64_t left, top, right, bottom;
    int64_t across, down;
    bool holds(int64_t x, int64_t y) const { return x >= left && x < right && y >= top && y < bottom; }
  };

  int64_t width() const { return static_cast<int64_t>(shape_.width); }
  int64_t height() const { return static_cast<int64_t>(shape_.height); }

  Mix draw(const Draws& draws) const override {
    Draw draw = draws.named(draw_key("mosaic-warp"));
    const auto meet = [&](uint64_t side) {
      const double at = draw.uniform(center_[0], center_[1]) * static_cast<double>(2 * side);
      return std::min(static_cast<uint64_t>(at), 2 * side);
    };
    Mix mix;
    mix.x = meet(shape_.width);
    mix.y = meet(shape_.height);
    mix.lam = static_cast<double>(mix.x * mix.y) / static_cast<double>(4 * shape_.width * shape_.height);
    const auto radians = [&](double most) { return draw.uniform(-most, most) * std::numbers::pi / 180; };
    const double turn = radians(degrees_), scale = draw.uniform(scale_[0], scale_[1]);
    const double along_rows = std::tan(radians(shear_)), along_columns = std::tan(radians(shear_));
    const double cosine = scale * std::cos(turn), sine = scale * std::sin(turn);
    const double x = draw.uniform(0.5 - translate_, 0.5 + translate_) * static_cast<double>(shape_.width);
    const double y = draw.uniform(0.5 - translate_, 0.5 + translate_) * static_cast<double>(shape_.height);
    mix.map = {cosine - along_rows * sine,    sine + along_rows * cosine,    x,
               along_columns * cosine - sine, along_columns * sine + cosine, y};
    return mix;
  }

  static double area_factor(const Mix& mix) { return mix.map[0] * mix.map[4] - mix.map[1] * mix.map[3]; }

  // From the canvas, whose middle is the origin of the map.
  Place ahead(const Mix& mix, double x, double y) const {
    const double across = x - static_cast<double>(shape_.width), down = y - static_cast<double>(shape_.height);
    return {mix.map[0] * across + mix.map[1] * down + mix.map[2], mix.map[3] * across + mix.map[4] * down + mix.map[5]};
  }
  // The place on the canvas of each place of the picture.
  struct Back {
    std::array<double, 6> map;              // two rows (x, y, 1)
    Place of(int64_t x, int64_t y) const {  // of the pixel's centre
      const double across = static_cast<double>(x) + 0.5, down = static_cast<double>(y) + 0.5;
      return {map[0] * across + map[1] * down + map[2], map[3] * across + map[4] * down + map[5]};
    }
  };
  Back back_of(const Mix& mix) const {
    const auto& map = mix.map;
    const double area = area_factor(mix);
    const double a = map[4] / area, b = -map[1] / area, c = -map[3] / area, d = map[0] / area;
    return {{a, b, static_cast<double>(shape_.width) - a * map[2] - b * map[5], c, d,
             static_cast<double>(shape_.height) - c * map[2] - d * map[5]}};
  }

  Quarter quarter_of(const Mix& mix, uint32_t from) const {
    const Box whole{0, 0, shape_.width, shape_.height};
    const Box& given = mix.inside[from];
    const Box& inside = given.right == 0 ? whole : given;
    const bool is_right = from % 2 == 1, is_lower = from >= 2;
    const auto meet_x = static_cast<int64_t>(mix.x), meet_y = static_cast<int64_t>(mix.y);
    const int64_t across = meet_x - static_cast<int64_t>(is_right ? inside.left : inside.right);
    const int64_t down = meet_y - static_cast<int64_t>(is_lower ? inside.top : inside.bottom);
    return {std::max<int64_t>(static_cast<int64_t>(inside.left) + across, 0),
            std::max<int64_t>(static_cast<int64_t>(inside.top) + down, 0),
            std::min(static_cast<int64_t>(inside.right) + across, 2 * width()),
            std::min(static_cast<int64_t>(inside.bottom) + down, 2 * height()),
            across,
            down};
  }

  uint64_t canvas_bytes() const override { return 4 * shape_.height * shape_.width * shape_.channels; }

  // The canvas has interleaved pixels.
  void lay(const Quarter& quarter, const uint8_t* picture, uint8_t* canvas) const {
    const auto channels = static_cast<int64_t>(shape_.channels);
    for (int64_t y = quarter.top; y < quarter.bottom; ++y) {
      uint8_t* out = canvas + (y * 2 * width() + quarter.left) * channels;
      const int64_t first = (y - quarter.down) * width() + quarter.left - quarter.across;
      const int64_t count = quarter.right - quarter.left;
      if (!is_planar_) {
        if (count > 0) std::memcpy(out, picture + first * channels, static_cast<size_t>(count * channels));
        continue;
      }
      for (int64_t x = 0; x < count; ++x)
        for (int64_t channel = 0; channel < channels; ++channel)
          *out++ = picture[channel * width() * height() + first + x];
    }
  }

  const uint8_t* pixel(const uint8_t* canvas, const uint8_t* outside, int64_t x, int64_t y) const {
    if (x < 0 || y < 0 || x >= 2 * width() || y >= 2 * height()) return outside;
    return canvas + (y * 2 * width() + x) * static_cast<int64_t>(shape_.channels);
  }

  // Upper left, upper right, lower left, lower right.
  std::array<const uint8_t*, 4> four(const uint8_t* canvas, const uint8_t* outside, int64_t x, int64_t y) const {
    if (x < 0 || y < 0 || x + 1 >= 2 * width() || y + 1 >= 2 * height())
      return {pixel(canvas, outside, x, y), pixel(canvas, outside, x + 1, y), pixel(canvas, outside, x, y + 1),
              pixel(canvas, outside, x + 1, y + 1)};
    const auto channels = static_cast<int64_t>(shape_.channels), line = 2 * width() * channels;
    const uint8_t* const first = canvas + y * line + x * channels;
    return {first, first + channels, first + line, first + line + channels};
  }

  void mix(const Mix& mix, size_t, uint8_t* own, std::span<const uint8_t* const> partners) const override {
    uint8_t* const canvas = mix.canvas.data();
    std::memset(canvas, fill_, canvas_bytes());
    lay(quarter_of(mix, 0), own, canvas);
    for (uint32_t i = 0; i < partners.size(); ++i) lay(quarter_of(mix, i + 1), partners[i], canvas);
    std::array<uint8_t, 4> outside;
    outside.fill(fill_);
    const auto channels = static_cast<int64_t>(shape_.channels);
    const Back back = back_of(mix);
    for (int64_t y = 0; y < height(); ++y)
      for (int64_t x = 0; x < width(); ++x) {
        const Place at = back.of(x, y);
        const double left = std::floor(at.x - 0.5), top = std::floor(at.y - 0.5);
        const auto right_part = static_cast<float>(at.x - 0.5 - left),
                   lower_part = static_cast<float>(at.y - 0.5 - top);
        const auto around = four(canvas, outside.data(), static_cast<int64_t>(left), static_cast<int64_t>(top));
        for (int64_t channel = 0; channel < channels; ++channel) {
          const auto value = [&](size_t i) { return static_cast<float>(around[i][channel]); };
          const float upper = value(0) + (value(1) - value(0)) * right_part;
          const float lower = value(2) + (value(3) - value(2)) * right_part;
          const int64_t to =
              is_planar_ ? (channel * height() + y) * width() + x : (y * width() + x) * channels + channel;
          own[to] = static_cast<uint8_t>(upper + (lower - upper) * lower_part + 0.5F);
        }
      }
  }

  // --- lists ---

  const Lists* lists() const override { return this; }

  Corners on_canvas(const Mix& mix, uint32_t from, const Corners& box) const {
    const Quarter quarter = quarter_of(mix, from);
    const auto across = [&](float x) {
      return std::clamp(x + static_cast<float>(quarter.across), 0.0F, static_cast<float>(2 * width()));
    };
    const auto down = [&](float y) {
      return std::clamp(y + static_cast<float>(quarter.down), 0.0F, static_cast<float>(2 * height()));
    };
    return {across(box.x1), down(box.y1), across(box.x2), down(box.y2)};
  }

  // The smallest upright box around the moved one, cut off at the picture's sides.
  Corners moved(const Mix& mix, const Corners& box) const {
    Place least = ahead(mix, box.x1, box.y1), most = least;
    for (const Place& corner : {ahead(mix, box.x2, box.y1), ahead(mix, box.x2, box.y2), ahead(mix, box.x1, box.y2)}) {
      least = {std::min(least.x, corner.x), std::min(least.y, corner.y)};
      most = {std::max(most.x, corner.x), std::max(most.y, corner.y)};
    }
    const auto across = [&](double x) { return static_cast<float>(std::clamp(x, 0.0, static_cast<double>(width()))); };
    const auto down = [&](double y) { return static_cast<float>(std::clamp(y, 0.0, static_cast<double>(height()))); };
    return {across(least.x), down(least.y), across(most.x), down(most.y)};
  }

  bool stays(const Mix& mix, const Corners& was, const Corners& is) const {
    const float side = is.x2 - is.x1, other = is.y2 - is.y1;
    const float area = (was.x2 - was.x1) * (was.y2 - was.y1) * static_cast<float>(std::abs(area_factor(mix)));
    return area > 0 && side >= side_min_ && other >= side_min_ && side * other >= part_min_ * area &&
           side <= aspect_max_ * other && other <= aspect_max_ * side;
  }

  void choose(const Mix& mix, const ListSources& sources, uint64_t most, std::span<uint8_t>,
              std::vector<TakenRow>& taken) const override {
    choose_boxes(format_, sources, most, taken, [&](uint32_t from, const Corners& box) {
      const Corners was = on_canvas(mix, from, box);
      return stays(mix, was, moved(mix, was));
    });
  }

  void write_box(const Mix& mix, uint32_t from, const uint8_t* box, const uint8_t*, uint8_t* out) const override {
    write_row(format_, moved(mix, on_canvas(mix, from, read_row(format_, box))), out);
  }

  void write_mask(const Mix& mix, uint32_t from, const uint8_t* mask, uint8_t* out) const override {
    const Quarter quarter = quarter_of(mix, from);
    const Back back = back_of(mix);
    for (int64_t y = 0; y < height(); ++y)
      for (int64_t x = 0; x < width(); ++x) {
        const Place at = back.of(x, y);
        const auto cx = static_cast<int64_t>(std::floor(at.x)), cy = static_cast<int64_t>(std::floor(at.y));
        *out++ = quarter.holds(cx, cy) ? mask[(cy - quarter.down) * width() + cx - quarter.across] : uint8_t{0};
      }
  }

  config::PictureShape shape_;
  BoxFormat format_;
  double degrees_, translate_, shear_;
  uint8_t fill_;
  float side_min_, part_min_, aspect_max_;
  bool is_planar_;
  std::array<double, 2> center_{}, scale_{};  // least and greatest
};

}  // namespace

namespace ops {

std::unique_ptr<Operation> mosaic_warp(const PlacedOperation& placed) { return std::make_unique<MosaicWarp>(placed); }

}  // namespace ops

}  // namespace spdld::mixing
