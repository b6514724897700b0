#include "daemon/pipeline/order/choice.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/pipeline/order/by_shape.h"
#include "daemon/pipeline/order/costs.h"
#include "daemon/pipeline/order/lacking.h"
#include "daemon/pipeline/order/part_choice.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/lists/list_file.h"
#include "daemon/source/lists/sample_list.h"
#include "daemon/source/lists/weight_list.h"
#include "daemon/source/parts.h"

namespace spdld::pipeline {
namespace {

using sampler::Mix;
using sampler::Subset;

// The ids of a subset's samples that can't be used.
using FindUnusable = std::function<Subset::Ids(const Subset&)>;

// The ids in a list. A list names records; each of its rows is meant.
Subset::Ids read_ids(const std::string& path, const std::string& key, const source::Listing& listing,
                     source::Stamps& lists, const std::stop_token& stop) {
  const source::Listing* const records = listing.records();
  if (records == nullptr) return source::read_sample_list(path, key, listing, lists, stop);
  Subset::Ids rows;
  for (const uint64_t record : source::read_sample_list(path, key, *records, lists, stop))
    for (uint64_t row = listing.first_row(record); row < listing.first_row(record + 1); ++row) rows.push_back(row);
  return rows;
}

// For sentences: where a list was written, with its path where it has one.
std::string named(const std::string& key, const std::string& list) {
  return config::is_list_path(list) ? key + ": " + list : key;
}

// Adds the samples that the condition of their source does not take.
void add_untaken(const source::Listing& listing, Subset::Ids& exclude, const std::stop_token& stop) {
  if (listing.untaken_count() == 0) return;
  exclude.reserve(exclude.size() + listing.untaken_count());
  source::for_each_id(listing, stop, [&](uint64_t id) {
    if (listing.is_untaken(id)) exclude.push_back(id);
  });
}

// `key`: where the selection was written.
Subset choose_of(const std::string& key, const config::Selection& wanted, const source::Listing& listing,
                 source::Stamps& lists, const FindUnusable& find_unusable, const std::stop_token& stop) {
  const std::string include_key = key + ".include", exclude_key = key + ".exclude";
  std::optional<Subset::Ids> include;
  Subset::Ids exclude;
  if (!wanted.include.empty()) include = read_ids(wanted.include, include_key, listing, lists, stop);
  if (!wanted.exclude.empty()) exclude = read_ids(wanted.exclude, exclude_key, listing, lists, stop);
  add_untaken(listing, exclude, stop);
  if (wanted.part.is_on()) {
    const Subset::Ids outside = outside_of(wanted.part, key + ".part", listing, lists, stop);
    exclude.insert(exclude.end(), outside.begin(), outside.end());
  }
  Subset subset(listing.size(), include, exclude, wanted.first);
  if (include && include->empty())
    throw SetupError(Trouble::kUsage,
                     named(include_key, wanted.include) + " is empty: it must name at least one sample.");
  if (subset.size() == 0 && listing.untaken_count() > 0)
    throw SetupError(Trouble::kUsage, key + ": the source's where takes none of the samples that are chosen here.");
  if (subset.size() == 0 && wanted.part.is_on())
    throw SetupError(Trouble::kUsage,
                     key +
                         ".part leaves none of the samples: they are drawn one by one, or group by group, so that a "
                         "part of few of them may be empty; take a larger part, or another seed.");
  if (subset.size() == 0)
    throw SetupError(Trouble::kUsage, named(exclude_key, wanted.exclude) +
                                          (include ? " leaves none of the samples that " + include_key + " names"
                                                   : " leaves no sample") +
                                          ": take some lines out of it.");
  // Where some are left out others take their place, up to `first` of them: these are looked at in turn.
  for (Subset::Ids unusable = find_unusable(subset); !unusable.empty(); unusable = find_unusable(subset)) {
    exclude.insert(exclude.end(), unusable.begin(), unusable.end());
    subset = Subset(listing.size(), include, exclude, wanted.first);
  }
  if (subset.size() == 0)
    throw SetupError(Trouble::kContent,
                     key + ": every sample that is taken lacks a field that an output is made from.");
  return subset;
}

// 32 hexadecimal digits: the listing's where all is taken, else of it and of the ids.
std::string fingerprint_of(const source::Listing& listing, const std::vector<Mix::Source>& sources) {
  bool whole = true;
  for (const auto& source : sources) whole &= source.order.subset().is_whole();
  if (whole) return listing.fingerprint();
  source::Fingerprint fingerprint;
  fingerprint.add_text(listing.fingerprint());
  for (const auto& source : sources) {
    for (const auto& range : source.order.subset().ranges()) {
      fingerprint.add_number(source.first_id + range.first);
      fingerprint.add_number(range.before);
    }
    fingerprint.add_number(source.order.subset().size());
  }
  return fingerprint.digits();
}

std::vector<uint64_t> shares_of(const config::PipelineSpec& spec, const std::vector<Mix::Source>& sources) {
  if (!spec.is_mix()) return {1};
  std::vector<double> weights;
  std::vector<uint64_t> samples;
  for (const auto& source : spec.sources) weights.push_back(source.weight);
  for (const auto& source : sources) samples.push_back(source.order.size());
  const bool weighted = weights.front() > 0;  // then all are
  return weighted ? sampler::shares_of(spec.order.mix, weights) : sampler::shares_of(spec.order.mix, samples);
}

Mix::Spread spread_of(const config::PipelineSpec& spec) {
  if (spec.order.shuffle != config::Shuffle::kOff) return Mix::Spread::kShuffled;
  return spec.sources.front().weight > 0 ? Mix::Spread::kEven : Mix::Spread::kBehind;
}

// Of weights that are given one by one, for people.
std::string origin_of(const config::OrderSpec& spec) {
  return spec.has_weights_file() ? spec.weights : "the column \"" + config::printable(spec.weights_column) + '"';
}

std::string count_of(uint64_t samples) { return std::to_string(samples) + (samples == 1 ? " sample" : " samples"); }

// Of each sample of the subset, as the file or the source's column says.
std::vector<double> given_weights(const config::OrderSpec& spec, const source::Listing& listing,
                                  const sampler::Subset& subset, source::Stamps& lists, const std::stop_token& stop) {
  // Records are weighed; each row has its record's weight.
  const source::Listing& records = listing.records() ? *listing.records() : listing;
  std::vector<double> by_id;
  if (spec.has_weights_file()) {
    by_id = source::read_sample_weights(spec.weights, spec.weights_column, "order.weights", records, lists, stop);
  } else {
    for (uint64_t id = 0; id < records.size(); ++id) by_id.push_back(records.weight(id));
  }
  std::vector<double> weights;
  weights.reserve(subset.size());
  uint64_t missing = 0, first_missing = 0;
  for (uint64_t number = 0; number < subset.size(); ++number) {
    const uint64_t id = listing.record_of(subset[number]);
    weights.push_back(by_id[id]);
    if (by_id[id] != source::kNoWeight) continue;
    weights.back() = spec.weights_default.value_or(0);
    if (missing++ == 0) first_missing = id;
  }
  if (missing != 0 && !spec.weights_default) {
    throw SetupError(Trouble::kUsage,
                     "order.weights: " + origin_of(spec) + " has no weight for " + count_of(missing) + " of " +
                         std::to_string(subset.size()) + ", the first of them " +
                         (spec.has_weights_file() ? "" : "row " + std::to_string(first_missing) + ", ") +
                         source::shown(records.name(first_missing)) + ": add them, or give order.weights_default.");
  }
  return weights;
}

// The weight of each sample of the subset; the weights of a class have the sum 1.
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
    throw SetupError(Trouble::kUsage, "order.weights: " + file + " gives no " + (subset.is_whole() ? "" : "selected ") +
                                          "sample a weight above 0.");
  }
  std::erase(weights, 0.0);
  subset = sampler::Subset(listed, ids, {}, 0);
}

sampler::Weighting weighting_of(const config::OrderSpec& spec, const source::Listing& listing, sampler::Subset& subset,
                                source::Stamps& lists, const std::stop_token& stop) {
  sampler::Weighting weighting;
  weighting.replacement = spec.replacement;
  weighting.weights = spec.weights == config::kWeightsByClass ? weights_of_classes(listing, subset)
                                                              : given_weights(spec, listing, subset, lists, stop);
  drop_unweighted(origin_of(spec), subset, listing.size(), weighting.weights);
  const uint64_t weighted = subset.size();
  weighting.epoch_samples = spec.epoch_samples == 0 ? weighted : spec.epoch_samples;
  if (weighted > sampler::kWeightedMax) {
    throw SetupError(Trouble::kLimit, "order.weights: " + count_of(weighted) +
                                          " have a weight, more than the limit of " +
                                          std::to_string(sampler::kWeightedMax) + ".");
  }
  if (!spec.replacement && weighting.epoch_samples > weighted) {
    throw SetupError(Trouble::kUsage, "order.epoch_samples is " + std::to_string(weighting.epoch_samples) + ", and " +
                                          count_of(weighted) + (weighted == 1 ? " has" : " have") +
                                          " a weight above 0: without replacement an epoch can have no more.");
  }
  return weighting;
}

std::string fingerprint_of(const std::string& samples, const std::string& measures) {
  source::Fingerprint fingerprint;
  fingerprint.add_text(samples);
  fingerprint.add_text(measures);
  return fingerprint.digits();
}

std::string fingerprint_of(const std::vector<double>& weights) {
  source::Fingerprint fingerprint;
  for (const double weight : weights) fingerprint.add_number(std::bit_cast<uint64_t>(weight));
  return fingerprint.digits();
}

// Archives that are unpacked from their beginning can't be read in any order.
void check_streaming(const config::PipelineSpec& spec, const source::Listing& listing) {
  const auto* const streaming = listing.streaming();
  if (streaming == nullptr || !streaming->goes_forward) return;
  const config::Shuffle shuffle = spec.order.shuffle;
  const bool is_in_order = shuffle == config::Shuffle::kWindow || shuffle == config::Shuffle::kOff;
  if (is_in_order && spec.order.weights.empty() && !spec.batch.cost && !config::batch_shapes_of(spec.outputs)) return;
  throw SetupError(Trouble::kUsage,
                   "some files of the source are compressed, so they are read from their beginning to their end: "
                   "write order.shuffle = \"window\" or \"off\", without order.weights, batch.cost and " +
                       std::string(config::bucketing_operation()) + ", or unpack them.");
}

// Says where the order makes blocks of archives (Listing::streaming) come more than once.
void note_streaming(const config::OrderSpec& order, const source::Listing& listing, source::Remarks& remarks) {
  const auto* const streaming = listing.streaming();
  if (streaming == nullptr || order.shuffle == config::Shuffle::kOff || order.shuffle == config::Shuffle::kClient)
    return;
  const uint64_t window =
      order.shuffle == config::Shuffle::kWindow ? std::min(order.window, listing.size()) : listing.size();
  const uint64_t bytes = streaming->bytes / std::max<uint64_t>(listing.size(), 1) * window;
  if (bytes <= streaming->bytes_max) return;
  const std::string sizes = "about " + std::to_string(bytes >> 20) + " MiB, and source.stream_bytes_max holds " +
                            std::to_string(streaming->bytes_max >> 20) + " MiB";
  if (order.shuffle == config::Shuffle::kWindow)
    return remarks.add("a window of " + std::to_string(window) + " samples is " + sizes +
                       ": blocks of archives are read again and again; write a smaller order.window, or more bytes.");
  remarks.add("the whole data set is shuffled, " + sizes +
              ": blocks of archives are read again and again; write shuffle = \"window\".");
}

}  // namespace

Choice choose(const config::PipelineSpec& spec, const source::Listing& listing, const std::stop_token& stop,
              std::span<const FieldUse> fetched, const std::filesystem::path& kept) {
  source::Stamps lists;
  source::Remarks all_lacking;
  std::vector<Mix::Source> sources;
  std::string weights_fingerprint, measures_fingerprint;
  const std::optional<config::BatchShapes> shapes = config::batch_shapes_of(spec.outputs);
  const auto add = [&](const std::string& key, const config::Selection& wanted, const source::Listing& part,
                       uint64_t first, uint64_t seed) {
    const config::SourceSpec& source = spec.sources.at(sources.size());
    check_streaming(spec, part);
    note_streaming(spec.order, part, all_lacking);
    const auto find_unusable = [&](const Subset& subset) {
      source::Remarks lacking;
      Subset::Ids ids = find_lacking(listing, fetched, subset, first, lacking, stop);
      source::check_missing(source, lacking.missing());
      all_lacking.add_all(lacking);
      return spec.order.shuffle == config::Shuffle::kClient ? Subset::Ids() : ids;
    };
    Subset subset = choose_of(key, wanted, part, lists, find_unusable, stop);
    if (spec.batch.cost || shapes) {
      Sorted sorted = shapes ? order_by_shape(spec, *shapes, part, std::move(subset), kept, stop)
                             : order_by_cost(spec, part, std::move(subset), kept, all_lacking, stop);
      measures_fingerprint = std::move(sorted.fingerprint);
      sources.push_back({std::move(sorted.order), first});
      return;
    }
    if (spec.order.weights.empty()) {
      sources.push_back({{{spec.order.shuffle, seed, spec.order.window, spec.order.repeats},
                          std::move(subset),
                          part.archive_starts()},
                         first});
      return;
    }
    sampler::Weighting weighting = weighting_of(spec.order, part, subset, lists, stop);
    weights_fingerprint = fingerprint_of(weighting.weights);
    sources.push_back({{seed, std::move(subset), std::move(weighting)}, first});
  };
  const auto parts = listing.parts();
  if (parts.empty()) add("order", spec.order, listing, 0, spec.seed);
  for (size_t i = 0; i < parts.size(); ++i) {
    const config::SourceSpec& source = spec.sources.at(i);
    add("sources[" + std::to_string(i) + "]", source, *parts[i].listing, parts[i].first,
        sampler::source_seed(spec.seed, source.name));
  }
  std::string fingerprint = fingerprint_of(listing, sources);
  if (!measures_fingerprint.empty()) fingerprint = fingerprint_of(fingerprint, measures_fingerprint);
  std::vector<uint64_t> shares = shares_of(spec, sources);
  const uint64_t epoch_samples = spec.order.weights.empty() ? spec.order.epoch_samples : 0;  // a weighted order's own
  Mix mix(spec.seed, std::move(sources), std::move(shares), spread_of(spec), epoch_samples);
  return {std::move(mix), std::move(lists), std::move(fingerprint), std::move(all_lacking),
          std::move(weights_fingerprint)};
}

}  // namespace spdld::pipeline
