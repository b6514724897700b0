// Values that the settings leave to the daemon: the memory that its cache may take, and the folder for files that
// should outlive it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "config/daemon_settings.h"

namespace spdld::node {

// cache.ram_bytes_max, or a quarter of the usable memory (daemon/base/system/memory_limit.h).
uint64_t cache_bytes_max(const config::DaemonSettings& settings, uint64_t usable_bytes);

// limits.inflight_bytes_max and its kin; what is "auto" follows the usable memory. A pipeline and a user never have
// more than the node.
struct InFlightMax {
  uint64_t node_bytes = 0, pipeline_bytes = 0, user_bytes = 0;
};
InFlightMax in_flight_max(const config::DaemonSettings& settings, uint64_t usable_bytes);

// limits.listing_bytes_max and limits.listing_bytes_per_user_max, in the same way.
struct ListingMax {
  uint64_t node_bytes = 0, user_bytes = 0;
};
ListingMax listing_max(const config::DaemonSettings& settings, uint64_t usable_bytes);

// The most that batches, the cache, samples in flight and listings take together.
uint64_t held_bytes_max(const config::DaemonSettings& settings, uint64_t usable_bytes);

// limits.decode_bytes_max and its kin. Each thread that decodes has some of this memory of its own, once for the sample
// that it works on and once for what it keeps between samples; the rest is lent to samples that need more.
struct DecodeMemory {
  uint64_t bytes_max = 0;         // in all
  uint64_t bytes_per_thread = 0;  // its own
  unsigned threads = 0;           // also those where a sample gives way to others
};
DecodeMemory decode_memory(const config::DaemonSettings& settings, uint64_t usable_bytes, unsigned threads);
// The bounds of what is lent. A pipeline and a user never have more than the node. Threads have what they were given
// when the daemon started, whatever the settings say now.
struct LentMax {
  uint64_t node_bytes = 0, pipeline_bytes = 0, user_bytes = 0;
};
LentMax lent_max(const config::DaemonSettings& settings, uint64_t usable_bytes, const DecodeMemory& of_threads);

// state.folder; else config::default_state_folder(). Empty: nothing is kept, because the settings say so or because
// there is no such place.
std::filesystem::path state_folder(const config::DaemonSettings& settings);

}  // namespace spdld::node
