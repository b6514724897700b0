#include "daemon/media/image/codecs/gif/wide_codes.h"

#include <algorithm>

namespace spdld::image {

WideCodes::WideCodes(int bits, std::span<const uint8_t>& rest) : rest_(rest), bits_(bits) { start_over(); }

void WideCodes::start_over() {
  width_ = bits_ + 1;
  next_ = (1U << bits_) + 2;
  last_ = kCodes;
}

// Each block begins with its length, and an empty block is the end.
bool WideCodes::next_byte(uint8_t& byte) {
  if (block_ == 0) {
    if (at_end_ || rest_.empty()) return false;
    block_ = rest_.front();
    rest_ = rest_.subspan(1);
    at_end_ = block_ == 0;
    if (at_end_) return false;
  }
  if (rest_.empty()) return false;
  byte = rest_.front();
  rest_ = rest_.subspan(1);
  --block_;
  return true;
}

unsigned WideCodes::next_code() {
  while (buffered_ < width_) {
    uint8_t byte = 0;
    if (!next_byte(byte)) return kCodes;
    buffer_ |= uint32_t{byte} << buffered_;
    buffered_ += 8;
  }
  const unsigned code = buffer_ & ((1U << width_) - 1);
  buffer_ >>= width_;
  buffered_ -= width_;
  return code;
}

// Each code stands for the numbers of the one before it and one more. The code that is to be made by the next one may
// be used already: it ends with the number that it begins with.
bool WideCodes::expand(unsigned code) {
  const unsigned clear = 1U << bits_;
  if (code > next_ || (last_ == kCodes && code >= clear)) return false;
  const bool is_new = code == next_;
  if (is_new && next_ >= kCodes) return false;
  stacked_ = is_new ? 1 : 0;  // the place of its last number
  unsigned at = is_new ? last_ : code;
  while (at >= clear) {
    stack_[stacked_++] = number_[at];
    at = before_[at];
  }
  stack_[stacked_++] = static_cast<uint8_t>(at);
  if (is_new) stack_[0] = static_cast<uint8_t>(at);
  if (last_ != kCodes && next_ < kCodes) {
    before_[next_] = static_cast<uint16_t>(last_);
    number_[next_] = static_cast<uint8_t>(at);
    ++next_;
    if (next_ == 1U << width_ && width_ < 12) ++width_;
  }
  last_ = code;
  return true;
}

bool WideCodes::read(std::span<uint8_t> numbers) {
  const unsigned clear = 1U << bits_;
  for (uint8_t& number : numbers) {
    while (stacked_ == 0) {
      const unsigned code = next_code();
      if (code == kCodes || code == clear + 1) return false;
      if (code == clear)
        start_over();
      else if (!expand(code))
        return false;
    }
    number = stack_[--stacked_];
  }
  return true;
}

void WideCodes::finish() {
  rest_ = rest_.subspan(std::min(block_, rest_.size()));
  block_ = 0;
  while (!at_end_ && !rest_.empty()) {
    const size_t length = rest_.front();
    at_end_ = length == 0;
    rest_ = rest_.subspan(std::min(length + 1, rest_.size()));
  }
}

}  // namespace spdld::image
