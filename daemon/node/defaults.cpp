#include "daemon/node/defaults.h"

#include <algorithm>

#include "config/state_folder.h"

namespace spdld::node {
namespace {

constexpr uint64_t kInFlightMin = 256ull << 20, kInFlightMax = 16ull << 30;  // of the node, where it is "auto"
constexpr uint64_t kListingMin = 256ull << 20;                               // the same

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

std::filesystem::path state_folder(const config::DaemonSettings& settings) {
  if (!settings.state_kept) return {};
  return settings.state_folder.empty() ? config::default_state_folder() : settings.state_folder;
}

}  // namespace spdld::node
