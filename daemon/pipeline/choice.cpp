#include "daemon/pipeline/choice.h"

#include <optional>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/sample_list.h"

namespace spdld::pipeline {
namespace {

using sampler::Mix;
using sampler::Subset;

// What is taken of one source, and under which key that was written.
struct Wanted {
  std::string key;
  const std::string& include;
  const std::string& exclude;
  uint64_t first;
};

Subset choose_of(const Wanted& wanted, const source::Listing& listing, source::Stamps& lists,
                 const std::stop_token& stop) {
  const std::string include_key = wanted.key + ".include", exclude_key = wanted.key + ".exclude";
  std::optional<Subset::Ids> include;
  Subset::Ids exclude;
  if (!wanted.include.empty()) include = source::read_sample_list(wanted.include, include_key, listing, lists, stop);
  if (!wanted.exclude.empty()) exclude = source::read_sample_list(wanted.exclude, exclude_key, listing, lists, stop);
  Subset subset(listing.size(), include, std::move(exclude), wanted.first);
  if (include && include->empty())
    throw SetupError(Trouble::kUsage,
                     include_key + ": " + wanted.include + " is empty: it must name at least one sample.");
  if (subset.size() == 0)
    throw SetupError(Trouble::kUsage, exclude_key + ": " + wanted.exclude + " leaves no sample" +
                                          (include ? " of those that " + include_key + " names" : "") +
                                          ": take some out.");
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
    for (const auto& run : source.order.subset().runs()) {
      fingerprint.add_number(source.first_id + run.first);
      fingerprint.add_number(run.before);
    }
    fingerprint.add_number(source.order.size());
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

}  // namespace

Choice choose(const config::PipelineSpec& spec, const source::Listing& listing, const std::stop_token& stop) {
  source::Stamps lists;
  std::vector<Mix::Source> sources;
  const auto add = [&](const Wanted& wanted, const source::Listing& part, uint64_t first, uint64_t seed) {
    sampler::Order order({spec.order.shuffle, seed, spec.order.window}, choose_of(wanted, part, lists, stop),
                         part.archive_starts());
    sources.push_back({std::move(order), first});
  };
  const auto parts = listing.parts();
  if (parts.empty()) add({"order", spec.order.include, spec.order.exclude, spec.order.first}, listing, 0, spec.seed);
  for (size_t i = 0; i < parts.size(); ++i) {
    const config::SourceSpec& source = spec.sources.at(i);
    const std::string key = "sources[" + std::to_string(i) + "]";
    add({key, source.include, source.exclude, source.first}, *parts[i].listing, parts[i].first,
        sampler::source_seed(spec.seed, source.name));
  }
  std::string fingerprint = fingerprint_of(listing, sources);
  std::vector<uint64_t> shares = shares_of(spec, sources);
  Mix mix(spec.seed, std::move(sources), std::move(shares), spread_of(spec), spec.order.epoch_samples);
  return {std::move(mix), std::move(lists), std::move(fingerprint)};
}

}  // namespace spdld::pipeline
