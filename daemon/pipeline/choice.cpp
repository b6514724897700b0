#include "daemon/pipeline/choice.h"

#include <bit>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/list_file.h"
#include "daemon/source/sample_list.h"
#include "daemon/source/weight_list.h"

namespace spdld::pipeline {
namespace {

std::string fingerprint_of(const source::Listing& listing, const sampler::Subset& subset) {
  if (subset.is_whole()) return listing.fingerprint();
  source::Fingerprint fingerprint;
  fingerprint.add_text(listing.fingerprint());
  for (const auto& run : subset.runs()) {
    fingerprint.add_number(run.first);
    fingerprint.add_number(run.before);
  }
  fingerprint.add_number(subset.size());
  return fingerprint.digits();
}

std::string count_of(uint64_t samples) { return std::to_string(samples) + (samples == 1 ? " sample" : " samples"); }

// Of each sample of the subset, as the file says.
std::vector<double> weights_of_file(const config::OrderSpec& spec, const source::Listing& listing,
                                    const sampler::Subset& subset, source::Stamps& lists, const std::stop_token& stop) {
  const auto by_id =
      source::read_sample_weights(spec.weights, spec.weights_column, "order.weights", listing, lists, stop);
  std::vector<double> weights;
  weights.reserve(subset.size());
  uint64_t missing = 0, first_missing = 0;
  for (uint64_t number = 0; number < subset.size(); ++number) {
    const uint64_t id = subset[number];
    weights.push_back(by_id[id]);
    if (by_id[id] != source::kNoWeight) continue;
    weights.back() = spec.weights_default.value_or(0);
    if (missing++ == 0) first_missing = id;
  }
  if (missing != 0 && !spec.weights_default) {
    throw SetupError(Trouble::kUsage, "order.weights: " + spec.weights + " has no weight for " + count_of(missing) +
                                          " of " + std::to_string(subset.size()) + ", the first of them " +
                                          source::shown(listing.name(first_missing)) +
                                          ": add them, or give order.weights_default.");
  }
  return weights;
}

// Of each sample of the subset, so that those of a class have the sum 1.
std::vector<double> weights_of_classes(const source::Listing& listing, const sampler::Subset& subset) {
  source::FieldId field = 0;
  const source::Field* const classes = listing.find_field("class", &field);
  if (classes == nullptr || classes->kind != source::FieldKind::kInteger) {
    throw SetupError(Trouble::kUsage,
                     "order.weights is \"class\", and this data set has no classes: give a file with a weight for each "
                     "sample (where a file is called class, \"./class\").");
  }
  std::unordered_map<int64_t, uint64_t> sizes;
  for (uint64_t number = 0; number < subset.size(); ++number) ++sizes[listing.integer(subset[number], field)];
  std::vector<double> weights;
  weights.reserve(subset.size());
  for (uint64_t number = 0; number < subset.size(); ++number)
    weights.push_back(1.0 / static_cast<double>(sizes[listing.integer(subset[number], field)]));
  return weights;
}

// Samples of weight 0 leave the subset.
void drop_unweighted(const std::string& file, sampler::Subset& subset, uint64_t listed, std::vector<double>& weights) {
  std::vector<uint64_t> ids;
  for (uint64_t number = 0; number < subset.size(); ++number)
    if (weights[number] > 0) ids.push_back(subset[number]);
  if (ids.size() == subset.size()) return;
  if (ids.empty()) {
    throw SetupError(Trouble::kUsage, "order.weights: " + file + " gives no sample a weight above 0" +
                                          (subset.is_whole() ? "" : ", of those that are taken") + ".");
  }
  std::erase(weights, 0.0);
  subset = sampler::Subset(listed, ids, {}, 0);
}

sampler::Weighting weighting_of(const config::OrderSpec& spec, const source::Listing& listing, sampler::Subset& subset,
                                source::Stamps& lists, const std::stop_token& stop) {
  sampler::Weighting weighting;
  weighting.replacement = spec.replacement;
  weighting.weights = spec.weights == config::kWeightsByClass ? weights_of_classes(listing, subset)
                                                              : weights_of_file(spec, listing, subset, lists, stop);
  drop_unweighted(spec.weights, subset, listing.size(), weighting.weights);
  const uint64_t weighted = subset.size();
  weighting.epoch_samples = spec.epoch_samples == 0 ? weighted : spec.epoch_samples;
  if (weighted > sampler::kWeightedMax) {
    throw SetupError(Trouble::kLimit, "order.weights: " + count_of(weighted) + " have a weight, and " +
                                          std::to_string(sampler::kWeightedMax) + " may.");
  }
  if (!spec.replacement && weighting.epoch_samples > weighted) {
    throw SetupError(Trouble::kUsage, "order.epoch_samples is " + std::to_string(weighting.epoch_samples) + ", and " +
                                          count_of(weighted) + (weighted == 1 ? " has" : " have") +
                                          " a weight above 0: without replacement an epoch can have no more.");
  }
  return weighting;
}

std::string fingerprint_of(const std::vector<double>& weights) {
  source::Fingerprint fingerprint;
  for (const double weight : weights) fingerprint.add_number(std::bit_cast<uint64_t>(weight));
  return fingerprint.digits();
}

}  // namespace

Choice choose(const config::OrderSpec& spec, const source::Listing& listing, const std::stop_token& stop) {
  source::Stamps lists;
  std::optional<sampler::Subset::Ids> include;
  sampler::Subset::Ids exclude;
  if (!spec.include.empty()) include = source::read_sample_list(spec.include, "order.include", listing, lists, stop);
  if (!spec.exclude.empty()) exclude = source::read_sample_list(spec.exclude, "order.exclude", listing, lists, stop);
  sampler::Subset subset(listing.size(), include, std::move(exclude), spec.first);
  if (include && include->empty())
    throw SetupError(Trouble::kUsage,
                     "order.include: " + spec.include + " is empty: it must name at least one sample.");
  if (subset.size() == 0)
    throw SetupError(Trouble::kUsage, "order.exclude: " + spec.exclude + " leaves no sample" +
                                          (include ? " of those that order.include names" : "") + ": take some out.");
  std::optional<sampler::Weighting> weighting;
  if (!spec.weights.empty()) weighting = weighting_of(spec, listing, subset, lists, stop);
  std::string weights_fingerprint = weighting ? fingerprint_of(weighting->weights) : "";
  std::string fingerprint = fingerprint_of(listing, subset);
  return {std::move(subset), std::move(lists), std::move(fingerprint), std::move(weighting),
          std::move(weights_fingerprint)};
}

}  // namespace spdld::pipeline
