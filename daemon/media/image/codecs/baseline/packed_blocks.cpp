#include "daemon/media/image/codecs/baseline/packed_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "daemon/media/image/codecs/baseline/inverse_dct.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/codecs/baseline/packed_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spdld::image::baseline::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR  // its transform does nothing either
bool unpack_row(const PackedRow&, size_t, size_t, size_t, int16_t*, uint8_t*) { return false; }
#else
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::FixedTag<uint8_t, 16>;
using Words = hn::FixedTag<int16_t, 8>;
using Longs = hn::FixedTag<uint64_t, 2>;

// How the eight values of a group are taken out of its bytes, by the bits of a value: each lane gets the two bytes that
// its value begins in, and a factor that moves the value up to the lane's top. Values of 11, 13, 14 and 15 bits, which
// nobody writes, may span three bytes; they come out as some other values.
struct Taking {
  std::array<std::array<uint8_t, 16>, 16> bytes{};
  std::array<std::array<uint16_t, 8>, 16> factors{};
  std::array<uint8_t, 16> down{};  // by which a value comes back from the top
};

constexpr Taking taking() {
  Taking taking;
  for (size_t bits = 0; bits < 16; ++bits) {
    taking.down[bits] = static_cast<uint8_t>(bits == 0 ? 15 : 16 - bits);
    for (size_t i = 0; i < 8 && bits > 0; ++i) {
      const size_t at = bits * i, up = 16 - bits - at % 8;
      taking.bytes[bits][2 * i] = static_cast<uint8_t>(at / 8);
      taking.bytes[bits][2 * i + 1] = static_cast<uint8_t>(at / 8 + 1 < 16 ? at / 8 + 1 : 15);
      taking.factors[bits][i] = static_cast<uint16_t>(up < 16 ? 1U << up : 1U);
    }
  }
  return taking;
}

alignas(16) constexpr Taking kTaking = taking();

// The group at `values`.
HWY_INLINE hn::Vec<Words> take_group(const uint8_t* values, size_t bits) {
  const auto lanes = hn::TableLookupBytes(hn::LoadU(Bytes(), values), hn::Load(Bytes(), kTaking.bytes[bits].data()));
  const auto factors = hn::BitCast(Words(), hn::Load(hn::FixedTag<uint16_t, 8>(), kTaking.factors[bits].data()));
  return hn::ShiftRightSame(hn::Mul(hn::BitCast(Words(), lanes), factors), kTaking.down[bits]);
}

// The four bits of each group, a byte each.
HWY_INLINE uint64_t bits_of(uint32_t head) {
  uint64_t bits = head;
  bits = (bits | bits << 16) & 0x0000FFFF0000FFFF;
  bits = (bits | bits << 8) & 0x00FF00FF00FF00FF;
  return (bits | bits << 4) & 0x0F0F0F0F0F0F0F0F;
}

// Two rows of the block.
HWY_INLINE void take_pair(const uint8_t* values, uint64_t bits, uint64_t places, size_t pair, size_t stride,
                          int16_t* block) {
  const size_t left = pair * 2, right = left + 1;
  const auto byte = [](uint64_t from, size_t at) { return static_cast<size_t>(from >> at * 8 & 0xFF); };
  const auto a = hn::BitCast(Longs(), take_group(values + byte(places, left), byte(bits, left)));
  const auto b = hn::BitCast(Longs(), take_group(values + byte(places, right), byte(bits, right)));
  hn::Store(hn::BitCast(Words(), hn::InterleaveLower(Longs(), a, b)), Words(), block + left * stride);
  hn::Store(hn::BitCast(Words(), hn::InterleaveUpper(Longs(), a, b)), Words(), block + right * stride);
}

template <typename Number>
HWY_INLINE Number load(const uint8_t* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

constexpr uint32_t kUpperLeft = 0x00000F0F;         // the groups of the upper left 4 x 4 coefficients
constexpr uint8_t kLastOfFew = 9, kLastOfAll = 63;  // see transform_row() of the inverse DCT

bool unpack_row(const PackedRow& row, size_t first, size_t end, size_t in_group, int16_t* groups, uint8_t* last) {
  size_t block = first / kSpanBlocks * kSpanBlocks;
  size_t at = load<uint32_t>(row.places.data() + first / kSpanBlocks * sizeof(uint32_t));
  for (; block < first; ++block) at += value_bytes(load<uint32_t>(row.heads.data() + block * sizeof(uint32_t)));
  const size_t stride = in_group * kBlockSide;
  for (size_t i = 0; block < end; ++block, ++i) {
    int16_t* const to = block_in(groups, i, in_group);
    const auto head = load<uint32_t>(row.heads.data() + block * sizeof(uint32_t));
    if (head != 0) {
      const uint64_t bits = bits_of(head), sums = bits * 0x0101010101010101, places = sums << 8;
      const size_t bytes = sums >> 56;
      if (at > row.values.size() || bytes > row.values.size() - at) return false;
      const uint8_t* const values = row.values.data() + at;
      const bool is_few = (head & ~kUpperLeft) == 0;
      last[i] = is_few ? kLastOfFew : kLastOfAll;
      for (size_t pair = 0; pair < (is_few ? 2 : kPackedGroups / 2); ++pair)
        take_pair(values, bits, places, pair, stride, to);
      at += bytes;
    } else {
      last[i] = 0;
    }
    to[0] = load<int16_t>(row.dcs.data() + block * sizeof(int16_t));
  }
  return true;
}
#endif

}  // namespace
}  // namespace spdld::image::baseline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image::baseline {
namespace {

static_assert(std::endian::native == std::endian::little);
HWY_EXPORT(unpack_row);

// Four values of a row, the first one lowest.
uint64_t load_four(const int16_t* values) {
  uint64_t four = 0;
  std::memcpy(&four, values, sizeof four);
  return four;
}

// The bits that each value of a group takes: 0, or with its sign.
unsigned bits_for(uint64_t above, uint64_t below) {
  if ((above | below) == 0) return 0;
  constexpr uint64_t kLowest = 0x0001000100010001;
  const auto magnitudes = [](uint64_t four) { return four ^ (four >> 15 & kLowest) * 0xFFFF; };
  uint64_t all = magnitudes(above) | magnitudes(below);
  all |= all >> 32;
  all |= all >> 16;
  const auto bits = static_cast<unsigned>(std::bit_width(all & 0xFFFF)) + 1;
  return bits == 11 ? 12 : bits;
}

uint64_t gathered(uint64_t four, unsigned bits) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t all = 0;
  for (unsigned i = 0; i < 4; ++i) all |= (four >> 16 * i & mask) << bits * i;
  return all;
}

// `bits` bytes count, and 16 are written. Precondition: bits is 1 to kPackedBitsMax.
void put_group(uint64_t above, uint64_t below, unsigned bits, uint8_t* to) {
  const uint64_t first = gathered(above, bits), second = gathered(below, bits);
  const std::array<uint64_t, 2> both = {first | second << 4 * bits, second >> (64 - 4 * bits)};
  std::memcpy(to, both.data(), sizeof both);
}

}  // namespace

std::optional<uint32_t> pack_block(const int16_t* block, size_t stride, uint8_t* values) {
  uint32_t head = 0;
  for (size_t group = 0; group < kPackedGroups; ++group) {
    const int16_t* const from = block + group / 2 * 2 * stride + group % 2 * 4;
    uint64_t above = load_four(from);
    const uint64_t below = load_four(from + stride);
    if (group == 0) above &= ~uint64_t{0xFFFF};
    const unsigned bits = bits_for(above, below);
    if (bits > kPackedBitsMax) return std::nullopt;
    if (bits == 0) continue;
    put_group(above, below, bits, values);
    values += bits;
    head |= bits << 4 * group;
  }
  return head;
}

bool unpack_blocks(const PackedRow& row, size_t first, size_t end, int16_t* groups, uint8_t* last) {
  return HWY_DYNAMIC_DISPATCH(unpack_row)(row, first, end, blocks_in_group(), groups, last);
}

}  // namespace spdld::image::baseline
#endif
