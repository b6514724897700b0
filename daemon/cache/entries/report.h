// The report of the cache: each tier fills in its part. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/cache/entries/entry.h"

namespace spdld::cache {

struct ShelfReport {
  ShelfKey key;
  uint64_t samples = 0;                                 // of the data set
  uint64_t memory_entries = 0, memory_bytes = 0;        // bytes of entries, without free parts of segments
  uint64_t memory_wasted = 0;                           // bytes of dropped entries, and of rooms that were not kept
  uint64_t memory_left = 0;                             // bytes left in the segment where its next entry goes
  uint64_t disk_entries = 0, disk_bytes = 0;            // not opened since the start: by its index's size
  uint64_t memory_hits = 0, disk_hits = 0, misses = 0;  // results of find() since the daemon started
  uint64_t stale = 0;                                   // entries whose file had changed
  uint64_t refused = 0;                                 // entries that found room neither in memory nor then on disk
  bool in_use = false;
};

struct Report {
  uint64_t ram_bytes = 0, ram_bytes_max = 0;    // in segments
  uint64_t disk_bytes = 0, disk_bytes_max = 0;  // in files, with the file system's overhead
  std::string folder, disk_trouble;  // why the disk is not used (any more); empty: it is used, or not asked for
  uint64_t damaged = 0;              // entries on disk that failed their checksum
  uint64_t evicted = 0;              // unused shelves that made room, in memory and on disk
  std::vector<ShelfReport> shelves;
};

}  // namespace spdld::cache
