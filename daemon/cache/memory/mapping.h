// Anonymous memory from the system, on huge pages where it can be, and left out of core dumps. Any thread; not shared.
#pragma once

#include <cstdint>
#include <utility>

namespace spdld::cache {

class Mapping {
 public:
  static constexpr uint64_t kPageBytes = 4096;

  Mapping() = default;
  // `bytes`: a multiple of kPageBytes. Empty where the system has no memory.
  explicit Mapping(uint64_t bytes);
  Mapping(Mapping&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  uint8_t* memory() const { return memory_; }
  uint64_t bytes() const { return bytes_; }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  uint8_t* memory_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace spdld::cache
