// How a feed's slots get filled: the maker of its stream, and the threads on which its Tap copies. A test gives others.
// Control thread.
#pragma once

#include <functional>
#include <memory>

#include "daemon/base/fair_pool.h"
#include "daemon/batch/layout.h"
#include "daemon/pipeline/filler.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/stream.h"
#include "daemon/sampler/sharding.h"

namespace spdld::node {

// The slots that a stream fills, and its first step.
struct StreamPlan {
  std::shared_ptr<pipeline::Pipeline> pipeline;
  const sampler::Sharding& sharding;
  const batch::Layout& layout;
  size_t slots = 0;
  sampler::Position start;
};

struct Fillers {
  std::function<std::unique_ptr<pipeline::SeekableFiller>(const StreamPlan&, pipeline::FillObserver&)> make_stream =
      [](const StreamPlan& plan, pipeline::FillObserver& observer) {
        return std::make_unique<pipeline::Stream>(plan.pipeline, plan.sharding, plan.layout, plan.slots, plan.start,
                                                  observer);
      };
  // Runs the task on a thread, in the pipeline's turn.
  std::function<void(pipeline::Pipeline&, FairTask&)> submit = [](pipeline::Pipeline& pipeline, FairTask& task) {
    pipeline.resources().pool.submit(pipeline.lane(), task);
  };
};

}  // namespace spdld::node
