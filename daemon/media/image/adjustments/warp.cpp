#include "daemon/media/image/adjustments/warp.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace spdld::image {
namespace {

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

// The way back of functional.affine (_get_inverse_affine_matrix), from and to the picture's centre.
std::array<double, 8> way_back(const Size& source, const Affine& affine) {
  const double turn = radians(affine.angle_degrees), shear_x = radians(affine.shear_x_degrees),
               shear_y = radians(affine.shear_y_degrees);
  const double a = std::cos(turn - shear_y) / std::cos(shear_y);
  const double b = -(a * std::tan(shear_x) + std::sin(turn));
  const double c = std::sin(turn - shear_y) / std::cos(shear_y);
  const double d = std::cos(turn) - c * std::tan(shear_x);
  const double x = affine.centre ? affine.centre->x - source.width * 0.5 : 0;
  const double y = affine.centre ? affine.centre->y - source.height * 0.5 : 0;
  std::array<double, 8> back = {d / affine.scale, -b / affine.scale, 0, -c / affine.scale, a / affine.scale, 0};
  back[2] = x - back[0] * (x + affine.translate_x) - back[1] * (y + affine.translate_y);
  back[5] = y - back[3] * (x + affine.translate_x) - back[4] * (y + affine.translate_y);
  return back;
}

// torchvision's _compute_affine_output_size, which takes the way back for the way there: of a turn, the size is the
// same.
Size size_of_turned(const Size& source, const std::array<double, 8>& back) {
  constexpr float kTolerance = 1e-4F;  // so that 1e-15 is no pixel more
  const float half_width = 0.5F * static_cast<float>(source.width),
              half_height = 0.5F * static_cast<float>(source.height);
  const auto side = [&](size_t row, float half) {
    const auto across = static_cast<float>(back[row]), down = static_cast<float>(back[row + 1]),
               shift = static_cast<float>(back[row + 2]);
    const float first = -half_width * across + -half_height * down + shift;
    const float second = -half_width * across + half_height * down + shift;
    const float third = half_width * across + half_height * down + shift;
    const float fourth = half_width * across + -half_height * down + shift;
    const float least = std::min({first, second, third, fourth}) + half;
    const float most = std::max({first, second, third, fourth}) + half;
    const float inverse = 1 / kTolerance;
    return static_cast<int>(std::ceil(std::trunc(most * inverse) * kTolerance) -
                            std::floor(std::trunc(least * inverse) * kTolerance));
  };
  return {side(0, half_width), side(3, half_height)};
}

// Solves eight equations, each with its right side in the last column (Gauss, with the largest pivot).
std::array<double, 8> solve(std::array<std::array<double, 9>, 8> rows) {
  for (size_t at = 0; at < 8; ++at) {
    const auto larger = [at](const auto& one, const auto& other) { return std::abs(one[at]) < std::abs(other[at]); };
    std::iter_swap(rows.begin() + static_cast<std::ptrdiff_t>(at),
                   std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(at), rows.end(), larger));
    for (size_t row = 0; row < 8; ++row) {
      if (row == at) continue;
      const double by = rows[row][at] / rows[at][at];
      for (size_t i = at; i < 9; ++i) rows[row][i] -= by * rows[at][i];
    }
  }
  std::array<double, 8> solved;
  for (size_t i = 0; i < 8; ++i) solved[i] = rows[i][8] / rows[i][i];
  return solved;
}

}  // namespace

Warp affine_warp(const Size& source, const Affine& affine) {
  return {.kind = WarpKind::kAffine, .source = source, .size = source, .back = way_back(source, affine)};
}

Warp rotate_warp(const Size& source, double degrees, const std::optional<Place>& centre, bool expands) {
  Warp warp = affine_warp(source, {.angle_degrees = -degrees, .centre = centre});
  if (expands) warp.size = size_of_turned(source, warp.back);
  return warp;
}

Warp perspective_warp(const Size& source, const std::array<Place, 4>& from, const std::array<Place, 4>& to) {
  std::array<std::array<double, 9>, 8> rows;
  for (size_t i = 0; i < 4; ++i) {
    const double x = to[i].x, y = to[i].y;
    rows[2 * i] = {x, y, 1, 0, 0, 0, -from[i].x * x, -from[i].x * y, from[i].x};
    rows[2 * i + 1] = {0, 0, 0, x, y, 1, -from[i].y * x, -from[i].y * y, from[i].y};
  }
  return {.kind = WarpKind::kPerspective, .source = source, .size = source, .back = solve(rows)};
}

Warp elastic_warp(const Size& source, uint64_t seed, const std::array<double, 2>& alpha,
                  const std::array<double, 2>& sigma) {
  return {.kind = WarpKind::kElastic, .source = source, .size = source, .seed = seed, .alpha = alpha, .sigma = sigma};
}

Warp border_warp(const Size& source, const Border& border, BorderKind kind) {
  const Size size = {border.left + source.width + border.right, border.top + source.height + border.bottom};
  return {.kind = WarpKind::kBorder, .source = source, .size = size, .border = border, .border_kind = kind};
}

}  // namespace spdld::image
