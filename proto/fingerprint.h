// Says in words in which parts two fingerprints of runs differ (PROTOCOL.md, "Fingerprints"). Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace spdld::proto {

struct FingerprintDifference {
  std::string parts;  // "the data set's listing and the pipeline's spec"; empty: they are the same
  size_t count = 0;   // of the parts named
  // Whether they are all of the data: the listing with the samples that are taken, files beside the data set, weights.
  bool is_of_data = false;

  const char* verb() const { return count == 1 ? "differs" : "differ"; }
  std::string clause() const { return count ? parts + " " + verb() : "nothing differs"; }
};

// None: one text does not have the form of a fingerprint.
std::optional<FingerprintDifference> fingerprint_difference(std::string_view mine, std::string_view other);

// Whether the two are the same, but for the division of an epoch's last two steps, where steps come in turn. Then every
// step of an epoch but its last one begins at the same sample in both runs.
bool differ_in_last_step_alone(std::string_view mine, std::string_view other);

}  // namespace spdld::proto
