#include "daemon/cache/memory/memory_tier.h"

#include <algorithm>

#include "daemon/cache/memory/memory_shelf.h"

namespace spdld::cache {
namespace {

// Several shelves fill at the same time, each its own segment: where the limit is small, segments are too.
uint64_t choose_segment_bytes(uint64_t bytes_max) {
  constexpr uint64_t kLeast = 64u << 10;
  return std::clamp(bytes_max / 16 / kLeast * kLeast, kLeast, MemoryTier::kSegmentBytes);
}

}  // namespace

MemoryTier::MemoryTier(uint64_t bytes_max) : segment_bytes_(choose_segment_bytes(bytes_max)), limit_(bytes_max) {}

Mapping MemoryTier::take_segment(uint64_t wanted, uint64_t least) {
  while (true) {  // ends: each turn frees one segment or one shelf
    const auto same = std::find_if(spares_.begin(), spares_.end(), [&](auto& s) { return s.bytes() == wanted; });
    if (same != spares_.end()) {
      Mapping segment = std::move(*same);
      spares_.erase(same);
      spare_bytes_ -= segment.bytes();
      return segment;
    }
    uint64_t bytes = wanted;
    bool taken = limit_.take(bytes);
    if (!taken) {
      if (free_something()) continue;
      bytes = limit_.free() / Mapping::kPageBytes * Mapping::kPageBytes;
      taken = bytes >= least && limit_.take(bytes);
    }
    if (!taken) return {};
    Mapping segment(bytes);
    if (!segment) limit_.give(bytes);
    return segment;
  }
}

bool MemoryTier::take(uint64_t bytes) {
  while (!limit_.take(bytes)) {
    if (!free_something()) return false;
  }
  return true;
}

bool MemoryTier::free_something() {
  if (!spares_.empty()) {
    const uint64_t bytes = spares_.back().bytes();
    spares_.pop_back();  // unmapped before it counts as free
    spare_bytes_ -= bytes;
    limit_.give(bytes);
    return true;
  }
  if (unused_.empty()) return false;
  MemoryShelf& shelf = *unused_.front();
  remove_unused(shelf, shelf.held_bytes());
  shelf.empty();
  evicted_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void MemoryTier::give_back(Mapping segment) {
  spare_bytes_ += segment.bytes();
  spares_.push_back(std::move(segment));
}

void MemoryTier::add_unused(MemoryShelf& shelf, uint64_t bytes) {
  unused_.push_back(&shelf);
  unused_bytes_ += bytes;
}

void MemoryTier::remove_unused(MemoryShelf& shelf, uint64_t bytes) {
  if (std::erase(unused_, &shelf) != 0) unused_bytes_ -= bytes;
}

}  // namespace spdld::cache
