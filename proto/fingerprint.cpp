#include "proto/fingerprint.h"

#include <algorithm>
#include <array>

namespace spdld::proto {
namespace {

constexpr std::array<const char*, 5> kParts = {"the version of the order", "the data set's listing",
                                               "the pipeline's spec", "the global batch size",
                                               "the weighting of the samples"};
constexpr ptrdiff_t kAlways = 4;  // the last part is there where samples are weighted
using Parts = std::array<std::string_view, kParts.size()>;

std::optional<Parts> split(std::string_view text) {
  const ptrdiff_t count = std::count(text.begin(), text.end(), '-') + 1;
  if (count < kAlways || count > static_cast<ptrdiff_t>(kParts.size())) return std::nullopt;
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
  std::string last;  // of the parts named, which stands behind an "and"
  for (size_t i = 0; i < kParts.size(); ++i) {
    if ((*a)[i] == (*b)[i]) continue;
    if (difference.count++ > 0) difference.parts += (difference.parts.empty() ? "" : ", ") + last;
    last = kParts[i];
  }
  difference.parts += (difference.parts.empty() ? "" : " and ") + last;
  return difference;
}

}  // namespace spdld::proto
