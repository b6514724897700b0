#include "daemon/media/flac/channels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/flac/channels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Nothing here uses vectors by name: the compiler makes them of these loops.
HWY_BEFORE_NAMESPACE();
namespace spdld::flac::HWY_NAMESPACE {
namespace {

// Calls visit() with what makes the two channels of numbers of both planes.
template <typename Visit>
HWY_INLINE void with_pair(Stereo stereo, const Visit& visit) {
  const auto first = [](int32_t a, int32_t) HWY_ATTR { return a; };
  const auto second = [](int32_t, int32_t b) HWY_ATTR { return b; };
  const auto sum = [](int32_t a, int32_t b) HWY_ATTR { return a + b; };
  const auto difference = [](int32_t a, int32_t b) HWY_ATTR { return a - b; };
  const auto left = [](int32_t middle, int32_t side) HWY_ATTR { return middle - (side >> 1) + side; };
  const auto right = [](int32_t middle, int32_t side) HWY_ATTR { return middle - (side >> 1); };
  switch (stereo) {
    case Stereo::kNone:
      return visit(first, second);
    case Stereo::kLeftSide:
      return visit(first, difference);
    case Stereo::kSideRight:
      return visit(sum, second);
    case Stereo::kMidSide:
      return visit(left, right);
  }
}

// Whether both channels that the planes make have no sample of more than its bits.
bool is_pair_within(const Planes& planes) {
  const int32_t *const a = planes.plane(0), *const b = planes.plane(1);
  const uint32_t half = 1u << (planes.sample_bits - 1);
  uint32_t beyond = 0;
  with_pair(planes.stereo, [&](auto first, auto second) HWY_ATTR {
    for (size_t i = 0; i < planes.samples; ++i)
      beyond |= (static_cast<uint32_t>(first(a[i], b[i])) + half) | (static_cast<uint32_t>(second(a[i], b[i])) + half);
  });
  return beyond >> planes.sample_bits == 0;
}

float scale_of(const Planes& planes) { return 1 / static_cast<float>(1u << (planes.sample_bits - 1)); }

void convert(const Planes& planes, int channel, size_t at, size_t count, float* to) {
  const float scale = scale_of(planes);
  const int32_t* const a = planes.plane(planes.stereo == Stereo::kNone ? channel : 0) + at;
  const int32_t* const b = planes.stereo == Stereo::kNone ? a : planes.plane(1) + at;
  const auto put = [&](auto of) HWY_ATTR {
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(of(a[i], b[i])) * scale;
  };
  with_pair(planes.stereo, [&](auto first, auto second) HWY_ATTR {
    if (channel == 0 || planes.stereo == Stereo::kNone)
      put(first);
    else
      put(second);
  });
}

void convert_pair(const Planes& planes, size_t at, size_t count, float* to) {
  const float scale = scale_of(planes);
  const int32_t *const a = planes.plane(0) + at, *const b = planes.plane(1) + at;
  with_pair(planes.stereo, [&](auto first, auto second) HWY_ATTR {
    for (size_t i = 0; i < count; ++i)
      to[i] = (static_cast<float>(first(a[i], b[i])) * scale + static_cast<float>(second(a[i], b[i])) * scale) * 0.5f;
  });
}

}  // namespace
}  // namespace spdld::flac::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::flac {
namespace {
HWY_EXPORT(is_pair_within);
HWY_EXPORT(convert);
HWY_EXPORT(convert_pair);
}  // namespace

bool are_channels_within(const Planes& planes) {
  return planes.stereo == Stereo::kNone || HWY_DYNAMIC_DISPATCH(is_pair_within)(planes);
}
void convert_channel(const Planes& planes, int channel, size_t at, size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(convert)(planes, channel, at, count, to);
}
void convert_pair_mean(const Planes& planes, size_t at, size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(convert_pair)(planes, at, count, to);
}

}  // namespace spdld::flac
#endif
