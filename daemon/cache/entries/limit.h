// A limit on bytes: users take bytes before they use them and give them back afterwards, never more than a maximum. Any
// thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace spdld::cache {

class Limit {
 public:
  explicit Limit(uint64_t max) : max_(max) {}

  bool take(uint64_t bytes) {
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > max_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t max() const { return max_; }
  uint64_t free() const { return max_ - used(); }

 private:
  const uint64_t max_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace spdld::cache
