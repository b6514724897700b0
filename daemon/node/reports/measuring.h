// Takes the figures of the node: all that is measured, at one moment. Documents, metrics and the verdict on a pipeline
// are made of these figures alone. Control thread only.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/metrics/figures.h"
#include "daemon/metrics/history.h"
#include "daemon/node/reports/state.h"

namespace spdld::node {

// Of the outputs' operations, in all stages.
std::vector<metrics::OperationFigures> operations_of(const pipeline::Pipeline& pipeline);
metrics::StageFigures measure(const State& state, const pipeline::Stage& stage);
metrics::CacheFigures measure(const cache::ShelfReport& shelf);
metrics::RingFigures measure(const FeedKey& key, const Feed& feed);
// `stores`: of the node, among which the pipeline's own is looked for.
metrics::PipelineFigures measure(const State& state, const Pipelines::Entry& entry,
                                 std::span<const metrics::StoreFigures> stores);
metrics::StoreFigures measure(const store::remote::StoreReport& store, uint64_t now_ns);
// All of the node, but for what costs much to look at, which the history's last figures have.
metrics::NodeFigures measure(const State& state);
// The node with this pipeline alone, but for what costs much to look at.
metrics::NodeFigures measure_with(const State& state, const Pipelines::Entry& entry);

// Keeps the figures of the last minute.
class Measuring {
 public:
  // Called at every tick; measures once a second.
  void tick(const State& state);
  const metrics::History& history() const { return history_; }
  // For somebody who looks now: pss_bytes() is at most kFreshPssNs old then.
  void freshen(uint64_t now_ns);
  uint64_t pss_bytes() const { return pss_bytes_; }

 private:
  static constexpr uint64_t kPssNs = 10'000'000'000;  // adding up a large process's pages takes milliseconds
  static constexpr uint64_t kFreshPssNs = 150'000'000;
  void look_at_pss(uint64_t now_ns, uint64_t age_ns_max);

  metrics::History history_;
  uint64_t pss_bytes_ = 0, pss_looked_ns_ = 0;
};

}  // namespace spdld::node
