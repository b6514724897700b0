// Changes of a whole picture of 8 bits, as the samples' operations draw them and as they are carried out: its colours
// (brightness, contrast and so on), the places of its pixels (warps), or what a JPEG leaves of it. The results equal
// torchvision v2's kernels for uint8 tensors: the same where these compute with integers, and within 1 where they
// compute in float32. Some can have Pillow's values instead, bit for bit.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/picture.h"
#include "daemon/media/image/adjustments/warp.h"
#include "daemon/media/work_guard.h"
#include "daemon/media/work_times.h"

namespace spdld::image {

class NoiseTable;
struct AdjustedPicture;

// A change that one operation alone makes, by its own code. Constant after construction; any thread.
class OwnChange {
 public:
  // `drawn`: what the operation has drawn for the sample (Adjustment::seed). Changes the values of the picture's
  // pixels, and neither its size nor its channels.
  virtual void run(uint64_t drawn, const AdjustedPicture& picture) const = 0;

 protected:
  ~OwnChange() = default;
};

enum class AdjustmentType : uint8_t {
  kBrightness,    // `amount`: the factor
  kContrast,      // `amount`: the factor
  kSaturation,    // `amount`: the factor
  kHue,           // `amount`: -0.5 to 0.5, parts of a turn
  kHsvGains,      // `gains`
  kGamma,         // `amount`: the exponent; `gain` multiplies the result
  kGrey,          // three equal colours
  kOneChannel,    // grey of one channel
  kPermutation,   // `order`
  kPosterize,     // `amount`: bits that are kept, 0 to 8
  kSolarize,      // `amount`: values from this one on are inverted
  kSolarizeAdd,   // `amount`: what is added to values below 128, up to white
  kInvert,        // no number
  kEqualize,      // no number
  kAutocontrast,  // no number
  kSharpness,     // `amount`: the factor
  kBlur,          // `amount`: sigma in pixels; `taps_across` and `taps_down`
  kNoise,         // `noise` and `seed`
  kJpeg,          // `amount`: the quality of a JPEG that the picture was
  kOwn,           // `own` and `seed`
  kWarp,          // `warp`
  kMix,           // the sum of the picture times `amount` and of its branches; all these amounts are 1 together
  kBranch         // of a mix: a copy of the picture, changed by the adjustments that it holds, times `amount`
};

// One drawn change.
struct Adjustment {
  AdjustmentType type = AdjustmentType::kInvert;
  size_t pass = 0;  // of Geometry::passes: the adjustment changes what this pass shows; kNoPass: another one holds it
  double amount = 0, gain = 1;
  std::array<double, 3> gains = {1, 1, 1};   // of OpenCV's hue, saturation and value
  std::array<uint8_t, 3> order = {0, 1, 2};  // channel i of the result is channel order[i] of the picture
  int taps_across = 1, taps_down = 1;        // odd, at most kTapsMax
  const NoiseTable* noise = nullptr;         // lives as long as the operation
  const OwnChange* own = nullptr;            // lives as long as the operation
  uint64_t seed = 0;                         // of the noise; or what an own change has drawn
  Warp warp = {};
  bool has_pillows_values = false;  // of kContrast, kSaturation, kAutocontrast and kSharpness: not torchvision's
  std::string_view operation = {};  // that has drawn it; a text that lives for ever
  size_t held = 0;                  // how many adjustments right behind it belong to it, of a kMix or a kBranch

  static constexpr size_t kNoPass = std::numeric_limits<size_t>::max();
  bool moves() const { return type == AdjustmentType::kWarp; }
};

// Other noise for the next frame of an animation, whose other changes are the same. Nothing else changes.
void renew_noise(std::span<Adjustment> adjustments);

inline constexpr int kTapsMax = 127;  // of a blur, along each side

// A picture of 8 bits in rows without gaps, of 1 or 3 channels, from the beginning of `memory`, which belongs to the
// caller.
struct AdjustedPicture {
  ByteBuffer& memory;
  Size size;
  int channels = 3;
  media::WorkGuard* guard = nullptr;  // is told of each part of the work; null: nobody is

  uint8_t* pixels() const { return memory.data(); }
  size_t row_bytes() const { return static_cast<size_t>(size.width) * static_cast<size_t>(channels); }
  size_t bytes() const { return row_bytes() * static_cast<size_t>(size.height); }
  void spend(uint64_t count, uint64_t in_a_ns) const { media::spend(guard, count, in_a_ns); }
  // Calls change(pixels, bytes) for parts of the picture, one behind the other; `in_a_ns`: bytes that it changes.
  template <typename Change>
  void each_part(uint64_t in_a_ns, Change change) const {
    constexpr size_t kPart = 3 << 18;  // bytes, of whole pixels
    const size_t all = bytes();
    for (size_t at = 0; at < all; at += kPart) {
      const size_t count = std::min(kPart, all - at);
      spend(count, in_a_ns);
      change(pixels() + at, count);
    }
  }
  // `to` has room for bytes(); its memory may be touched for the first time, which takes longer than the copy.
  void copy_to(uint8_t* to) const {
    each_part(1, [&](const uint8_t* from, size_t count) {
      std::memcpy(to, from, count);
      to += count;
    });
  }
};

// Carries adjustments out, and keeps the memory that they need. One decode thread.
class Adjuster {
 public:
  struct Inside;
  Adjuster();
  ~Adjuster();
  // In order; an adjustment behind another pass is left out. `picture` is changed in its memory; kOneChannel and
  // warps change its size.
  void run(std::span<const Adjustment> adjustments, size_t pass, AdjustedPicture& picture);
  // Measures each adjustment from now on, and bounds it; null: nobody does. Borrowed.
  void set_work(media::WorkTimer* timer, media::WorkGuard* guard) {
    timer_ = timer;
    guard_ = guard;
  }

 private:
  std::unique_ptr<Inside> inside_;
  media::WorkTimer* timer_ = nullptr;
  media::WorkGuard* guard_ = nullptr;
};

// Normal noise of integers, cut off towards zero as torchvision cuts it for uint8 pictures. Drawn by Walker's method of
// aliases, which takes the same time for each value. Constant after construction; any thread.
class NoiseTable {
 public:
  // Both on the scale where white is 1: -1 <= mean <= 1 and 0 <= sigma <= 1.
  NoiseTable(double mean, double sigma);
  // The value that these uniform random bits choose, -255 to 255: larger ones leave black or white alike.
  int value(uint64_t bits) const {
    const auto bin = static_cast<size_t>((bits >> 32) * kBins >> 32);
    const Bin& of = bins_[bin];
    return (static_cast<uint32_t>(bits) < of.below ? static_cast<int>(bin) : of.other) - kMost;
  }

 private:
  static constexpr int kMost = 255;
  static constexpr size_t kBins = 2 * kMost + 1;
  struct Bin {
    uint32_t below;  // of 2^32: how often the bin stands for itself
    int other;       // bin that it stands for else
  };
  std::array<Bin, kBins> bins_;
};

}  // namespace spdld::image
