// Resampling of pixels of 8 bits by all filters but the kernels' own triangle: antialiased, bit for bit as Pillow's
// Image.resize (libImaging/Resample.c). Each channel is resampled by itself, first across, then down. Weights are
// rounded to 22 fractional bits. Sums are exact in 32 bits: the weights of any such filter have absolute values that
// add up to less than 1.9, with all rounding, and 1.9 * 255 * 2^22 + 2^21 < 2^31. Both passes round to the nearest
// value, and cut off what is below 0 or above 255. One thread an object, reused from sample to sample.
//
// The operations that have a `filter`, and decode-image, must raise their versions when this code gives other bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/image/kernels/tap_weights.h"

namespace spdld::image {

class FixedWeights final : public TapWeights<int32_t> {
 public:
  static constexpr int kFractionBits = 22;

  // Precondition: as of PixelWeights::make().
  void fill(const AxisRequest& request);
};

// The weights of a pass across, as the kernels take them: each in two parts, of so few bits that their products with
// values of 8 bits can be added in pairs of 16-bit factors. weight = upper * 2^kLowerBits + lower.
class SplitWeights {
 public:
  static constexpr int kLowerBits = 15;
  static constexpr int kTaps = 4;  // of a group
  static constexpr int kParts = 2 * kTaps;

  void fill(const FixedWeights& axis);
  // All pixels have as many groups, and so some weights are 0: the pixels there are read, and may lie behind the row.
  int groups() const { return groups_; }
  // The lower parts of a group's weights, then the upper ones; the next group follows.
  const int16_t* parts(int i) const { return parts_.data() + static_cast<ptrdiff_t>(i) * groups_ * kParts; }

 private:
  int groups_ = 0;
  std::vector<int16_t> parts_;
};

class FixedResampler {
 public:
  // Precondition: `down` is not mirrored.
  void begin(const AxisRequest& across, const AxisRequest& down, int channels);
  const SourceRange& across() const { return across_.range(); }
  const SourceRange& down() const { return down_.range(); }

  // Writes the next wanted row, beginning with the first one: `channels` values of 8 bits for each pixel. `first`: the
  // source's sample at (across().first, down().first).
  void next_row(const uint8_t* first, size_t stride_bytes, uint8_t* out);

 private:
  void shrunk_row(const uint8_t* first, size_t stride_bytes, int y);
  void grown_row(const uint8_t* first, size_t stride_bytes, int y);
  void cross(const uint8_t* row, uint8_t* out);
  uint8_t* line(int row) { return lines_.data() + static_cast<size_t>(row % lines_kept_) * line_bytes_; }
  int32_t* sums(int y) { return sums_.data() + static_cast<size_t>(y % kSumsKept) * row_samples_; }

  // A picture that shrinks has at most 2 * 3 + 1 wanted rows to which a source row belongs.
  static constexpr int kSumsKept = 8;

  FixedWeights across_, down_;
  SplitWeights split_;            // of across_
  int channels_ = 0, width_ = 0;  // of a wanted row
  size_t row_samples_ = 0, line_bytes_ = 0;
  size_t taken_bytes_ = 0;  // of the part of a source row that is needed
  int lines_kept_ = 1;
  int taken_ = 0, given_ = 0;  // source rows that went through the pass across; wanted rows that were written
  bool shrinks_ = false;
  ByteBuffer row_;             // a source row, with room behind it
  ByteBuffer lines_;           // rows that went through the pass across: the latest few
  std::vector<int32_t> sums_;  // of the next wanted rows
};

}  // namespace spdld::image
