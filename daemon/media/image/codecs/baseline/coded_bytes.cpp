#include "daemon/media/image/codecs/baseline/coded_bytes.h"

#include <algorithm>

namespace spdld::image::baseline {

void CodedBytes::begin(std::span<const uint8_t> coded, Bits& bits) {
  coded_ = coded;
  from_ = 0;
  passed_ = 0;
  start(bits);
}

bool CodedBytes::pass_restart(Bits& bits, uint8_t& number) {
  constexpr uint8_t kFirst = 0xD0, kNumbers = 8;
  if (!is_at_marker(bits) || marker_ != kFirst + number) return false;
  pass_marker(bits);
  number = (number + 1) % kNumbers;
  return true;
}

void CodedBytes::pass_marker(Bits& bits) {
  from_ = std::min(from_ + 2, coded_.size());
  passed_ += end_ + 2;
  start(bits);
}

void CodedBytes::start(Bits& bits) {
  end_ = 0;
  ended_ = false;
  marker_.reset();
  bits = {};
  bits.at = bytes_.data();
  provide_more(bits);
}

// Up to a piece, or to a marker. A byte 0xFF is followed by a stuffed zero, or begins a marker (T.81, B.1.1.5).
void CodedBytes::append() {
  while (!ended_ && end_ < kPiece) {
    const size_t count = std::min(coded_.size() - from_, kPiece - end_);
    const uint8_t* const first = coded_.data() + from_;
    const auto* const found = static_cast<const uint8_t*>(count == 0 ? nullptr : std::memchr(first, 0xFF, count));
    const size_t plain = found == nullptr ? count : static_cast<size_t>(found - first);
    if (plain > 0) std::memcpy(bytes_.data() + end_, first, plain);
    end_ += plain;
    from_ += plain;
    if (found == nullptr) {
      ended_ = from_ == coded_.size();
      continue;
    }
    if (from_ + 1 >= coded_.size()) {
      ended_ = true;
    } else if (coded_[from_ + 1] != 0) {
      ended_ = true;
      marker_ = coded_[from_ + 1];
    } else {
      bytes_[end_++] = 0xFF;
      from_ += 2;
    }
  }
}

void CodedBytes::provide_more(Bits& bits) {
  if (!ended_) {
    const auto used = static_cast<size_t>(bits.at - bytes_.data());
    std::memmove(bytes_.data(), bits.at, end_ - used);
    end_ -= used;
    passed_ += used;
    bits.at = bytes_.data();
    append();
  }
  if (!ended_) {
    enough_to_ = bytes_.data() + (end_ - kMcuBytesMax);
    return;
  }
  // Zeroes for an MCU that needs more than there is. A reader that comes beyond them is damaged data's, and stays
  // there.
  std::memset(bytes_.data() + end_, 0, 2 * kMcuBytesMax);
  enough_to_ = bytes_.data() + end_ + sizeof(uint64_t);
  bits.at = std::min(bits.at, enough_to_);
}

}  // namespace spdld::image::baseline
