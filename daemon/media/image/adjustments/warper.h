// Carries warps out, on pictures and on single places, and keeps the memory that they need. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/base/picture.h"
#include "daemon/media/image/adjustments/warp.h"
#include "daemon/media/work_guard.h"

namespace spdld::image {

class Warper {
 public:
  static constexpr int32_t kOutside = -1;

  // Is told of each row from now on; null: nobody is. Borrowed.
  void set_guard(media::WorkGuard* guard) { guard_ = guard; }
  // `pixels`: rows of the source without gaps, of 1 or 3 channels of 8 bits. `out`: room for the result's rows.
  void run(const Warp& warp, const uint8_t* pixels, int channels, uint8_t* out);
  // Turns places of the result, columns xs and rows ys, into the places of the source from which nearest takes their
  // pixels, whatever the warp's own filter is. Both numbers are kOutside where the source has no pixel, and stay so.
  void nearest(const Warp& warp, std::span<int32_t> xs, std::span<int32_t> ys);
  // Where this place of the source lies in the result, or outside of it. Displacements have no exact way back: the
  // place goes back by the displacement of its own pixel, as torchvision's boxes do.
  Place ahead(const Warp& warp, const Place& place);

 private:
  // Of one kElastic, in rows: in parts of half of the picture's width and height.
  struct Displacements {
    Warp warp;  // to which they belong
    std::vector<float> across, down;
  };

  const Displacements& displacements_of(const Warp& warp);
  void draw_displacements(const Warp& warp);
  void blur(const Size& size, int taps, const std::array<double, 2>& sigma, std::vector<float>& values);
  // Calls use(map), where map(x, y) is the source's place of the result's pixel.
  template <typename Use>
  void with_map(const Warp& warp, Use use);

  media::WorkGuard* guard_ = nullptr;
  std::optional<Displacements> displacements_;
  std::vector<float> xs_, ys_;                  // of a row of the result
  std::vector<float> between_, row_, weights_;  // of a blur
  std::vector<const float*> rows_;              // of a blur: a row for each weight
};

}  // namespace spdld::image
