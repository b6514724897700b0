#include "daemon/pipeline/order/by_shape.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/text/field_path.h"
#include "daemon/base/result.h"
#include "daemon/rows/length_index.h"

namespace spdld::pipeline {

Sorted order_by_shape(const config::PipelineSpec& spec, const config::BatchShapes& shapes,
                      const source::Listing& listing, sampler::Subset subset, const std::filesystem::path& kept,
                      const std::stop_token& stop) {
  source::FieldId field = 0;
  const source::Field* const found = listing.find_field(config::parse_field_path(shapes.from).field(), &field);
  if (found == nullptr || found->kind != source::FieldKind::kFetched)
    throw SetupError(Trouble::kUsage, std::string(config::bucketing_operation()) + ": the samples have no field '" +
                                          shapes.from +
                                          "' whose pictures could be measured: name the field of a file.");
  if (subset.size() == 0)
    throw SetupError(Trouble::kUsage, "the source lists no sample, so there is nothing to hand out.");
  if (subset.size() > sampler::kBucketedRowsMax)
    throw SetupError(Trouble::kLimit, std::string(config::bucketing_operation()) + ": there are " +
                                          std::to_string(subset.size()) + " samples, more than the limit of " +
                                          std::to_string(sampler::kBucketedRowsMax) +
                                          ": take fewer, with order.first.");
  const auto measure = shapes.is_upright ? rows::Measure::kUprightPicture : rows::Measure::kPicture;
  const auto index = make_length_index(listing, field, measure, {}, stop, kept);
  std::vector<uint32_t> chosen(subset.size());
  std::vector<uint64_t> counts(shapes.sizes.size()), unmeasured;
  for (uint64_t number = 0; number < subset.size(); ++number) {
    const uint64_t id = subset[number];
    const config::PictureSize picture{static_cast<int64_t>(index->height(id)), static_cast<int64_t>(index->width(id))};
    if (picture.height == 0 || picture.width == 0) {
      unmeasured.push_back(number);
      continue;
    }
    chosen[number] = static_cast<uint32_t>(config::closest_size(picture, shapes.sizes));
    ++counts[chosen[number]];
  }
  const auto most = static_cast<uint32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  for (const uint64_t number : unmeasured) chosen[number] = most;
  return {{{spec.order.shuffle, spec.seed, 0}, std::move(subset), std::make_shared<const sampler::Buckets>(chosen)},
          index->fingerprint()};
}

}  // namespace spdld::pipeline
