#include "daemon/media/image/codecs/arena.h"

#include <algorithm>
#include <cstdlib>

namespace spdld::image {

void Arena::Free::operator()(uint8_t* memory) const noexcept { std::free(memory); }

bool Arena::grow(size_t bytes) noexcept {
  ran_short_ = true;
  if (block_count_ == blocks_.size()) return false;
  const size_t before = block_count_ == 0 ? kFirstBlock / 2 : blocks_[block_count_ - 1].size;
  const size_t more = block_count_ < kSlowBlocks ? std::min(before * 2, kSlowMax) : before * 2;
  const size_t size = (std::max(bytes, more) + kAlignment - 1) & ~(kAlignment - 1);
  auto* memory = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, size));
  if (memory == nullptr) return false;
  blocks_[block_count_++] = {std::unique_ptr<uint8_t, Free>(memory), size};
  used_in_last_ = 0;
  ran_short_ = false;
  return true;
}

void* Arena::take(size_t bytes) noexcept {
  if (bytes > room()) return nullptr;
  const size_t rounded = (bytes + kAlignment - 1) & ~(kAlignment - 1);
  const bool fits = block_count_ > 0 && rounded <= blocks_[block_count_ - 1].size - used_in_last_;
  if (!fits && !grow(rounded)) return nullptr;
  uint8_t* piece = blocks_[block_count_ - 1].memory.get() + used_in_last_;
  used_in_last_ += rounded;
  taken_ = std::min(taken_ + rounded, bytes_max_);
  return piece;
}

void Arena::reset() noexcept {
  size_t whole = 0;
  for (size_t i = 0; i < block_count_; ++i) whole += blocks_[i].size;
  if (block_count_ > 1 || whole > bytes_kept_max_) {
    for (size_t i = 0; i < block_count_; ++i) blocks_[i] = {};
    block_count_ = 0;
    // Without memory now there is none to keep; the next take() tries again.
    if (whole <= bytes_kept_max_) (void)grow(whole);
  }
  used_in_last_ = taken_ = 0;
  ran_short_ = false;
}

}  // namespace spdld::image
