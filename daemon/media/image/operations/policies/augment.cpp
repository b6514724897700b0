#include "daemon/media/image/operations/policies/augment.h"

#include <cmath>
#include <numbers>

#include "daemon/media/image/adjustments/warp.h"
#include "daemon/media/image/geometry/warp_step.h"

namespace spdld::image {
namespace {

using Unit = ChangeRange::Unit;

constexpr double kMoved = 150.0 / 331;  // of the picture's side

constexpr std::array<ChangeRange, 14> kRandAugment = {{{Change::kIdentity},
                                                       {Change::kShearX, Unit::kPlain, 0, 0.3, true},
                                                       {Change::kShearY, Unit::kPlain, 0, 0.3, true},
                                                       {Change::kTranslateX, Unit::kWidth, 0, kMoved, true},
                                                       {Change::kTranslateY, Unit::kHeight, 0, kMoved, true},
                                                       {Change::kRotate, Unit::kPlain, 0, 30, true},
                                                       {Change::kBrightness, Unit::kPlain, 0, 0.9, true},
                                                       {Change::kColour, Unit::kPlain, 0, 0.9, true},
                                                       {Change::kContrast, Unit::kPlain, 0, 0.9, true},
                                                       {Change::kSharpness, Unit::kPlain, 0, 0.9, true},
                                                       {Change::kPosterize, Unit::kBits, 8, 4},
                                                       {Change::kSolarize, Unit::kPlain, 1, 0},
                                                       {Change::kAutocontrast},
                                                       {Change::kEqualize}}};

constexpr std::array<ChangeRange, 14> kTrivialAugment = {{{Change::kIdentity},
                                                          {Change::kShearX, Unit::kPlain, 0, 0.99, true},
                                                          {Change::kShearY, Unit::kPlain, 0, 0.99, true},
                                                          {Change::kTranslateX, Unit::kPlain, 0, 32, true},
                                                          {Change::kTranslateY, Unit::kPlain, 0, 32, true},
                                                          {Change::kRotate, Unit::kPlain, 0, 135, true},
                                                          {Change::kBrightness, Unit::kPlain, 0, 0.99, true},
                                                          {Change::kColour, Unit::kPlain, 0, 0.99, true},
                                                          {Change::kContrast, Unit::kPlain, 0, 0.99, true},
                                                          {Change::kSharpness, Unit::kPlain, 0, 0.99, true},
                                                          {Change::kPosterize, Unit::kBits, 8, 2},
                                                          {Change::kSolarize, Unit::kPlain, 1, 0},
                                                          {Change::kAutocontrast},
                                                          {Change::kEqualize}}};

// RandAugment's, but without the identity and with invert.
constexpr auto kAutoAugment = [] {
  std::array<ChangeRange, 14> changes = kRandAugment;
  changes[0] = {Change::kInvert};
  return changes;
}();

// The last four are left out unless all are wanted.
constexpr std::array<ChangeRange, 13> kAugMix = {{{Change::kShearX, Unit::kPlain, 0, 0.3, true},
                                                  {Change::kShearY, Unit::kPlain, 0, 0.3, true},
                                                  {Change::kTranslateX, Unit::kWidth, 0, 1.0 / 3, true},
                                                  {Change::kTranslateY, Unit::kHeight, 0, 1.0 / 3, true},
                                                  {Change::kRotate, Unit::kPlain, 0, 30, true},
                                                  {Change::kPosterize, Unit::kBits, 4, 0},
                                                  {Change::kSolarize, Unit::kPlain, 1, 0},
                                                  {Change::kAutocontrast},
                                                  {Change::kEqualize},
                                                  {Change::kBrightness, Unit::kPlain, 0, 0.9, true},
                                                  {Change::kColour, Unit::kPlain, 0, 0.9, true},
                                                  {Change::kContrast, Unit::kPlain, 0, 0.9, true},
                                                  {Change::kSharpness, Unit::kPlain, 0, 0.9, true}}};

// torch.linspace, by the formula of its kernel for float32; torch's own vectors may round another way.
float between(double first, double last, int bin, int bins) {
  const auto from = static_cast<float>(first), to = static_cast<float>(last);
  const float step = (to - from) / static_cast<float>(bins - 1);
  const bool is_nearer_from = bin < bins / 2;
  const double steps = is_nearer_from ? bin : bins - 1 - bin;
  return static_cast<float>(is_nearer_from ? from + step * steps : to - step * steps);
}

Adjustment warped(Warp warp, const Look& look) {
  warp.filter = look.filter;
  warp.fill = look.fill;
  return {.type = AdjustmentType::kWarp, .warp = warp};
}

double degrees_of_tangent(double tangent) { return std::atan(tangent) * 180 / std::numbers::pi; }

// Shears leave the upper left corner where it is.
std::optional<Warp> warp_of(Change change, double magnitude, const Size& picture) {
  switch (change) {
    case Change::kShearX:
      return affine_warp(picture, {.shear_x_degrees = degrees_of_tangent(magnitude), .centre = Place{}});
    case Change::kShearY:
      return affine_warp(picture, {.shear_y_degrees = degrees_of_tangent(magnitude), .centre = Place{}});
    case Change::kTranslateX:
      return affine_warp(picture, {.translate_x = std::trunc(magnitude)});
    case Change::kTranslateY:
      return affine_warp(picture, {.translate_y = std::trunc(magnitude)});
    case Change::kRotate:
      return rotate_warp(picture, magnitude, {}, false);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::span<const ChangeRange> rand_augment_changes() { return kRandAugment; }
std::span<const ChangeRange> trivial_augment_changes() { return kTrivialAugment; }
std::span<const ChangeRange> auto_augment_changes() { return kAutoAugment; }
std::span<const ChangeRange> aug_mix_changes(bool all) {
  return std::span(kAugMix).first(all ? kAugMix.size() : kAugMix.size() - 4);
}

double magnitude_of(const ChangeRange& range, int bin, int bins, const Size& picture) {
  switch (range.unit) {
    case Unit::kNone:
      return 0;
    case Unit::kPlain:
      return between(range.first, range.last, bin, bins);
    case Unit::kWidth:
      return between(range.first, range.last * picture.width, bin, bins);
    case Unit::kHeight:
      return between(range.first, range.last * picture.height, bin, bins);
    case Unit::kBits:
      break;
  }
  const auto bins_a_bit = static_cast<float>((bins - 1) / (range.first - range.last));
  return std::nearbyint(static_cast<float>(range.first) - static_cast<float>(bin) / bins_a_bit);
}

Look look_of(const config::OperationSpec& op) { return {filter_named(op.text("filter")), fill_of(op)}; }

double with_sign(const ChangeRange& range, double magnitude, Draw& draw) {
  const bool is_negative = draw.below(2) == 0;
  return range.has_sign && is_negative ? -magnitude : magnitude;
}

DrawnChange draw_change(std::span<const ChangeRange> changes, int drawn_bins, int bins, const Size& picture,
                        Draw& draw) {
  const ChangeRange& range = changes[draw.below(changes.size())];
  const int bin = static_cast<int>(draw.below(static_cast<uint64_t>(drawn_bins)));
  return {range.change, with_sign(range, magnitude_of(range, bin, bins, picture), draw)};
}

std::optional<Adjustment> adjustment_of(Change change, double magnitude, const Size& picture, const Look& look) {
  switch (change) {
    case Change::kBrightness:
      return Adjustment{.type = AdjustmentType::kBrightness, .amount = 1 + magnitude};
    case Change::kColour:
      return Adjustment{.type = AdjustmentType::kSaturation, .amount = 1 + magnitude};
    case Change::kContrast:
      return Adjustment{.type = AdjustmentType::kContrast, .amount = 1 + magnitude};
    case Change::kSharpness:
      return Adjustment{.type = AdjustmentType::kSharpness, .amount = 1 + magnitude};
    case Change::kPosterize:
      return Adjustment{.type = AdjustmentType::kPosterize, .amount = magnitude};
    case Change::kSolarize:
      return Adjustment{.type = AdjustmentType::kSolarize, .amount = 255 * magnitude};
    case Change::kAutocontrast:
      return Adjustment{.type = AdjustmentType::kAutocontrast};
    case Change::kEqualize:
      return Adjustment{.type = AdjustmentType::kEqualize};
    case Change::kInvert:
      return Adjustment{.type = AdjustmentType::kInvert};
    case Change::kIdentity:
      return std::nullopt;
    default:
      return warped(*warp_of(change, magnitude, picture), look);
  }
}

}  // namespace spdld::image
