// The state of one shelf, which all its holders share.
#pragma once

#include <atomic>
#include <cstdint>

#include "daemon/base/statistics.h"
#include "daemon/cache/cache.h"
#include "daemon/cache/disk/disk_tier.h"
#include "daemon/cache/memory/memory_shelf.h"

namespace spdld::cache {

// Told when a Shelf goes.
class ShelfOwner {
 public:
  virtual void close(ShelfState& shelf) = 0;

 protected:
  ~ShelfOwner() = default;
};

class ShelfState {
 public:
  ShelfState(ShelfOwner& its_owner, MemoryTier& memory_tier, DiskTier& its_disk_tier, ShelfKey its_key,
             uint64_t its_samples)
      : owner(its_owner),
        key(std::move(its_key)),
        samples(its_samples),
        memory(memory_tier, its_samples),
        disk_tier(its_disk_tier) {}

  ShelfOwner& owner;
  const ShelfKey key;
  const uint64_t samples;
  MemoryShelf memory;
  DiskTier& disk_tier;

  // Changed by the owner, one thread at a time. While there are holders, `disk` and `generation` are constant.
  std::atomic<uint32_t> holders{0};
  DiskShelf* disk = nullptr;            // nullptr: it has no disk
  std::atomic<uint32_t> generation{0};  // numbers the openings; from 1 on

  StripedCounter memory_hits;
  Counter disk_hits, misses, stale, refused;
};

// The report of `state`, without the disk's part.
ShelfReport memory_report(const ShelfState& state);

}  // namespace spdld::cache
