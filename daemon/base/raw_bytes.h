// Bytes in one piece of memory that is never zeroed, for bytes that are written before they are read. Unlike a
// ByteBuffer it keeps its bytes when it grows: by realloc(), which moves large memory without a copy. Owned by one
// thread at a time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace spdld {

class RawBytes {
 public:
  RawBytes() = default;
  RawBytes(RawBytes&& other) noexcept
      : memory_(std::move(other.memory_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  RawBytes& operator=(RawBytes&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  uint8_t* data() { return memory_.get(); }
  const uint8_t* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  std::span<const uint8_t> bytes() const { return {memory_.get(), size_}; }
  std::span<uint8_t> bytes() { return {memory_.get(), size_}; }

  void clear() { size_ = 0; }
  // The following throw std::bad_alloc, and then change nothing.
  void reserve(size_t capacity) {
    if (capacity > capacity_) set_capacity(capacity);
  }
  // New bytes are undefined.
  void resize(size_t size) {
    if (size > capacity_) set_capacity(size);
    size_ = size;
  }
  void append(const void* from, size_t size) {
    if (size > capacity_ - size_) grow(size);
    if (size != 0) std::memcpy(memory_.get() + size_, from, size);
    size_ += size;
  }
  void shrink_to_fit() {
    if (size_ == 0)
      *this = {};
    else if (size_ < capacity_)
      set_capacity(size_);
  }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  void grow(size_t more) {
    if (more > SIZE_MAX / 2 - size_) throw std::bad_alloc();
    set_capacity(size_ + more + capacity_ / 2);
  }
  void set_capacity(size_t capacity) {
    void* memory = nullptr;
    while ((memory = std::realloc(memory_.get(), capacity)) == nullptr) {  // as operator new does it
      const std::new_handler handler = std::get_new_handler();
      if (handler == nullptr) throw std::bad_alloc();
      handler();
    }
    static_cast<void>(memory_.release());
    memory_.reset(static_cast<uint8_t*>(memory));
    capacity_ = capacity;
  }

  std::unique_ptr<uint8_t, Free> memory_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace spdld
