#include "daemon/pipeline/ledger.h"

#include <algorithm>
#include <string>

#include "daemon/sampler/mix.h"

namespace spdld::pipeline {
namespace {

Status check_step(const Pipeline& pipeline, const sampler::Sharding& sharding, sampler::Position at) {
  const std::string& name = pipeline.spec().name;
  if (pipeline.spec().order.shuffle == config::Shuffle::kClient)
    return Error{Trouble::kUsage, "the trainer of pipeline " + name +
                                      " sets its order (order.shuffle = \"client\"), and it alone knows what a step "
                                      "has"};
  const uint64_t epochs = pipeline.spec().order.epochs;
  if (epochs != 0 && at.epoch >= epochs)
    return Error{Trouble::kUsage, "pipeline " + name + " has no epoch " + std::to_string(at.epoch) + ": it has " +
                                      std::to_string(epochs) + ", counted from 0"};
  if (at.step >= sharding.steps())
    return Error{Trouble::kUsage, "an epoch of pipeline " + name + " has no step " + std::to_string(at.step) +
                                      ": it has " + std::to_string(sharding.steps()) + ", counted from 0"};
  return Done{};
}

// Whether reading this mix draws the order of a whole epoch at length.
bool begins_slowly(const sampler::Mix& mix) {
  const auto& sources = mix.sources();
  return std::any_of(sources.begin(), sources.end(), [](const auto& source) { return source.order.begins_slowly(); });
}

}  // namespace

Result<std::optional<LedgerPage>> samples_of(Pipeline& pipeline, const sampler::Sharding& sharding,
                                             sampler::Position at, uint64_t first) {
  if (const Status there = check_step(pipeline, sharding, at); !there) return there.error();
  LedgerPage page{.slice = sharding.slice(at), .ids = {}};
  first = std::min(first, page.slice.count);
  const uint64_t end = first + std::min(page.slice.count - first, LedgerPage::kSamplesMax);
  if (pipeline.is_plain()) {
    const Orders::Found order = pipeline.orders().look(at.epoch);
    if (!order) return std::optional<LedgerPage>();
    for (uint64_t i = first; i < end; i++) page.ids.push_back((*order)(page.slice.place(i)));
    return std::optional(std::move(page));
  }
  if (begins_slowly(pipeline.mix()))
    return Error{Trouble::kUnsupported, "the samples of pipeline " + pipeline.spec().name +
                                            " are drawn by weight without replacement, in epochs of a length of their "
                                            "own: what a step has is not told ahead"};
  sampler::MixReader mix(pipeline.mix());
  for (uint64_t i = first; i < end; i++) page.ids.push_back(mix.at(at.epoch, page.slice.place(i)).id);
  return std::optional(std::move(page));
}

}  // namespace spdld::pipeline
