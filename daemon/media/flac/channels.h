// The channels that the subframes of a FLAC frame make (RFC 9639, 9.1.3). For this room alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spdld::flac {

// How the subframes make channels (RFC 9639, 9.1.3).
enum class Stereo : uint8_t { kNone, kLeftSide, kSideRight, kMidSide };

// One subframe's samples behind another's, `samples` apart.
struct Planes {
  int32_t* first = nullptr;
  uint32_t samples = 0;
  int channels = 0, sample_bits = 0;
  Stereo stereo = Stereo::kNone;

  int32_t* plane(int channel) const { return first + static_cast<size_t>(channel) * samples; }
  // Of the subframe: a difference of two channels has one more.
  int bits_of(int channel) const {
    const bool is_side = stereo == Stereo::kSideRight ? channel == 0 : stereo != Stereo::kNone && channel == 1;
    return sample_bits + (is_side ? 1 : 0);
  }
};

// Whether no sample of the channels has more than its bits, where two subframes make them together.
[[nodiscard]] bool are_channels_within(const Planes& planes);

// Samples [at, at + count) as floats, from -1 to 1.
void convert_channel(const Planes& planes, int channel, size_t at, size_t count, float* to);
void convert_pair_mean(const Planes& planes, size_t at, size_t count, float* to);

}  // namespace spdld::flac
