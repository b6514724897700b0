#include "proto/fingerprint.h"

#include <algorithm>
#include <array>

namespace spdld::proto {
namespace {

constexpr std::array<const char*, 8> kParts = {"the version of the order",
                                               "the code that makes the samples",
                                               "the data set's listing",
                                               "a file beside the data set",
                                               "the pipeline's spec",
                                               "the global batch size",
                                               "the division of an epoch's last steps among the ranks",
                                               "the weighting of the samples"};
constexpr size_t kCode = 1, kListing = 2, kSideFiles = 3, kSpec = 4, kGlobalSize = 5, kDivision = 6, kWeighting = 7;
constexpr std::string_view kEvened = "2";  // the last two steps of an epoch, whose steps come in turn
// As the text has them between dashes: the order and the code are one part, and so are the listing and the files beside
// the data set, and the batch size and its division. The last one is there where samples are weighted.
constexpr ptrdiff_t kDashedMost = 5, kDashedLeast = 4;
using Parts = std::array<std::string_view, kParts.size()>;

// Takes off the text before the first `mark`, and the mark; all of the text where there is no mark.
std::string_view take(std::string_view& text, char mark) {
  const size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// A part that is not there is empty: files beside the data set, a division that is the usual one, and the weighting.
std::optional<Parts> split(std::string_view text) {
  const ptrdiff_t count = std::count(text.begin(), text.end(), '-') + 1;
  if (count < kDashedLeast || count > kDashedMost) return std::nullopt;
  Parts parts;
  std::string_view first = take(text, '-');
  parts[0] = take(first, '.');
  parts[kCode] = first;
  std::string_view data = take(text, '-');
  parts[kListing] = take(data, '_');
  parts[kSideFiles] = data;
  parts[kSpec] = take(text, '-');
  std::string_view batch = take(text, '-');
  parts[kGlobalSize] = take(batch, '.');
  parts[kDivision] = batch;
  parts[kWeighting] = text;
  return parts;
}

}  // namespace

std::optional<FingerprintDifference> fingerprint_difference(std::string_view mine, std::string_view other) {
  const auto a = split(mine), b = split(other);
  if (!a || !b) return std::nullopt;
  FingerprintDifference difference;
  difference.is_of_data = true;
  std::string last;  // of the parts named, which stands behind an "and"
  for (size_t i = 0; i < kParts.size(); ++i) {
    if ((*a)[i] == (*b)[i]) continue;
    if (difference.count++ > 0) difference.parts += (difference.parts.empty() ? "" : ", ") + last;
    last = kParts[i];
    difference.is_of_data &= i == kListing || i == kSideFiles || i == kWeighting;
  }
  difference.is_of_data &= difference.count > 0;
  difference.parts += (difference.parts.empty() ? "" : " and ") + last;
  return difference;
}

bool differ_in_last_step_alone(std::string_view mine, std::string_view other) {
  auto a = split(mine), b = split(other);
  if (!a || !b || *a == *b) return false;
  for (auto* parts : {&*a, &*b})
    if ((*parts)[kDivision] == kEvened) (*parts)[kDivision] = {};
  return *a == *b;
}

}  // namespace spdld::proto
