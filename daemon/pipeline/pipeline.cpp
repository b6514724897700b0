#include "daemon/pipeline/pipeline.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

#include "config/run_keys.h"
#include "daemon/base/result.h"
#include "daemon/pipeline/decode_stage.h"
#include "daemon/pipeline/fetch_stage.h"
#include "proto/fingerprint.h"
#include "proto/key_digests.h"

namespace spdld::pipeline {
namespace {

std::string hexadecimal(uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%llx", static_cast<unsigned long long>(value));
  return text.data();
}

void check_pinned(const source::Listing& listing, const config::SourceSpec& pinned) {
  if (pinned.fingerprint.empty() || listing.fingerprint() == pinned.fingerprint) return;
  std::string holds = std::to_string(listing.size()) + " samples";
  if (!listing.classes().empty()) holds += " in " + std::to_string(listing.classes().size()) + " classes";
  throw SetupError(Trouble::kChanged, "source.fingerprint: " + config::uris_text(pinned) +
                                          " is pinned to the listing " + pinned.fingerprint + ", and lists " + holds +
                                          ", with the fingerprint " + listing.fingerprint() +
                                          ": bring the data set back as it was, or pin it anew");
}

std::unique_ptr<source::Listing> as_pinned(std::unique_ptr<source::Listing> listing,
                                           const std::vector<config::SourceSpec>& sources) {
  const auto parts = listing->parts();
  if (parts.empty()) check_pinned(*listing, sources.front());
  for (size_t i = 0; i < parts.size(); ++i) check_pinned(*parts[i].listing, sources.at(i));
  return listing;
}

// The keys with at most so many steps each: those below are told together.
std::vector<proto::KeyDigest> with_steps(const std::vector<config::RunKey>& keys, size_t steps_max) {
  std::map<std::string, std::string> values;
  for (const config::RunKey& key : keys) {
    size_t end = 0;
    for (size_t steps = 0; steps < steps_max && end != std::string::npos; ++steps)
      end = key.path.find('/', steps == 0 ? 0 : end + 1);
    std::string& value = values[key.path.substr(0, end)];
    value.append(key.path).append(1, '=').append(key.value).append(1, '\n');
  }
  std::vector<proto::KeyDigest> digests;
  for (const auto& [path, value] : values) digests.push_back({path, draw_key(value)});
  return digests;
}

}  // namespace

std::string key_digests_of(const config::PipelineSpec& spec) {
  const std::vector<config::RunKey> keys = config::run_keys(spec);
  size_t steps = 1;
  for (const config::RunKey& key : keys)
    steps = std::max(steps, 1 + static_cast<size_t>(std::count(key.path.begin(), key.path.end(), '/')));
  for (; steps > 0; --steps)
    if (auto text = proto::write_key_digests(with_steps(keys, steps))) return *std::move(text);
  return {};
}

std::string fingerprint_of(const FingerprintParts& parts) {
  return hexadecimal(sampler::kOrderVersion) + "." + hexadecimal(draw_key(parts.code)) + "-" + parts.samples + "-" +
         hexadecimal(draw_key(parts.spec)) + "-" + hexadecimal(parts.global_size) +
         (parts.division.empty() ? "" : "." + parts.division) + (parts.weights.empty() ? "" : "-" + parts.weights);
}

Pipeline::Pipeline(config::PipelineSpec spec, std::unique_ptr<source::Listing> listing, double listing_s,
                   const Resources& resources, const std::stop_token& stop)
    : spec_(std::move(spec)),
      key_digests_(key_digests_of(spec_)),
      schedule_(config::schedule_of(spec_.outputs)),
      listing_(as_pinned(std::move(listing), spec_.sources)),
      listing_s_(listing_s),
      plan_(spec_, *listing_, stop),
      choice_(choose(spec_, *listing_, stop, plan_.fetched(), resources.listings)),
      resources_(resources),
      caching_(resources.cache, spec_),
      orders_(mix().sources().front().order, spec_.order.epochs, resources.pool, lane_),
      lane_(resources.pool, spec_.cpu_weight),
      delegates_(make_delegates()),
      first_(make_first()),
      stages_(make_stages()) {}

Pipeline::Delegates Pipeline::make_delegates() const {
  Delegates delegates;
  const auto add = [&](std::string_view executor, const auto& whose) {
    if (delegates.contains(executor)) return;
    const auto make = resources_.delegates.find(executor);
    if (make == resources_.delegates.end())
      throw SetupError(Trouble::kUnsupported,
                       whose() + " of " + std::string(executor) + ", which this daemon does not have");
    delegates.emplace(executor, make->second(*this));
  };
  for (const Making& making : plan_.makings())
    add(making.executor, [] { return std::string("the source has samples"); });
  for (const Errand& errand : plan_.errands())
    add(errand.executor,
        [&] { return "output '" + errand.output + "': " + errand.ops.front().op + " is an operation"; });
  return delegates;
}

Pipeline::FirstStage Pipeline::make_first() const {
  FirstStage first{account_of_fetch(listing_->store_concurrency() > 0), {}};
  for (const auto& [executor, delegate] : delegates_) {
    auto supply = delegate->make_supply(first.makers.empty() ? resources_.fetcher : *first.makers.back());
    if (!supply) continue;
    first.account = std::move(supply->account);
    first.makers.push_back(std::move(supply->fetcher));
  }
  return first;
}

// The executors that have errands of the turn, and the decode threads behind them.
void Pipeline::add_turn(size_t turn, const PoolStage::Uses& uses, Stages& stages) {
  for (const auto& [executor, delegate] : delegates_) {
    std::vector<const Errand*> errands;
    for (const Errand& errand : plan_.errands())
      if (errand.turn == turn && errand.executor == executor) errands.push_back(&errand);
    if (!errands.empty()) stages.push_back(delegate->make_stage(std::move(errands)));
  }
  if (plan_.goes_on(turn)) stages.push_back(std::make_unique<TransformStage>(uses, turn));
}

// Adding a stage to the way of samples is a line here.
Stages Pipeline::make_stages() {
  Stages stages;
  source::Fetcher& fetcher = first_.makers.empty() ? resources_.fetcher : *first_.makers.back();
  stages.push_back(std::make_unique<FetchStage>(first_.account, caching_, fetcher, *listing_, subject_));
  const PoolStage::Uses uses{plan_,   resources_.contexts, resources_.pool, resources_.memory.get(), spec_.seed,
                             subject_};
  stages.push_back(std::make_unique<DecodeStage>(uses, caching_, lane_));
  for (size_t turn = 1; turn <= plan_.turns(); turn++) add_turn(turn, uses, stages);
  for (const StageMaker& make : resources_.more_stages)
    if (auto stage = make(*this)) stages.push_back(std::move(stage));
  for (size_t i = 0; i < stages.size(); i++) stages[i]->set_place(static_cast<uint8_t>(i));
  return stages;
}

sampler::Sharding Pipeline::sharding(const config::BatchSpec& batch, uint64_t rank, uint64_t world_size) const {
  if (is_by_shape()) return {mix().sources().front().order, batch, rank, world_size};
  if (buckets() != nullptr) return {mix().sources().front().order, batch.last, rank, world_size};
  return {samples(), batch, rank, world_size};
}

source::Remarks Pipeline::remarks() const {
  source::Remarks all = listing_->said();
  all.add_all(choice_.lacking);
  return all;
}

std::string Pipeline::fingerprint(const sampler::Sharding& sharding) const {
  const std::string division = !sharding.is_evened() ? "" : sharding.is_in_turn() ? "2" : "2b";
  return fingerprint(sharding.global_size(), division);
}

std::string Pipeline::fingerprint(uint64_t global_size, const std::string& division) const {
  std::string samples = choice_.fingerprint;
  if (const std::string digits = plan_.side_digits(); !digits.empty()) samples += "_" + digits;
  return fingerprint_of({plan_.code(), std::move(samples), config::canonical_json(spec_), global_size,
                         choice_.weights_fingerprint, division});
}

std::string Pipeline::differs(const std::string& mine, const std::string& theirs, std::string_view my_digests,
                              std::string_view their_digests) {
  const auto difference = proto::fingerprint_difference(mine, theirs);
  if (!difference) return "its form differs";
  return difference->clause() + proto::key_note(*difference, my_digests, their_digests);
}

}  // namespace spdld::pipeline
