// Reads the coefficients of single blocks (ITU-T T.81, F.2.2). The hot loops of the decoder: everything is inline.
// They give false at data that no encoder writes, and say nothing about its meaning.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "daemon/media/image/codecs/baseline/code_tables.h"
#include "daemon/media/image/codecs/baseline/coded_bytes.h"
#include "daemon/media/image/codecs/baseline/places.h"

namespace spdld::image::baseline {

inline uint32_t next_value(Bits& bits, int size) {
  const uint32_t value = size == 0 ? 0 : bits.peek(size);
  bits.drop(size);
  return value;
}

// The difference to the block before of the same component.
[[nodiscard]] inline bool read_dc(Bits& bits, const DcTable& table, int& difference) {
  bits.refill_below(32);
  const DcTable::Entry entry = table.entries[bits.peek(kValueBits)];
  if (entry.bits != 0) [[likely]] {
    bits.drop(entry.bits);
    difference = entry.value;
    return true;
  }
  const Symbol symbol = table.codes.symbol(bits.peek(16));
  if (symbol.length == 0) return false;
  bits.drop(symbol.length);
  difference = signed_value(next_value(bits, symbol.symbol), symbol.symbol);
  return true;
}

struct NextCoefficient {
  int step, value;
};

// One coefficient, whatever its length. none: no code.
[[nodiscard]] inline std::optional<NextCoefficient> read_one(Bits& bits, const AcTable& table) {
  bits.refill_below(32);
  const Symbol symbol = table.codes.symbol(bits.peek(16));
  if (symbol.length == 0) return std::nullopt;
  bits.drop(symbol.length);
  const int run = symbol.symbol >> 4, size = symbol.symbol & 15;
  if (size == 0 && run != 15) return NextCoefficient{kEndStep, 0};
  return NextCoefficient{run + 1, signed_value(next_value(bits, size), size)};
}

inline constexpr int kLastPlace = static_cast<int>(kBlockSamples) - 1;  // of a coefficient in its block
inline bool is_end(int place) { return place >= kEndStep && place < kEndStep + static_cast<int>(kBlockSamples); }

// `last`: the place of the last coefficient, in the order of coding. From place k on, one coefficient after the other.
[[nodiscard]] inline bool read_slowly(Bits& bits, const AcTable& table, const Places& places, int k, int16_t* block,
                                      int& last) {
  while (k < kLastPlace) {
    const auto next = read_one(bits, table);
    if (!next) return false;
    if (next->step == kEndStep) break;
    k += next->step;
    if (k > kLastPlace) return false;
    block[places[static_cast<size_t>(k)]] = static_cast<int16_t>(next->value);
  }
  last = k;
  return true;
}

// A look-up's outcome.
enum class Found : uint8_t {
  kMore,              // the block goes on, and the next look-up has its bits
  kMoreBehindRefill,  // the block goes on
  kEnd,               // the block has ended
  kTooMuch,           // the block ends in the look-up, which took nothing
  kNoCode,            // no code comes next, or one that no block can have there
};

// The coefficient that comes next, whose value is too long for the look-up.
[[nodiscard]] inline std::optional<NextCoefficient> read_long(Bits& bits, const AcTable& table, AcTable::Entry entry) {
  if (!entry.is_known()) return read_one(bits, table);
  bits.drop(entry.code_bits());
  return NextCoefficient{entry.first_step, signed_value(next_value(bits, entry.value_bits()), entry.value_bits())};
}

// One look-up behind place k, which takes kValueBits, or what a long coefficient has.
[[nodiscard, gnu::always_inline]] inline Found look_up(Bits& bits, const AcTable& table, const Places& places, int& k,
                                                       int16_t* block) {
  const AcTable::Entry entry = table.entries[bits.peek(kValueBits)];
  if (entry.bits == 0) [[unlikely]] {
    const auto next = read_long(bits, table, entry);
    if (!next) return Found::kNoCode;
    k += next->step;
    if (k > kLastPlace && !is_end(k)) return Found::kNoCode;
    block[places[static_cast<size_t>(k)]] = static_cast<int16_t>(next->value);
    return k >= kLastPlace ? Found::kEnd : Found::kMoreBehindRefill;
  }
  const int first = k + entry.first_step, second = first + entry.second_step;
  block[places[static_cast<size_t>(first)]] = entry.first_value;
  block[places[static_cast<size_t>(second)]] = entry.second_value;
  // Behind the last place no end is coded, and the second coefficient was another block's.
  if (second > kLastPlace && !(first < kLastPlace && is_end(second)) && !is_end(first)) [[unlikely]]
    return Found::kTooMuch;
  bits.drop(entry.bits);
  k = second;
  return second >= kLastPlace ? Found::kEnd : Found::kMore;
}

// A refill, whose branch nobody could predict, is for as many look-ups as it has bits for.
[[nodiscard]] inline bool read_ac(Bits& bits, const AcTable& table, const Places& places, int16_t* block, int& last) {
  static_assert(3 * kValueBits + kLongBitsMax <= Bits::kRefilled);
  Bits now = bits;
  int k = 0;
  Found found = Found::kMore;
  do {
    now.refill();
    found = look_up(now, table, places, k, block);
    if (found == Found::kMore) found = look_up(now, table, places, k, block);
    if (found == Found::kMore) found = look_up(now, table, places, k, block);
    if (found == Found::kMore) found = look_up(now, table, places, k, block);
  } while (found == Found::kMore || found == Found::kMoreBehindRefill);
  if (found == Found::kNoCode) return false;
  bits = now;
  if (found == Found::kTooMuch) return read_slowly(bits, table, places, k, block, last);
  last = k >= kEndStep ? k - kEndStep : k;
  return true;
}

// Reads past the coefficient behind place k.
[[nodiscard]] inline Found read_past(Bits& bits, const AcTable& table, int& k) {
  const auto next = read_one(bits, table);
  if (!next) return Found::kNoCode;
  if (next->step == kEndStep) return Found::kEnd;
  k += next->step;
  return k < kLastPlace ? Found::kMoreBehindRefill : k == kLastPlace ? Found::kEnd : Found::kNoCode;
}

// One look-up behind place k, which takes kSkippedBitsMax bits at the most.
[[nodiscard, gnu::always_inline]] inline Found look_past(Bits& bits, const AcTable& table, int& k) {
  const AcTable::Skip skip = table.skips[bits.peek(kSkipBits)];
  if (skip.bits == 0) [[unlikely]]
    return read_past(bits, table, k);
  const int place = k + skip.step;
  if (place < kLastPlace) [[likely]] {
    bits.drop(skip.bits);
    k = place;
    return Found::kMore;
  }
  // These may be coefficients of the next block, too.
  if (!is_end(place) || place - kEndStep >= kLastPlace) return Found::kTooMuch;
  bits.drop(skip.bits);
  return Found::kEnd;
}

// Reads past a block.
[[nodiscard]] inline bool skip_ac(Bits& bits, const AcTable& table) {
  static_assert(kSkippedBitsMax + kSkipBits <= Bits::kRefilled && 2 * kSkippedBitsMax <= Bits::kRefilled);
  Bits now = bits;
  int k = 0;
  Found found = Found::kMore;
  do {
    now.refill();
    found = look_past(now, table, k);
    if (found == Found::kMore) found = look_past(now, table, k);
  } while (found == Found::kMore || found == Found::kMoreBehindRefill);
  if (found == Found::kTooMuch) {
    do {
      found = read_past(now, table, k);
    } while (found == Found::kMoreBehindRefill);
  }
  bits = now;
  return found == Found::kEnd;
}

}  // namespace spdld::image::baseline
