// The coded data of a scan without its stuffed zeroes, a piece at a time, from one restart marker to the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace spdld::image::baseline {

// The bits that come next, from the highest on.
struct Bits {
  uint64_t next = 0;
  int count = 0;                // of valid bits in `next`, at most 63
  const uint8_t* at = nullptr;  // where further bits come from

  static constexpr int kRefilled = 56;

  // kRefilled bits or more are at hand afterwards. Precondition: 8 bytes may be read.
  void refill() {
    uint64_t bytes = 0;
    std::memcpy(&bytes, at, sizeof bytes);
    next |= __builtin_bswap64(bytes) >> count;
    at += (63 - count) >> 3;
    count |= kRefilled;
  }
  void refill_below(int wanted) {
    if (count < wanted) refill();
  }
  uint32_t peek(int bits) const { return static_cast<uint32_t>(next >> (64 - bits)); }
  void drop(int bits) {
    next <<= bits;
    count -= bits;
  }
};

class CodedBytes {
 public:
  // The longest MCU: each coefficient with a code of 16 bits and a value of 15.
  static constexpr size_t kMcuBytesMax = 10 * 64 * 31 / 8 + 16;

  // `coded`: from behind the scan's header on; borrowed. `bits` stand at its first.
  void begin(std::span<const uint8_t> coded, Bits& bits);
  // Before each MCU: that there are all its bytes, or all up to the marker and zeroes behind them.
  void provide(Bits& bits) {
    if (bits.at > enough_to_) provide_more(bits);
  }
  // Whether no bit was taken from behind the end.
  bool holds(const Bits& bits) const { return left(bits) >= 0; }
  // Whether all bytes up to the next marker were taken.
  bool is_at_marker(const Bits& bits) const { return ended_ && left(bits) >= 0 && left(bits) < 8; }
  // The marker that ended the bytes; none: there are further bytes, or the data ends without one.
  std::optional<uint8_t> marker() const { return marker_; }
  // Goes on behind the restart marker of this number, and counts on. False: another marker, or none, comes next.
  [[nodiscard]] bool pass_restart(Bits& bits, uint8_t& number);
  // How much of `coded` was looked at. No marker but restart markers lies before that.
  size_t looked_at() const { return from_; }
  // The bit that comes next, counted from the first byte on, without stuffed zeroes.
  uint64_t position(const Bits& bits) const {
    return (passed_ + static_cast<uint64_t>(bits.at - bytes_.data())) * 8 - static_cast<uint64_t>(bits.count);
  }

 private:
  static constexpr size_t kPiece = size_t{16} << 10;
  ptrdiff_t left(const Bits& bits) const {  // bits, of the bytes that were unstuffed
    return (bytes_.data() + end_ - bits.at) * 8 + bits.count;
  }
  void pass_marker(Bits& bits);
  void start(Bits& bits);
  void provide_more(Bits& bits);
  void append();

  std::span<const uint8_t> coded_;
  size_t from_ = 0;      // of what was not unstuffed yet
  size_t end_ = 0;       // of the bytes in bytes_
  uint64_t passed_ = 0;  // bytes before those in bytes_, markers among them
  bool ended_ = false;
  std::optional<uint8_t> marker_;
  const uint8_t* enough_to_ = nullptr;
  std::array<uint8_t, kPiece + 2 * kMcuBytesMax> bytes_;
};

}  // namespace spdld::image::baseline
