#include "daemon/media/image/kernels/fixed_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/kernels/fixed_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "daemon/media/image/kernels/row_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace spdld::image::HWY_NAMESPACE {
namespace {

constexpr int kBits = FixedWeights::kFractionBits;

HWY_INLINE uint8_t rounded(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

template <int kChannels>
HWY_INLINE void cross_plainly(const FixedWeights& axis, const uint8_t* row, uint8_t* out) {
  for (int x = 0; x < axis.count(); ++x, out += kChannels) {
    int32_t sum[kChannels];
    for (int32_t& one : sum) one = kHalfSum;
    const uint8_t* from = row + static_cast<ptrdiff_t>(axis.start(x)) * kChannels;
    const int32_t* weights = axis.weights(x);
    for (int k = 0; k < axis.taps(x); ++k, from += kChannels) {
      for (int c = 0; c < kChannels; ++c) sum[c] += weights[k] * from[c];
    }
    for (int c = 0; c < kChannels; ++c) out[c] = rounded(sum[c]);
  }
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR

// A block of 128 bits holds a sum for each channel of a pixel. Two taps of a channel lie beside each other as 16-bit
// words, so that one instruction multiplies them by their weights and adds the two products: which words are added is
// known on x86 alone. A group of taps makes four blocks: with the lower parts of its weights, two taps each, and then
// with the upper parts. They are the blocks of one vector, or of several shorter ones.
using Words = hn::CappedTag<int16_t, 32>;
using WordBytes = hn::Repartition<uint8_t, Words>;
using Sums = hn::Repartition<int32_t, Words>;
using PixelSums = hn::FixedTag<int32_t, 4>;
constexpr int kBlocks = static_cast<int>(hn::MaxLanes(Words()) / 8), kVectors = 4 / kBlocks;
constexpr uint8_t kNone = 0x80;  // in a table of places: a zero

// Which bytes of a group's pixels and of its weights' parts make the vectors.
template <int kChannels>
struct Places {
  alignas(64) uint8_t pixels[64], weights[64];

  constexpr Places() : pixels(), weights() {
    for (int i = 0; i < 64; ++i) {
      const int block = i / 16, channel = i % 16 / 4, tap = block % 2 * 2 + i % 4 / 2;
      const bool is_one = i % 2 == 0 && channel < kChannels;
      pixels[i] = is_one ? static_cast<uint8_t>(tap * kChannels + channel) : kNone;
      weights[i] = static_cast<uint8_t>(4 * block + i % 4);
    }
  }
};

// The sum of the blocks, where the latter half counts 2^kLowerBits times.
template <class D, size_t kCount>
HWY_INLINE hn::Vec<PixelSums> folded(D, const hn::Vec<D> (&sums)[kCount]) {
  constexpr int kLower = SplitWeights::kLowerBits;
  const hn::Half<D> half;
  if constexpr (kCount == 4) {
    return hn::Add(hn::Add(sums[0], sums[1]), hn::ShiftLeft<kLower>(hn::Add(sums[2], sums[3])));
  } else if constexpr (kCount == 2) {
    const auto both = hn::Add(sums[0], hn::ShiftLeft<kLower>(sums[1]));
    return hn::Add(hn::LowerHalf(half, both), hn::UpperHalf(half, both));
  } else {
    const hn::Vec<hn::Half<D>> both[2] = {hn::LowerHalf(half, sums[0]), hn::UpperHalf(half, sums[0])};
    return folded(half, both);
  }
}

template <int kChannels>
class CrossSum {
 public:
  HWY_INLINE CrossSum() {
    for (int v = 0; v < kVectors; ++v) {
      pixels_[v] = hn::Load(WordBytes(), kPlaces.pixels + 16 * kBlocks * v);
      weights_[v] = hn::Load(WordBytes(), kPlaces.weights + 16 * kBlocks * v);
    }
  }

  // The sums of one wanted pixel, rounded to whole values, which may lie beyond 0 or 255.
  HWY_INLINE hn::Vec<PixelSums> of(const uint8_t* from, const int16_t* parts, int groups) const {
    const Words d;
    const Sums d32;
    hn::Vec<Sums> sums[kVectors], unused = hn::Zero(d32);
    for (auto& sum : sums) sum = hn::Zero(d32);
    for (int g = 0; g < groups; ++g, from += SplitWeights::kTaps * kChannels, parts += SplitWeights::kParts) {
      const auto pixels = hn::LoadDup128(WordBytes(), from);
      const auto weights = hn::LoadDup128(WordBytes(), reinterpret_cast<const uint8_t*>(parts));
      for (int v = 0; v < kVectors; ++v) {
        const auto taps = hn::BitCast(d, hn::TableLookupBytesOr0(pixels, pixels_[v]));
        const auto factors = hn::BitCast(d, hn::TableLookupBytes(weights, weights_[v]));
        sums[v] = hn::ReorderWidenMulAccumulate(d32, taps, factors, sums[v], unused);
      }
    }
    return hn::ShiftRight<kBits>(hn::Add(folded(d32, sums), hn::Set(PixelSums(), kHalfSum)));
  }

 private:
  static constexpr Places<kChannels> kPlaces{};

  hn::Vec<WordBytes> pixels_[kVectors], weights_[kVectors];
};

// Four pixels' sums, with their empty channels, as bytes that lie beside each other.
template <int kChannels>
HWY_INLINE void store_pixels(const hn::Vec<PixelSums> (&sums)[4], uint8_t* out) {
  const hn::FixedTag<int16_t, 8> words;
  const hn::FixedTag<uint8_t, 16> bytes;
  const hn::FixedTag<uint8_t, 8> half;
  const auto first = hn::DemoteTo(half, hn::ReorderDemote2To(words, sums[0], sums[1]));
  const auto second = hn::DemoteTo(half, hn::ReorderDemote2To(words, sums[2], sums[3]));
  auto pixels = hn::Combine(bytes, second, first);
  if constexpr (kChannels == 3) {
    alignas(16) constexpr uint8_t kFilled[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, kNone, kNone, kNone, kNone};
    pixels = hn::TableLookupBytesOr0(pixels, hn::Load(bytes, kFilled));
  }
  hn::StoreU(pixels, bytes, out);
}

template <int kChannels>
HWY_INLINE void cross(const FixedWeights& axis, const SplitWeights& split, const uint8_t* row, uint8_t* out) {
  const CrossSum<kChannels> sum;
  const int groups = split.groups(), last = axis.count() - 1;
  for (int x = 0; x <= last; x += 4, out += 4 * kChannels) {
    hn::Vec<PixelSums> sums[4];
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const int pixel = HWY_MIN(x + i, last);
      sums[i] = sum.of(row + static_cast<ptrdiff_t>(axis.start(pixel)) * kChannels, split.parts(pixel), groups);
    }
    store_pixels<kChannels>(sums, out);
  }
}

#else

template <int kChannels>
HWY_INLINE void cross(const FixedWeights& axis, const SplitWeights&, const uint8_t* row, uint8_t* out) {
  const hn::CappedTag<int32_t, 4> d;
  if constexpr (hn::MaxLanes(d) < 4) {
    cross_plainly<kChannels>(axis, row, out);
  } else {  // A vector holds the channels of a pixel; of three channels also the next pixel's first one.
    const hn::Rebind<uint8_t, decltype(d)> bytes;
    for (int x = 0; x < axis.count(); ++x, out += kChannels) {
      auto sum = hn::Set(d, kHalfSum);
      const uint8_t* from = row + static_cast<ptrdiff_t>(axis.start(x)) * kChannels;
      const int32_t* weights = axis.weights(x);
      for (int k = 0; k < axis.taps(x); ++k, from += kChannels)
        sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[k]), hn::PromoteTo(d, hn::LoadU(bytes, from))));
      hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kBits>(sum)), bytes, out);
    }
  }
}

#endif

void cross_kernel(const FixedWeights& axis, const SplitWeights& split, int channels, const uint8_t* row, uint8_t* out) {
  if (channels == 1) return cross_plainly<1>(axis, row, out);
  if (channels == 3) return cross<3>(axis, split, row, out);
  cross<4>(axis, split, row, out);
}

void add_kernel(const uint8_t* line, int32_t weight, size_t count, int32_t* sums) {
  const Floats d;
  const Ints<Floats> di;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(di, weight);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(di, sums + i), hn::Mul(factor, load_ints(d, line + i))), di, sums + i);
  for (; i < count; ++i) sums[i] += weight * line[i];
}

void round_kernel(const int32_t* sums, size_t count, uint8_t* out) {
  const Floats d;
  const Ints<Floats> di;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) store_bytes(d, hn::ShiftRight<kBits>(hn::LoadU(di, sums + i)), out + i);
  for (; i < count; ++i) out[i] = rounded(sums[i]);
}

}  // namespace
}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image {

HWY_EXPORT(cross_kernel);
HWY_EXPORT(add_kernel);
HWY_EXPORT(round_kernel);

void cross_row(const FixedWeights& axis, const SplitWeights& split, int channels, const uint8_t* row, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(cross_kernel)(axis, split, channels, row, out);
}
void add_line(const uint8_t* line, int32_t weight, size_t count, int32_t* sums) {
  HWY_DYNAMIC_DISPATCH(add_kernel)(line, weight, count, sums);
}
void round_sums(const int32_t* sums, size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(round_kernel)(sums, count, out);
}

}  // namespace spdld::image
#endif  // HWY_ONCE
