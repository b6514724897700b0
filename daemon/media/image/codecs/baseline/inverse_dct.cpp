#include "daemon/media/image/codecs/baseline/inverse_dct.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/codecs/baseline/inverse_dct.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spdld::image::baseline::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR  // nothing can be done for eight columns at once
size_t group_blocks() { return 0; }
bool transform_row(const BlockRow&) { return false; }
#else
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
constexpr size_t kLanesMax = kBlockSide * kGroupBlocksMax;
#else
constexpr size_t kLanesMax = kBlockSide;
#endif
using Words = hn::CappedTag<int16_t, kLanesMax>;  // a row of each block of a group
using Longs = hn::RepartitionToWide<Words>;
using Bytes = hn::Rebind<uint8_t, Words>;
using WordVector = hn::Vec<Words>;
using LongVector = hn::Vec<Longs>;
using Rows = std::array<WordVector, kBlockSide>;

constexpr int kFractionBits = 13, kKeptBits = 2;

size_t group_blocks() { return std::max<size_t>(1, hn::Lanes(Words()) / kBlockSide); }

// The lower and the upper four columns of each block.
struct Wide {
  LongVector lower, upper;
};

HWY_INLINE Wide operator+(const Wide& a, const Wide& b) {
  return {hn::Add(a.lower, b.lower), hn::Add(a.upper, b.upper)};
}
HWY_INLINE Wide operator-(const Wide& a, const Wide& b) {
  return {hn::Sub(a.lower, b.lower), hn::Sub(a.upper, b.upper)};
}

// Of each pair of words the sum of their products.
HWY_INLINE LongVector pair_sums(WordVector pairs, WordVector factors) {
  const Longs d;
  LongVector odd = hn::Zero(d);
  const LongVector even = hn::ReorderWidenMulAccumulate(d, pairs, factors, hn::Zero(d), odd);
  return hn::RearrangeToOddPlusEven(even, odd);
}

HWY_INLINE WordVector factors_of(int first, int second) {
  const uint32_t both = static_cast<uint32_t>(first) & 0xFFFF;
  const uint32_t pair = both | static_cast<uint32_t>(second) << 16;
  return hn::BitCast(Words(), hn::Set(Longs(), static_cast<int32_t>(pair)));
}

// Two rows whose values lie in turns.
struct Pairs {
  WordVector lower, upper;
  HWY_INLINE Pairs(WordVector a, WordVector b)
      : lower(hn::InterleaveLower(Words(), a, b)), upper(hn::InterleaveUpper(Words(), a, b)) {}
  // a * first + b * second
  HWY_INLINE Wide times(int first, int second) const {
    const WordVector factors = factors_of(first, second);
    return {pair_sums(lower, factors), pair_sums(upper, factors)};
  }
};

// value * 2^13
HWY_INLINE Wide scaled(WordVector value) {
  const Words d;
  const Longs dl;
  const WordVector zero = hn::Zero(d);
  constexpr int kDown = 16 - kFractionBits;
  return {hn::ShiftRight<kDown>(hn::BitCast(dl, hn::InterleaveLower(d, zero, value))),
          hn::ShiftRight<kDown>(hn::BitCast(dl, hn::InterleaveUpper(d, zero, value)))};
}

template <int kDown>
HWY_INLINE WordVector descaled(const Wide& value) {
  const Longs d;
  const LongVector half = hn::Set(d, 1 << (kDown - 1));
  const LongVector lower = hn::ShiftRight<kDown>(hn::Add(value.lower, half));
  const LongVector upper = hn::ShiftRight<kDown>(hn::Add(value.upper, half));
#if HWY_ARCH_X86
  return hn::ReorderDemote2To(Words(), lower, upper);  // within each 16 bytes, as the interleaving
#else
  const hn::Half<Words> half_words;
  return hn::Combine(Words(), hn::DemoteTo(half_words, upper), hn::DemoteTo(half_words, lower));
#endif
}

// One dimension, of each column. kSparse: the lower four rows are zero.
template <int kDown, bool kSparse>
HWY_INLINE void transform_columns(Rows& rows) {
  const WordVector zero = hn::Zero(Words());
  const WordVector in4 = kSparse ? zero : rows[4], in5 = kSparse ? zero : rows[5];
  const WordVector in6 = kSparse ? zero : rows[6], in7 = kSparse ? zero : rows[7];
  const Pairs two_six(rows[2], in6);
  const Wide even3 = two_six.times(4433 + 6270, 4433), even2 = two_six.times(4433, 4433 - 15137);
  const Wide even0 = scaled(hn::Add(rows[0], in4)), even1 = scaled(hn::Sub(rows[0], in4));
  const Wide sum0 = even0 + even3, sum3 = even0 - even3, sum1 = even1 + even2, sum2 = even1 - even2;

  const Pairs threes(hn::Add(in7, rows[3]), hn::Add(in5, rows[1]));
  const Wide z3 = threes.times(9633 - 16069, 9633), z4 = threes.times(9633, 9633 - 3196);
  const Pairs seven_one(in7, rows[1]), five_three(in5, rows[3]);
  const Wide odd0 = seven_one.times(2446 - 7373, -7373) + z3, odd3 = seven_one.times(-7373, 12299 - 7373) + z4;
  const Wide odd1 = five_three.times(16819 - 20995, -20995) + z4, odd2 = five_three.times(-20995, 25172 - 20995) + z3;

  rows[0] = descaled<kDown>(sum0 + odd3);
  rows[7] = descaled<kDown>(sum0 - odd3);
  rows[1] = descaled<kDown>(sum1 + odd2);
  rows[6] = descaled<kDown>(sum1 - odd2);
  rows[2] = descaled<kDown>(sum2 + odd1);
  rows[5] = descaled<kDown>(sum2 - odd1);
  rows[3] = descaled<kDown>(sum3 + odd0);
  rows[4] = descaled<kDown>(sum3 - odd0);
}

// Of each block: each step deals the rows i and i + 4 into the rows 2 i and 2 i + 1.
HWY_INLINE void transpose(Rows& rows) {
  const Words d;
  for (int step = 0; step < 3; ++step) {
    const Rows from = rows;
    for (size_t i = 0; i < 4; ++i) {
      rows[2 * i] = hn::InterleaveLower(d, from[i], from[i + 4]);
      rows[2 * i + 1] = hn::InterleaveUpper(d, from[i], from[i + 4]);
    }
  }
}

// The samples of `blocks` blocks of the group.
HWY_INLINE void put(const Rows& samples, size_t blocks, const BlockRow& row, size_t at) {
  const Bytes bytes;
  const WordVector middle = hn::Set(Words(), 128);
  for (size_t y = 0; y < kBlockSide; ++y) {
    const auto line = hn::DemoteTo(bytes, hn::SaturatedAdd(samples[y], middle));
    uint8_t* const to = row.rows[y] + at;
    if (blocks == hn::Lanes(Words()) / kBlockSide) {
      hn::StoreU(line, bytes, to);
    } else {
      HWY_ALIGN uint8_t whole[kLanesMax];
      hn::Store(line, bytes, whole);
      std::memcpy(to, whole, blocks * kBlockSide);
    }
  }
}

// Of blocks with nothing but their first coefficient.
HWY_INLINE void put_flat(int16_t* group, size_t blocks, const BlockRow& row, size_t at) {
  const size_t in_group = group_blocks();
  for (size_t i = 0; i < blocks; ++i) {
    const int sample = std::clamp(((group[i * kBlockSide] * row.steps[0] + 4) >> 3) + 128, 0, 255);
    for (size_t y = 0; y < kBlockSide; ++y) std::memset(row.rows[y] + at + i * kBlockSide, sample, kBlockSide);
  }
  std::memset(group, 0, in_group * kBlockSide * sizeof(int16_t));
}

bool transform_row(const BlockRow& row) {
  const Words d;
  const size_t in_group = group_blocks(), stride = in_group * kBlockSide;
  Rows steps;
  for (size_t y = 0; y < kBlockSide; ++y)
    steps[y] = hn::LoadDup128(d, reinterpret_cast<const int16_t*>(row.steps.data() + y * kBlockSide));
  WordVector most = hn::Zero(d), least = hn::Zero(d);
  const WordVector zero = hn::Zero(d);
  int16_t* group = row.groups;
  for (size_t block = 0; block < row.last.size(); block += in_group, group += group_samples(in_group)) {
    const size_t blocks = std::min(in_group, row.last.size() - block);
    const uint8_t last = *std::max_element(row.last.begin() + static_cast<ptrdiff_t>(block),
                                           row.last.begin() + static_cast<ptrdiff_t>(block + blocks));
    if (last == 0) {
      put_flat(group, blocks, row, block * kBlockSide);
      continue;
    }
    Rows rows;
    const bool is_sparse = last < 10;  // nothing below the fourth row, and behind the fourth column
    for (size_t y = 0; y < (is_sparse ? 4 : kBlockSide); ++y) {
      rows[y] = hn::Mul(hn::Load(d, group + y * stride), steps[y]);
      hn::Store(zero, d, group + y * stride);
    }
    most = hn::Max(most, rows[0]);
    least = hn::Min(least, rows[0]);
    constexpr int kFirstDown = kFractionBits - kKeptBits, kSecondDown = kFractionBits + kKeptBits + 3;
    if (is_sparse) {
      transform_columns<kFirstDown, true>(rows);
      transpose(rows);
      transform_columns<kSecondDown, true>(rows);
    } else {
      transform_columns<kFirstDown, false>(rows);
      transpose(rows);
      transform_columns<kSecondDown, false>(rows);
    }
    transpose(rows);
    put(rows, blocks, row, block * kBlockSide);
  }
  const auto beyond = hn::Or(hn::Gt(most, hn::Set(d, kDcMax)), hn::Lt(least, hn::Set(d, kDcMin)));
  return hn::AllFalse(d, beyond);
}

#endif

}  // namespace
}  // namespace spdld::image::baseline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image::baseline {
namespace {
HWY_EXPORT(group_blocks);
HWY_EXPORT(transform_row);
}  // namespace

size_t blocks_in_group() { return HWY_DYNAMIC_DISPATCH(group_blocks)(); }
bool transform(const BlockRow& row) { return HWY_DYNAMIC_DISPATCH(transform_row)(row); }

}  // namespace spdld::image::baseline
#endif
