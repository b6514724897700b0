#include "daemon/pipeline/order/costs.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/rows/length_index.h"
#include "daemon/source/lists/list_file.h"

namespace spdld::pipeline {
namespace {

std::unique_ptr<const rows::LengthIndex> measure(const config::CostSpec& cost, const source::Listing& listing,
                                                 const std::filesystem::path& kept, const std::stop_token& stop) {
  source::FieldId field = 0;
  const source::Field* const found = listing.find_field(cost.from, &field);
  if (found == nullptr || found->kind != source::FieldKind::kFetched)
    throw SetupError(Trouble::kUsage, "batch.cost_from: the samples have no field '" + cost.from +
                                          "' whose bytes or pixels could be measured: name the field of a file.");
  const bool is_pixels = cost.cost == config::Cost::kPixels;
  return make_length_index(listing, field, is_pixels ? rows::Measure::kPicture : rows::Measure::kBytes, {}, stop, kept);
}

// The samples that cost more than a batch may.
struct Over {
  uint64_t count = 0, costliest = 0, cost = 0;  // the costliest's id

  void add(uint64_t id, uint64_t of) {
    ++count;
    if (of > cost) {
      costliest = id;
      cost = of;
    }
  }
  std::string text(const config::CostSpec& spec, const source::Listing& listing) const {
    return (count == 1 ? "1 sample costs" : std::to_string(count) + " samples cost") + " more than the " +
           std::to_string(spec.cost_max) + (spec.cost == config::Cost::kPixels ? " pixels" : " bytes") +
           " that batch.cost_max allows a batch; the costliest is " + source::shown(listing.name(costliest)) +
           " with " + std::to_string(cost);
  }
};

}  // namespace

Sorted order_by_cost(const config::PipelineSpec& spec, const source::Listing& listing, sampler::Subset subset,
                     const std::filesystem::path& kept, source::Remarks& remarks, const std::stop_token& stop) {
  const config::CostSpec& wanted = *spec.batch.cost;
  if (subset.size() > sampler::kBucketedRowsMax)
    throw SetupError(Trouble::kLimit, "batch.cost_max: there are " + std::to_string(subset.size()) +
                                          " samples, more than the limit of " +
                                          std::to_string(sampler::kBucketedRowsMax) +
                                          ": take fewer, with order.first.");
  const auto index = measure(wanted, listing, kept, stop);
  std::vector<uint64_t> costs;
  sampler::Subset::Ids fitting;
  Over over;
  std::vector<size_t> unmeasured;
  uint64_t costliest = 0;
  for (uint64_t number = 0; number < subset.size(); ++number) {
    const uint64_t id = subset[number], cost = (*index)[id];
    if (cost > wanted.cost_max) {
      over.add(id, cost);
      continue;
    }
    if (cost == 0 && wanted.cost == config::Cost::kPixels) unmeasured.push_back(costs.size());
    costliest = std::max(costliest, cost);
    costs.push_back(cost);
    fitting.push_back(id);
  }
  if (over.count > 0 && wanted.over == config::CostOver::kRefuse)
    throw SetupError(Trouble::kContent,
                     over.text(wanted, listing) + ": make cost_max larger, or write cost_over = \"leave-out\".");
  if (costs.empty())
    throw SetupError(Trouble::kContent, over.text(wanted, listing) + ", and no sample is left: make cost_max larger.");
  if (over.count > 0) {
    remarks.add(over.text(wanted, listing) + ": left out, as batch.cost_over says.");
    subset = sampler::Subset(listing.size(), fitting, {}, 0);
  }
  // A picture that can't be measured is most likely bad. Among the costliest, it has any sample as its substitute.
  for (const size_t number : unmeasured) costs[number] = costliest;
  const sampler::BucketRule rule{wanted.cost_max, wanted.size_max, std::max<uint64_t>(wanted.buckets, 1), wanted.edges};
  return {
      {{spec.order.shuffle, spec.seed, 0}, std::move(subset), std::make_shared<const sampler::Buckets>(costs, rule)},
      index->fingerprint()};
}

}  // namespace spdld::pipeline
