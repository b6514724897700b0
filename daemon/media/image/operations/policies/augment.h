// The changes that policies of automatic augmentation draw, and torchvision v2's tables of them
// (transforms/v2/_auto_augment.py): which changes a policy chooses among, and how strong each is in each of some bins,
// from none to the strongest. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "config/spec.h"
#include "daemon/base/picture.h"
#include "daemon/base/random.h"
#include "daemon/media/image/adjustments/adjustment.h"
#include "daemon/media/image/kernels/filter.h"

namespace spdld::image {

// The magnitude of a change means:
enum class Change : uint8_t {
  kIdentity,
  kShearX,      // the tangent of the angle
  kShearY,      // the same
  kTranslateX,  // pixels, without their fraction
  kTranslateY,  // the same
  kRotate,      // degrees, counter-clockwise
  kBrightness,  // the factor less 1
  kColour,      // the factor of saturation less 1
  kContrast,    // the factor less 1
  kSharpness,   // the factor less 1
  kPosterize,   // bits that are kept
  kSolarize,    // the threshold, where white is 1
  kAutocontrast,
  kEqualize,
  kInvert
};

// A change with its magnitudes, which lie at equal distances from the first bin to the last.
struct ChangeRange {
  enum class Unit : uint8_t {
    kNone,    // it has no magnitude
    kPlain,   // as it is
    kWidth,   // parts of the picture's width
    kHeight,  // parts of the picture's height
    kBits     // rounded to a whole number, ties to even
  };

  Change change = Change::kIdentity;
  Unit unit = Unit::kNone;
  double first = 0, last = 0;
  bool has_sign = false;  // half of the samples have the negative magnitude
};

std::span<const ChangeRange> rand_augment_changes();
std::span<const ChangeRange> trivial_augment_changes();
std::span<const ChangeRange> auto_augment_changes();
// `all`: also brightness, colour, contrast and sharpness.
std::span<const ChangeRange> aug_mix_changes(bool all);

// The magnitude in bin `bin` of `bins`.
double magnitude_of(const ChangeRange& range, int bin, int bins, const Size& picture);

// How the pixels of moved pictures are made.
struct Look {
  Filter filter = Filter::kNearest;
  std::array<uint8_t, 3> fill = {};
};
// The operation's `filter` and `fill`.
Look look_of(const config::OperationSpec& op);

// None: nothing changes.
std::optional<Adjustment> adjustment_of(Change change, double magnitude, const Size& picture, const Look& look);

// Draws a sign, also for a change that has none.
double with_sign(const ChangeRange& range, double magnitude, Draw& draw);
// Draws one of the changes, one of the first `drawn_bins` of its bins, and a sign.
struct DrawnChange {
  Change change;
  double magnitude;
};
DrawnChange draw_change(std::span<const ChangeRange> changes, int drawn_bins, int bins, const Size& picture,
                        Draw& draw);

// One half of a pair of AutoAugment's.
struct LearntChange {
  Change change;
  double probability;
  int bin;  // of ten
};
inline constexpr size_t kPairs = 25;
using LearntPairs = std::array<std::array<LearntChange, 2>, kPairs>;
// "imagenet", "cifar10" or "svhn".
const LearntPairs& learnt_pairs(std::string_view policy);

}  // namespace spdld::image
