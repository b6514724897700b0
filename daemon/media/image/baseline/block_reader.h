// Reads the coefficients of single blocks (ITU-T T.81, F.2.2). The hot loops of the decoder: everything is inline.
// They give false at data that no encoder writes, and say nothing about its meaning.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "daemon/media/image/baseline/code_tables.h"
#include "daemon/media/image/baseline/coded_bytes.h"
#include "daemon/media/image/baseline/places.h"

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

inline bool is_end(int place) { return place >= kEndStep && place < kEndStep + static_cast<int>(kBlockSamples); }

// `last`: the place of the last coefficient, in the order of coding. From place k on, one coefficient after the other.
[[nodiscard]] inline bool read_slowly(Bits& bits, const AcTable& table, const Places& places, int k, int16_t* block,
                                      int& last) {
  while (k < static_cast<int>(kBlockSamples) - 1) {
    const auto next = read_one(bits, table);
    if (!next) return false;
    if (next->step == kEndStep) break;
    k += next->step;
    if (k >= static_cast<int>(kBlockSamples)) return false;
    block[places[static_cast<size_t>(k)]] = static_cast<int16_t>(next->value);
  }
  last = k;
  return true;
}

[[nodiscard]] inline bool read_ac(Bits& bits, const AcTable& table, const Places& places, int16_t* block, int& last) {
  constexpr int kLast = static_cast<int>(kBlockSamples) - 1;
  Bits now = bits;
  int k = 0;
  for (;;) {
    now.refill_below(32);
    const AcTable::Entry entry = table.entries[now.peek(kValueBits)];
    if (entry.bits == 0) [[unlikely]] {
      const auto next = read_one(now, table);
      if (!next) return false;
      k += next->step;
      if (k > kLast && !is_end(k)) return false;
      block[places[static_cast<size_t>(k)]] = static_cast<int16_t>(next->value);
      if (k >= kLast) break;
      continue;
    }
    const int first = k + entry.first_step, second = first + entry.second_step;
    block[places[static_cast<size_t>(first)]] = entry.first_value;
    block[places[static_cast<size_t>(second)]] = entry.second_value;
    if (second >= kLast) [[unlikely]] {
      // Behind the last place no end is coded, and the second coefficient was another block's.
      if (second != kLast && !(first < kLast && is_end(second)) && !is_end(first)) {
        bits = now;
        return read_slowly(bits, table, places, k, block, last);
      }
      now.drop(entry.bits);
      k = second;
      break;
    }
    now.drop(entry.bits);
    k = second;
  }
  bits = now;
  last = k >= kEndStep ? k - kEndStep : k;
  return true;
}

// Reads past a block.
[[nodiscard]] inline bool skip_ac(Bits& bits, const AcTable& table) {
  constexpr int kLast = static_cast<int>(kBlockSamples) - 1;
  Bits now = bits;
  int k = 0;
  for (;;) {
    now.refill_below(32);
    const AcTable::Skip skip = table.skips[now.peek(kSkipBits)];
    const Bits before = now;
    int step = skip.step;
    if (skip.bits == 0) [[unlikely]] {
      const auto next = read_one(now, table);
      if (!next) return false;
      step = next->step;
    } else {
      now.drop(skip.bits);
    }
    if (k + step < kLast) {
      k += step;
      continue;
    }
    // These may be coefficients of the next block, too.
    if (is_end(k + step) && k + (step - kEndStep) < kLast) break;
    now = before;
    while (k < kLast) {
      const auto next = read_one(now, table);
      if (!next) return false;
      if (next->step == kEndStep) break;
      k += next->step;
      if (k > kLast) return false;
    }
    break;
  }
  bits = now;
  return true;
}

}  // namespace spdld::image::baseline
