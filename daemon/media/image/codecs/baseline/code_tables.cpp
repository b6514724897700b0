#include "daemon/media/image/codecs/baseline/code_tables.h"

#include <algorithm>

namespace spdld::image::baseline {
namespace {

constexpr int kLengthMax = 16;
constexpr int kDcSizeMax = 15;  // of a value, in bits

struct Coefficient {
  int step = 0, value = 0, code_bits = 0, value_bits = 0;  // code_bits == 0: no code within these bits
  int bits() const { return code_bits + value_bits; }
};

// Of `count` bits that come next.
Coefficient coefficient(const CodeTable& codes, uint32_t next, int count) {
  const Symbol symbol = codes.symbol(next << (kLengthMax - count) & 0xFFFF);
  if (symbol.length == 0 || symbol.length > count) return {};
  const int run = symbol.symbol >> 4, size = symbol.symbol & 15;
  Coefficient found{run + 1, 0, symbol.length, size};
  if (size == 0 && run != 15) found.step = kEndStep;
  if (size > 0 && found.bits() <= count)
    found.value = signed_value(next >> (count - found.bits()) & ((1u << size) - 1), size);
  return found;
}

AcTable::Entry entry_of(const CodeTable& codes, uint32_t next) {
  const Coefficient first = coefficient(codes, next, kValueBits);
  if (first.code_bits == 0) return {};
  AcTable::Entry entry{};
  if (first.bits() > kValueBits) {
    entry.first_step = static_cast<uint8_t>(first.step);
    entry.second_value = static_cast<int16_t>(first.code_bits);
    entry.second_step = static_cast<uint8_t>(first.value_bits);
    return entry;
  }
  entry.first_value = entry.second_value = static_cast<int16_t>(first.value);
  entry.first_step = static_cast<uint8_t>(first.step);
  entry.bits = static_cast<uint8_t>(first.bits());
  const int left = kValueBits - first.bits();
  if (first.step == kEndStep || left == 0) return entry;
  const Coefficient second = coefficient(codes, next & ((1u << left) - 1), left);
  if (second.code_bits == 0 || second.bits() > left) return entry;
  entry.second_value = static_cast<int16_t>(second.value);
  entry.second_step = static_cast<uint8_t>(second.step);
  entry.bits = static_cast<uint8_t>(entry.bits + second.bits());
  return entry;
}

AcTable::Skip skip_of(const CodeTable& codes, uint32_t next) {
  AcTable::Skip skip{};
  int bits = 0, step = 0;
  while (bits < kSkipBits) {
    const int left = kSkipBits - bits;
    const Coefficient found = coefficient(codes, next & ((1u << left) - 1), left);
    const bool fits = found.code_bits != 0 && bits + found.bits() <= kSkippedBitsMax &&
                      (found.step == kEndStep || step + found.step < static_cast<int>(kBlockSamples));
    if (!fits) break;
    bits += found.bits();
    step += found.step;
    skip = {static_cast<uint8_t>(step), static_cast<uint8_t>(bits)};
    if (found.step == kEndStep) break;
  }
  return skip;
}

}  // namespace

bool CodeTable::make(const CodeLengths& lengths, bool is_dc) {
  last_.fill(-1);
  shift_.fill(0);
  symbols_ = lengths.symbols;
  int32_t code = 0;
  int at = 0;
  for (size_t length = 1; length <= kLengthMax; ++length, code <<= 1) {
    const int count = lengths.counts[length];
    if (at + count > static_cast<int>(symbols_.size())) return false;
    if (count == 0) continue;
    shift_[length] = at - code;
    at += count;
    code += count;
    last_[length] = code - 1;
    if (code >= int32_t{1} << length) return false;  // no code is of ones alone
  }
  return !is_dc ||
         std::all_of(symbols_.begin(), symbols_.begin() + at, [](uint8_t symbol) { return symbol <= kDcSizeMax; });
}

bool make_table(const CodeLengths& lengths, DcTable& table) {
  if (!table.codes.make(lengths, true)) return false;
  for (uint32_t next = 0; next < table.entries.size(); ++next) {
    const Symbol symbol = table.codes.symbol(next << (kLengthMax - kValueBits));
    const int bits = symbol.length + symbol.symbol;
    DcTable::Entry& entry = table.entries[next];
    entry = {};
    if (symbol.length == 0 || bits > kValueBits) continue;
    const uint32_t value = next >> (kValueBits - bits) & ((1u << symbol.symbol) - 1);
    entry = {static_cast<int16_t>(signed_value(value, symbol.symbol)), static_cast<uint8_t>(bits)};
  }
  return true;
}

bool make_table(const CodeLengths& lengths, AcTable& table) {
  if (!table.codes.make(lengths, false)) return false;
  for (uint32_t next = 0; next < table.entries.size(); ++next) table.entries[next] = entry_of(table.codes, next);
  for (uint32_t next = 0; next < table.skips.size(); ++next) table.skips[next] = skip_of(table.codes, next);
  return true;
}

}  // namespace spdld::image::baseline
