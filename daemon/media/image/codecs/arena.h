// Memory that is handed out piece by piece and taken back all at once; it is kept for the next picture. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace spdld::image {

class Arena {
 public:
  // take() never hands out more than `bytes_max` between two resets; reset() keeps at most `bytes_kept_max` of memory.
  Arena(size_t bytes_max, size_t bytes_kept_max) : bytes_max_(bytes_max), bytes_kept_max_(bytes_kept_max) {}

  // Undefined content, aligned to kAlignment; null when the limit or the machine's memory is reached (never throws: its
  // callers are C functions).
  void* take(size_t bytes) noexcept;
  // The bytes that take() may still hand out.
  size_t room() const noexcept { return bytes_max_ > taken_ ? bytes_max_ - taken_ : 0; }
  void limit(size_t bytes_max) noexcept { bytes_max_ = bytes_max; }
  // Whether take() gave null because the machine's memory, not the limit, was reached; since the last reset().
  bool ran_short() const noexcept { return ran_short_; }
  // Takes all memory back. If it was spread over several blocks, the next picture gets one block that holds as much.
  void reset() noexcept;

  static constexpr size_t kAlignment = 64;

 private:
  struct Free {
    void operator()(uint8_t* memory) const noexcept;
  };
  struct Block {
    std::unique_ptr<uint8_t, Free> memory;
    size_t size = 0;
  };

  bool grow(size_t bytes) noexcept;

  static constexpr size_t kFirstBlock = 64 << 10;
  // Small pieces behind a large one take no block of its size. Many large ones take blocks that double all the same.
  static constexpr size_t kSlowBlocks = 16, kSlowMax = size_t{1} << 20;
  size_t bytes_max_, bytes_kept_max_;
  std::array<Block, 32> blocks_;
  size_t block_count_ = 0;
  size_t used_in_last_ = 0, taken_ = 0;
  bool ran_short_ = false;
};

}  // namespace spdld::image
