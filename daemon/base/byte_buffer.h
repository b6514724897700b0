// Bytes that are overwritten again and again: grows, never zero-fills, keeps its memory. Owned by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace spdld {

class ByteBuffer {
 public:
  // The memory that it takes for `size` bytes.
  static constexpr size_t room_for(size_t size) { return size + size / 4; }
  // Makes room for `size` bytes, whose content is undefined (earlier bytes are lost when it grows).
  uint8_t* resize(size_t size) {
    if (size > capacity_) {
      const size_t room = room_for(size);
      memory_ = std::make_unique_for_overwrite<uint8_t[]>(room);
      capacity_ = room;
    }
    size_ = size;
    return memory_.get();
  }
  // Memory for `size` bytes, as resize() gives it, from an address on that `alignment` divides.
  uint8_t* resize_aligned(size_t size, size_t alignment) {
    uint8_t* const memory = resize(size + alignment);
    return memory + (alignment - reinterpret_cast<uintptr_t>(memory) % alignment) % alignment;
  }
  uint8_t* data() { return memory_.get(); }
  const uint8_t* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  std::span<const uint8_t> bytes() const { return {memory_.get(), size_}; }
  // Gives back memory above `capacity_max`, so that one huge sample does not stay for ever.
  void shrink(size_t capacity_max) {
    if (capacity_ > capacity_max) {
      memory_.reset();
      capacity_ = size_ = 0;
    }
  }

 private:
  std::unique_ptr<uint8_t[]> memory_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace spdld
