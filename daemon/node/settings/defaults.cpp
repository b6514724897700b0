#include "daemon/node/settings/defaults.h"

#include <algorithm>

#include "config/text/state_folder.h"

namespace spdld::node {
namespace {

constexpr uint64_t kDecodeMin = 64ull << 20;  // of the node, where it is "auto"
constexpr uint64_t kOfThreadMin = 256ull << 10, kOfThreadMax = 32ull << 20;
constexpr uint64_t kInFlightMin = 256ull << 20, kInFlightMax = 16ull << 30;  // of the node, where it is "auto"
constexpr uint64_t kListingMin = 256ull << 20;                               // the same

// An eighth, as far as batches, the cache, listings and samples in flight leave so much, and a sixteenth for the daemon
// itself and for indexes. Settings may promise more than there is: decoding has half of its share all the same.
uint64_t decode_bytes(const config::DaemonSettings& settings, uint64_t usable_bytes) {
  if (settings.decode_bytes_max) return *settings.decode_bytes_max;
  const uint64_t share = usable_bytes / 8;
  const uint64_t taken = held_bytes_max(settings, usable_bytes) + usable_bytes / 16;
  const uint64_t left = usable_bytes - std::min(usable_bytes, taken);
  return std::max(std::min(share, std::max(left, share / 2)), kDecodeMin);
}

}  // namespace

uint64_t cache_bytes_max(const config::DaemonSettings& settings, uint64_t usable_bytes) {
  return settings.cache_ram_bytes_max.value_or(usable_bytes / 4);
}

InFlightMax in_flight_max(const config::DaemonSettings& settings, uint64_t usable_bytes) {
  InFlightMax max;
  max.node_bytes = settings.inflight_bytes_max.value_or(std::clamp(usable_bytes / 16, kInFlightMin, kInFlightMax));
  max.pipeline_bytes = std::min(settings.inflight_bytes_per_pipeline_max.value_or(max.node_bytes / 2), max.node_bytes);
  max.user_bytes = std::min(settings.inflight_bytes_per_user_max, max.node_bytes);
  return max;
}

ListingMax listing_max(const config::DaemonSettings& settings, uint64_t usable_bytes) {
  ListingMax max;
  max.node_bytes = settings.listing_bytes_max.value_or(std::max(usable_bytes / 8, kListingMin));
  max.user_bytes = std::min(settings.listing_bytes_per_user_max.value_or(max.node_bytes / 2), max.node_bytes);
  return max;
}

uint64_t held_bytes_max(const config::DaemonSettings& settings, uint64_t usable_bytes) {
  return settings.slot_bytes_max + settings.spare_slot_bytes_max + cache_bytes_max(settings, usable_bytes) +
         in_flight_max(settings, usable_bytes).node_bytes + listing_max(settings, usable_bytes).node_bytes;
}

DecodeMemory decode_memory(const config::DaemonSettings& settings, uint64_t usable_bytes, unsigned threads) {
  const uint64_t all = decode_bytes(settings, usable_bytes);
  return {all, std::clamp(all / (uint64_t{8} * std::max(threads, 1u)), kOfThreadMin, kOfThreadMax), threads};
}

LentMax lent_max(const config::DaemonSettings& settings, uint64_t usable_bytes, const DecodeMemory& of_threads) {
  const uint64_t all = decode_bytes(settings, usable_bytes);
  const uint64_t of_all_threads = 2 * of_threads.bytes_per_thread * of_threads.threads;
  LentMax max;
  max.node_bytes = all - std::min(all / 2, of_all_threads);
  const auto part = [&](const std::optional<uint64_t>& set) {
    return std::min(set.value_or(max.node_bytes / 2), max.node_bytes);
  };
  max.pipeline_bytes = part(settings.decode_bytes_per_pipeline_max);
  max.user_bytes = part(settings.decode_bytes_per_user_max);
  return max;
}

std::filesystem::path state_folder(const config::DaemonSettings& settings) {
  if (!settings.state_kept) return {};
  return settings.state_folder.empty() ? config::default_state_folder() : settings.state_folder;
}

}  // namespace spdld::node
