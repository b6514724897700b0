#include "daemon/media/image/codecs/progressive/scan_reader.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "daemon/media/image/codecs/baseline/block_reader.h"

namespace spdld::image::progressive {
namespace {

using baseline::Bits;

constexpr int kSizeMax = 10;  // of an AC coefficient of 8-bit samples, in bits (T.81, F.1.2.2)

// Bits `from` to `to`.
constexpr uint64_t bits_between(int from, int to) { return (~uint64_t{0} << from) & (~uint64_t{0} >> (63 - to)); }

// An end of the band, or a coefficient whose code and value are too long for the look-up. step 0: no such code.
BandTable::Entry read_one(Bits& bits, const BandTable& table) {
  const baseline::Symbol symbol = table.symbol(bits.peek(16));
  const int run = symbol.symbol >> 4, size = symbol.symbol & 15;
  if (symbol.length == 0 || size > kSizeMax) return {};
  bits.drop(symbol.length);
  if (size == 0 && run != 15)
    return {static_cast<int16_t>((1u << run) + baseline::next_value(bits, run)), baseline::kEndStep, 1};
  const uint32_t value = baseline::next_value(bits, size);
  return {static_cast<int16_t>(baseline::signed_value(value, size)), static_cast<uint8_t>(run + 1), 1};
}

// One more bit of each of these coefficients, away from zero by `step`. The bits are as good as random: no branch can
// foretell them.
void refine(Bits& bits, uint64_t places, const baseline::Places& place_of, int step, int16_t* block) {
  constexpr int kAtOnce = 32;
  while (places != 0) {
    const int count = std::min(std::popcount(places), kAtOnce);
    bits.refill_below(kAtOnce);
    const uint32_t more = bits.peek(count);
    bits.drop(count);
    if (block == nullptr && count < kAtOnce) return;
    for (int i = count - 1; i >= 0; --i, places &= places - 1) {
      if (block == nullptr) continue;
      int16_t& value = block[place_of[static_cast<size_t>(std::countr_zero(places))]];
      const int away = value < 0 ? -step : step;
      value = static_cast<int16_t>(value + (away & -static_cast<int>(more >> i & 1)));
    }
  }
}

}  // namespace

void ScanReader::begin(const Frame& frame, const Scan& scan, std::span<const uint8_t> coded, Coefficients& to) {
  frame_ = &frame;
  scan_ = &scan;
  to_ = &to;
  predicted_ = {};
  row_ = 0;
  ended_ = 0;
  next_restart_ = 0;
  restarts_in_ = scan.restart_interval == 0 ? UINT32_MAX : scan.restart_interval;
  coded_.begin(coded, bits_);
}

int ScanReader::rows() const {
  return scan_->components > 1 ? frame_->mcus_down : frame_->component[scan_->component[0]].blocks_down;
}

int ScanReader::rows_to(int mcu_row) const {
  if (scan_->components > 1) return std::min(mcu_row, frame_->mcus_down);
  const Component& component = frame_->component[scan_->component[0]];
  return std::min(mcu_row * component.down, component.blocks_down);
}

uint64_t ScanReader::blocks_in_row() const {
  const Component& first = frame_->component[scan_->component[0]];
  if (scan_->components == 1) return static_cast<uint64_t>(first.blocks_across);
  int blocks = 0;
  for (size_t i = 0; i < scan_->components; ++i) {
    const Component& component = frame_->component[scan_->component[i]];
    blocks += component.across * component.down;
  }
  return static_cast<uint64_t>(blocks) * static_cast<uint64_t>(frame_->mcus_across);
}

bool ScanReader::pass_restart() {
  if (!coded_.pass_restart(bits_, next_restart_)) return false;
  restarts_in_ = scan_->restart_interval;
  predicted_ = {};
  ended_ = 0;
  return true;
}

bool ScanReader::begin_mcu() {
  if (restarts_in_ == 0 && !pass_restart()) return false;
  if (scan_->restart_interval != 0) restarts_in_--;
  coded_.provide(bits_);
  return true;
}

uint32_t ScanReader::take(int bits) {
  bits_.refill_below(32);
  return baseline::next_value(bits_, bits);
}

// `dc`: null where it is not wanted.
bool ScanReader::read_dc(size_t in_scan, int16_t* dc) {
  if (scan_->high != 0) {
    const int bit = static_cast<int>(take(1)) << scan_->low;
    if (dc != nullptr) *dc = static_cast<int16_t>(*dc | bit);
    return true;
  }
  int difference = 0;
  if (!baseline::read_dc(bits_, *scan_->dc[in_scan], difference)) return false;
  int& predicted = predicted_[in_scan];
  predicted += difference;
  const int value = predicted * (1 << scan_->low);
  if (value != static_cast<int16_t>(value)) return false;
  if (dc != nullptr) *dc = static_cast<int16_t>(value);
  return true;
}

bool ScanReader::read_dc_row() {
  const bool is_alone = scan_->components == 1;
  std::array<std::array<Coefficients::Row, baseline::kFactorMax>, kComponentsMax> rows{};
  for (size_t i = 0; i < scan_->components; ++i) {
    const Component& component = frame_->component[scan_->component[i]];
    const int down = is_alone ? 1 : component.down;
    for (int y = 0; y < down && component.is_wanted; ++y)
      if (row_ * down + y < component.blocks_down)
        rows[i][static_cast<size_t>(y)] = to_->row(scan_->component[i], row_ * down + y);
  }
  const int mcus = is_alone ? frame_->component[scan_->component[0]].blocks_across : frame_->mcus_across;
  for (int mcu = 0; mcu < mcus; ++mcu) {
    if (!begin_mcu()) return false;
    for (size_t i = 0; i < scan_->components; ++i) {
      const Component& component = frame_->component[scan_->component[i]];
      const int across = is_alone ? 1 : component.across, down = is_alone ? 1 : component.down;
      for (int y = 0; y < down; ++y) {
        const Coefficients::Row& row = rows[i][static_cast<size_t>(y)];
        for (int column = mcu * across; column < (mcu + 1) * across; ++column) {
          const bool is_wanted = row.groups != nullptr && column >= row.first && column < row.end;
          if (!read_dc(i, is_wanted ? to_->block(row, column) : nullptr)) return false;
        }
      }
    }
  }
  return true;
}

bool ScanReader::read_band(uint64_t& nonzero, int16_t* block) {
  if (ended_ > 0) {
    ended_--;
    return true;
  }
  const BandTable& table = *scan_->band;
  const baseline::Places& places = to_->places();
  const int last = scan_->last, low = scan_->low;
  Bits now = bits_;
  uint64_t found = 0;
  for (int k = scan_->first - 1; k < last;) {
    now.refill_below(32);
    BandTable::Entry entry = table.entries[now.peek(kBandBits)];
    if (entry.bits == 0) [[unlikely]] {
      entry = read_one(now, table);
      if (entry.step == 0) return false;
    } else {
      now.drop(entry.bits);
    }
    if (entry.step == baseline::kEndStep) {
      ended_ = static_cast<uint16_t>(entry.value) - 1u;
      break;
    }
    k += entry.step;
    if (k > last) return false;
    if (entry.value == 0) continue;  // sixteen zeroes
    found |= uint64_t{1} << k;
    if (block != nullptr) block[places[static_cast<size_t>(k)]] = static_cast<int16_t>(entry.value * (1 << low));
  }
  bits_ = now;
  nonzero |= found;
  return true;
}

// Codes count the zeroes to the place of a new coefficient; the bits of the old ones on the way follow the code.
bool ScanReader::refine_band(uint64_t& nonzero, int16_t* block) {
  const uint64_t old = nonzero;
  const int last = scan_->last, step = 1 << scan_->low;
  Bits now = bits_;
  int k = scan_->first;
  while (ended_ == 0 && k <= last) {
    now.refill_below(32);
    const baseline::Symbol symbol = scan_->band->symbol(now.peek(16));
    const int run = symbol.symbol >> 4, size = symbol.symbol & 15;
    if (symbol.length == 0 || size > 1) return false;
    now.drop(symbol.length);
    if (size == 0 && run != 15) {
      ended_ = (1u << run) + baseline::next_value(now, run);
      break;
    }
    const int sign = size == 0 ? 0 : baseline::next_value(now, 1) != 0 ? 1 : -1;
    uint64_t zeroes = ~old & bits_between(k, last);
    for (int i = 0; i < run; ++i) zeroes &= zeroes - 1;
    const int place = zeroes == 0 ? last + 1 : std::countr_zero(zeroes);
    if (place > k) refine(now, old & bits_between(k, place - 1), to_->places(), step, block);
    k = place + 1;
    if (sign == 0) continue;
    if (place > last) return false;
    nonzero |= uint64_t{1} << place;
    if (block != nullptr) block[to_->places()[static_cast<size_t>(place)]] = static_cast<int16_t>(sign * step);
  }
  if (ended_ != 0) {
    if (k <= last) refine(now, old & bits_between(k, last), to_->places(), step, block);
    ended_--;
  }
  bits_ = now;
  return true;
}

template <bool kIsFirst>
bool ScanReader::read_band_row() {
  const Coefficients::Row row = to_->row(scan_->component[0], row_);
  const int columns = frame_->component[scan_->component[0]].blocks_across;
  for (int column = 0; column < columns; ++column) {
    if (!begin_mcu()) return false;
    const bool is_wanted = row.groups != nullptr && column >= row.first && column < row.end;
    int16_t* const block = is_wanted ? to_->block(row, column) : nullptr;
    const bool is_read = kIsFirst ? read_band(row.nonzero[column], block) : refine_band(row.nonzero[column], block);
    if (!is_read) return false;
  }
  return true;
}

bool ScanReader::read_row() {
  const bool is_read = scan_->first == 0  ? read_dc_row()
                       : scan_->high == 0 ? read_band_row<true>()
                                          : read_band_row<false>();
  row_++;
  return is_read && coded_.holds(bits_);
}

}  // namespace spdld::image::progressive
