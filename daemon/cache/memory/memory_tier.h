// The memory that all shelves share, in segments. It decides which unused shelf gives its memory back.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "daemon/cache/entries/limit.h"
#include "daemon/cache/memory/mapping.h"

namespace spdld::cache {

class MemoryShelf;

// Any thread; some functions say that they need mutex() held.
class MemoryTier {
 public:
  // Memory is taken from the system in pieces of this size (a sixteenth of the limit where that is small); an entry
  // that is larger than an eighth of a piece gets a piece of its own.
  static constexpr uint64_t kSegmentBytes = 32u << 20;

  explicit MemoryTier(uint64_t bytes_max);
  MemoryTier(const MemoryTier&) = delete;
  MemoryTier& operator=(const MemoryTier&) = delete;

  std::mutex& mutex() { return mutex_; }
  const Limit& limit() const { return limit_; }
  uint64_t segment_bytes() const { return segment_bytes_; }
  // Bytes that are free, spare, or of shelves that nobody uses.
  uint64_t available_bytes() const {
    return limit_.free() + spare_bytes_.load(std::memory_order_relaxed) + unused_bytes_.load(std::memory_order_relaxed);
  }

  uint64_t evicted() const { return evicted_.load(std::memory_order_relaxed); }  // shelves that made room so far

  // The following need mutex() held.

  // A segment of `wanted` bytes, or where the limit leaves no more, of at least `least`. Shelves that nobody uses are
  // emptied for it. Empty: there is no room.
  Mapping take_segment(uint64_t wanted, uint64_t least);
  // Takes bytes that a shelf allocates elsewhere, in the same way.
  bool take(uint64_t bytes);
  void give(uint64_t bytes) { limit_.give(bytes); }
  void give_back(Mapping segment);
  // Called for a shelf that holds memory and is no longer used, and when it is used again or goes.
  void add_unused(MemoryShelf& shelf, uint64_t bytes);
  void remove_unused(MemoryShelf& shelf, uint64_t bytes);

 private:
  bool free_something();  // false: there is nothing more to free

  const uint64_t segment_bytes_;
  std::mutex mutex_;
  Limit limit_;
  std::vector<Mapping> spares_;       // of emptied shelves; the limit counts them until they go
  std::vector<MemoryShelf*> unused_;  // unused for longest first
  std::atomic<uint64_t> spare_bytes_{0}, unused_bytes_{0}, evicted_{0};
};

}  // namespace spdld::cache
