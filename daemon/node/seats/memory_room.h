// Whether new slot memory fits below the limits of memory that hold for the daemon. Slots get their pages when they are
// filled: what goes beyond a limit would get the daemon killed long after the trainer attached. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/system/memory_limit.h"

namespace spdld::node {

// A part of each limit that is left for reading, listing and the daemon itself.
inline constexpr uint64_t kMemoryPartKept = 16;
// The part of each limit that the cache counts for while it is not full.
inline constexpr uint64_t kMemoryPartOfCache = 4;
// The part of each limit that memory counts for that may still be lent to samples.
inline constexpr uint64_t kMemoryPartOfDecoding = 8;

struct MemoryClaims {
  uint64_t wanted_bytes = 0;    // of the new ring
  uint64_t promised_bytes = 0;  // of other rings, where nothing was written yet
  uint64_t cache_bytes = 0;     // that the cache may still grow by
  uint64_t decode_bytes = 0;    // that may still be lent to samples
  uint64_t spare_bytes = 0;     // in memory that can be given up at once
};

struct MemoryRoom {
  uint64_t spare_bytes_max = 0;  // how much of the spare memory may stay
  std::string refusal;           // for the user; empty: there is room
};

MemoryRoom memory_room(std::span<const MemoryLimit> limits, const MemoryClaims& claims);

}  // namespace spdld::node
