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

  const char* verb() const { return count == 1 ? "differs" : "differ"; }
  std::string clause() const { return count ? parts + " " + verb() : "nothing differs"; }
};

// None: one text does not have the form of a fingerprint.
std::optional<FingerprintDifference> fingerprint_difference(std::string_view mine, std::string_view other);

}  // namespace spdld::proto
