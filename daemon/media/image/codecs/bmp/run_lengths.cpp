#include "daemon/media/image/codecs/bmp/run_lengths.h"

#include <algorithm>
#include <cstring>

#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

class RunLengths {
 public:
  RunLengths(const BmpHeader& header, uint32_t top, uint32_t bottom, uint8_t* numbers)
      : header_(header), top_(top), bottom_(bottom), numbers_(numbers) {}

  Status decode(CpuWatch& watch);

 private:
  bool has(size_t count) const { return header_.pixels.size() - at_ >= count; }
  uint8_t next() { return header_.pixels[at_++]; }
  // The next pixel of the row has this number; false: the row is full.
  bool put(uint8_t number);
  bool is_full() const { return y_ >= header_.height || (y_ + 1 == header_.height && x_ >= header_.width); }
  Status run(uint8_t count, uint8_t numbers);
  Status escape(uint8_t code);
  Status absolute(uint8_t count);
  static Error leaves() { return damaged(kBmpName, "its code leaves the picture"); }

  const BmpHeader& header_;
  uint32_t top_, bottom_;
  uint8_t* numbers_;
  size_t at_ = 0;
  uint64_t x_ = 0, y_ = 0;  // y_ counts from the lowest row
  bool ended_ = false;
  bool has_spilt_ = false, has_ever_spilt_ = false;  // into the row above, which is not ended yet, or into some
};

bool RunLengths::put(uint8_t number) {
  if (x_ >= header_.width || y_ >= header_.height) return false;
  const auto row = header_.height - 1 - static_cast<uint32_t>(y_);
  if (row >= top_ && row < bottom_) numbers_[size_t{row - top_} * header_.width + x_] = number;
  ++x_;
  return true;
}

// The pixels of a run; of 4 bits two numbers take turns. A run may reach over the row's end, as some writers let it.
Status RunLengths::run(uint8_t count, uint8_t numbers) {
  if (y_ >= header_.height) return leaves();
  if (has_spilt_) return Done{};  // the row counts as full up to its end
  for (int i = 0; i < count; ++i) {
    const auto half = static_cast<uint8_t>(i % 2 == 0 ? numbers >> 4 : numbers & 15);
    if (!put(header_.bits == 8 ? numbers : half)) break;
  }
  return Done{};
}

// Pixels one by one, filled up to an even number of bytes. What a row has no place for stands in the row above, as in
// Pillow: writers of RLE4 fill up rows of odd width by a pixel.
Status RunLengths::absolute(uint8_t count) {
  const size_t bytes = header_.bits == 8 ? count : (size_t{count} + 1) / 2;
  if (!has(bytes)) return cut_off(kBmpName);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t byte = header_.pixels[at_ + (header_.bits == 8 ? i : i / 2)];
    const auto half = static_cast<uint8_t>(i % 2 == 0 ? byte >> 4 : byte & 15);
    const uint8_t number = header_.bits == 8 ? byte : half;
    if (put(number)) continue;
    if (header_.bits == 8 || y_ >= header_.height) return leaves();
    has_spilt_ = has_ever_spilt_ = true;
    x_ = 0;
    ++y_;
    ended_ = !put(number);
    if (ended_) return Done{};  // above the picture
  }
  at_ = std::min(header_.pixels.size(), at_ + bytes + bytes % 2);
  return Done{};
}

Status RunLengths::escape(uint8_t code) {
  constexpr uint8_t kEndOfRow = 0, kEndOfPicture = 1, kJump = 2;
  switch (code) {
    case kEndOfRow:
      if (x_ > 0 || !has_spilt_) ++y_;
      x_ = 0;
      has_spilt_ = false;
      return Done{};
    case kEndOfPicture:
      ended_ = true;
      return Done{};
    case kJump:
      if (!has(2)) return cut_off(kBmpName);
      x_ += next();
      y_ += next();
      has_spilt_ = false;
      if (x_ > header_.width || y_ > header_.height) return leaves();
      return Done{};
    default:
      return absolute(code);
  }
}

Status RunLengths::decode(CpuWatch& watch) {
  constexpr uint64_t kBlocksAtMost = 4;  // of 64 pixels, in one step
  while (!ended_) {
    if (watch.is_over(kBlocksAtMost)) return costs_too_much(kBmpName, kTooMuchCpuTime);
    // Some writers leave out the end of the picture where all rows are full.
    if (is_full() && (has_ever_spilt_ || !has(2))) return Done{};
    if (!has(2)) return cut_off(kBmpName);
    const uint8_t count = next(), byte = next();
    if (const Status done = count != 0 ? run(count, byte) : escape(byte); !done) return done;
  }
  return Done{};
}

}  // namespace

Status decode_run_lengths(const BmpHeader& header, uint32_t top, uint32_t bottom, CpuWatch& watch, uint8_t* numbers) {
  std::memset(numbers, 0, size_t{bottom - top} * header.width);
  return RunLengths(header, top, bottom, numbers).decode(watch);
}

}  // namespace spdld::image
