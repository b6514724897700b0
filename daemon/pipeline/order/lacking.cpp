#include "daemon/pipeline/order/lacking.h"

#include <algorithm>
#include <iterator>

#include "daemon/source/lists/list_file.h"
#include "daemon/source/parts.h"

namespace spdld::pipeline {
namespace {

constexpr uint64_t kLookMask = 0xffff;  // so often a stop is looked for

}  // namespace

std::vector<uint64_t> find_lacking(const source::Listing& listing, std::span<const FieldUse> fields,
                                   const sampler::Subset& subset, uint64_t first_id, source::Remarks& remarks,
                                   const std::stop_token& stop) {
  std::vector<uint64_t> lacking;
  std::vector<FieldUse> doubtful;
  std::copy_if(fields.begin(), fields.end(), std::back_inserter(doubtful),
               [&](const FieldUse& use) { return subset.size() > 0 && listing.may_lack(first_id, use.field); });
  if (doubtful.empty()) return lacking;
  const auto look = [&](uint64_t id) {
    if ((id & kLookMask) == 0) source::check_stop(stop);
    const auto lacked = std::find_if(doubtful.begin(), doubtful.end(),
                                     [&](const FieldUse& use) { return listing.lacks(first_id + id, use.field); });
    if (lacked == doubtful.end()) return;
    lacking.push_back(id);
    remarks.add_missing("the sample " + source::shown(listing.name(first_id + id)) + " has no \"" +
                        listing.fields()[lacked->field].name + "\", which an output is made from.");
  };
  const auto ranges = subset.ranges();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint64_t end = i + 1 < ranges.size() ? ranges[i + 1].before : subset.size();
    for (uint64_t number = 0; number < end - ranges[i].before; ++number) look(ranges[i].first + number);
  }
  return lacking;
}

}  // namespace spdld::pipeline
