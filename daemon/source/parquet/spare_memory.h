// Memory of columns that have left, for columns that come: fresh pages, which the system must map and clear, cost about
// as much as a copy of their bytes. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "daemon/base/raw_bytes.h"

namespace spdld::source::parquet {

class SpareMemory {
 public:
  // Empty, with room for `bytes` at least; the smallest that there is, unless all are far too large. Else with no room.
  RawBytes take(uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    auto best = spares_.end();
    for (auto at = spares_.begin(); at != spares_.end(); ++at)
      if (at->capacity() >= bytes && at->capacity() - bytes <= bytes / kSlack &&
          (best == spares_.end() || at->capacity() < best->capacity()))
        best = at;
    if (best == spares_.end()) return {};
    RawBytes memory = std::move(*best);
    spares_.erase(best);
    bytes_ -= memory.capacity();
    memory.clear();
    return memory;
  }

  void give(RawBytes memory) {
    if (memory.capacity() < kBytesMin) return;
    const std::scoped_lock lock(mutex_);
    bytes_ += memory.capacity();
    spares_.push_back(std::move(memory));
    if (spares_.size() > kCountMax) drop_oldest();
  }

  // Gives back what is more than that.
  void shrink(uint64_t bytes_max) {
    const std::scoped_lock lock(mutex_);
    while (bytes_ > bytes_max) drop_oldest();
  }

 private:
  static constexpr uint64_t kBytesMin = 256 << 10;  // the C library keeps smaller ones
  static constexpr size_t kCountMax = 16;
  static constexpr uint64_t kSlack = 4;  // of the bytes that are asked for, so much may be too much

  void drop_oldest() {
    bytes_ -= spares_.front().capacity();
    spares_.erase(spares_.begin());
  }

  std::mutex mutex_;
  std::vector<RawBytes> spares_;  // under the mutex, as the following; the oldest first
  uint64_t bytes_ = 0;
};

}  // namespace spdld::source::parquet
