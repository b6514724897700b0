#include "daemon/media/image/codecs/progressive/band_tables.h"

namespace spdld::image::progressive {
namespace {

using baseline::CodeLengths;
using baseline::Symbol;

// The meaning of a code and of the bits behind it. `next`: the bits that come next, with the code at their head.
BandTable::Entry entry_of(Symbol symbol, uint32_t next) {
  const int run = symbol.symbol >> 4, size = symbol.symbol & 15;
  const bool is_end = size == 0 && run != 15;
  const int value_bits = is_end ? run : size, bits = symbol.length + value_bits;
  if (bits > kBandBits) return {};
  const uint32_t value = next >> (kBandBits - bits) & ((1u << value_bits) - 1);
  const auto all_bits = static_cast<uint8_t>(bits);
  if (is_end) return {static_cast<int16_t>((1u << run) + value), baseline::kEndStep, all_bits};
  return {static_cast<int16_t>(baseline::signed_value(value, size)), static_cast<uint8_t>(run + 1), all_bits};
}

// All look-ups that begin with the code.
void enter(Symbol symbol, uint32_t code, BandTable& table) {
  const int rest = kBandBits - symbol.length;
  const uint32_t first = code << rest;
  for (uint32_t next = first; next < first + (1u << rest); ++next) {
    table.symbols[next] = symbol;
    table.entries[next] = entry_of(symbol, next);
  }
}

}  // namespace

bool make_table(const CodeLengths& lengths, BandTable& table) {
  if (!table.codes.make(lengths, false)) return false;
  table.entries.fill({});
  table.symbols.fill({});
  uint32_t code = 0;
  size_t at = 0;
  for (int length = 1; length <= kBandBits; ++length, code <<= 1)
    for (int i = 0; i < lengths.counts[static_cast<size_t>(length)]; ++i)
      enter({static_cast<uint8_t>(length), lengths.symbols[at++]}, code++, table);
  return true;
}

}  // namespace spdld::image::progressive
