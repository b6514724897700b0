#include "proto/fingerprint.h"

#include <algorithm>
#include <array>

namespace spdld::proto {
namespace {

constexpr std::array<const char*, 4> kParts = {"the version of the order", "the data set's listing",
                                               "the pipeline's spec", "the global batch size"};
using Parts = std::array<std::string_view, kParts.size()>;

std::optional<Parts> split(std::string_view text) {
  if (std::count(text.begin(), text.end(), '-') != static_cast<ptrdiff_t>(kParts.size()) - 1) return std::nullopt;
  Parts parts;
  for (auto& part : parts) {
    const size_t end = std::min(text.find('-'), text.size());
    part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::optional<FingerprintDifference> fingerprint_difference(std::string_view mine, std::string_view other) {
  const auto a = split(mine), b = split(other);
  if (!a || !b) return std::nullopt;
  FingerprintDifference difference;
  for (size_t i = 0; i < kParts.size(); ++i) {
    if ((*a)[i] == (*b)[i]) continue;
    difference.parts += (difference.count++ ? " and " : "") + std::string(kParts[i]);
  }
  return difference;
}

}  // namespace spdld::proto
