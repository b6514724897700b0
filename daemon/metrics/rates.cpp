#include "daemon/metrics/rates.h"

#include <algorithm>

#include "daemon/base/system/cpu.h"

namespace spdld::metrics {
namespace {

constexpr double kWaitingMax = 0.98;  // a trainer that waits longer than this says too little of its own rate

double part(double of, double whole) { return whole > 0 ? of / whole : 0; }

// The longest waiting of one reader. A reader tells its time with its releases, so a reader that has waited through the
// whole window has told nothing: its ring has neither filled nor ready batches then.
double waiting_of(const PipelineFigures& pipeline, double seconds) {
  double longest = 0;
  for (const RingFigures& ring : pipeline.rings) {
    for (const ReaderFigures& reader : ring.readers)
      longest = std::max(longest, part(spdld::seconds(reader.waited_ns), seconds));
    const bool has_nothing = ring.batches == 0 && ring.ready == 0 && ring.filling > 0;
    if (has_nothing && !ring.readers.empty()) longest = 1;
  }
  return std::clamp(longest, 0.0, 1.0);
}

double full_of(const PipelineFigures& pipeline, double seconds) {
  double longest = 0;
  for (const RingFigures& ring : pipeline.rings)
    longest = std::max(longest, part(spdld::seconds(ring.full_ns), seconds));
  return std::clamp(longest, 0.0, 1.0);
}

double core_wait_s_of(const NodeFigures& node, std::string_view role) {
  for (const RoleFigures& one : node.roles)
    if (one.role == role) return spdld::seconds(one.core_wait_ns);
  return 0;
}

// All pipelines share the threads of the pool.
void add_pool(StageRates& rates, double seconds, const NodeFigures& node) {
  const double busy_s = spdld::seconds(node.decode_busy_ns);
  const double core_wait_s = core_wait_s_of(node, rates.stage->account.role);
  rates.core_wait = part(core_wait_s, busy_s + core_wait_s);
  rates.use = std::min(1.0, part(busy_s + core_wait_s, static_cast<double>(rates.stage->lanes) * seconds));
  if (node.decode_busy_ns > 0)
    rates.own_part =
        std::min(1.0, part(static_cast<double>(rates.stage->busy_ns), static_cast<double>(node.decode_busy_ns)));
}

StageRates rates_of(const StageFigures& stage, const Window& window, const PipelineFigures& pipeline) {
  StageRates rates{.stage = &stage};
  const double busy_s = spdld::seconds(stage.busy_ns), lanes_s = static_cast<double>(stage.lanes) * window.seconds;
  rates.sample_s = part(busy_s, static_cast<double>(pipeline.samples));
  if (stage.account.is_on_pool) {
    add_pool(rates, window.seconds, window.figures);
  } else {
    rates.use = std::min(1.0, part(busy_s, lanes_s));
    rates.core_wait = std::min(1.0, part(core_wait_s_of(window.figures, stage.account.role), lanes_s));
  }
  return rates;
}

}  // namespace

double Rates::with(const std::vector<double>& lanes) const {
  double least = trainer;
  for (size_t i = 0; i < stages.size(); i++) {
    const double rate = part(lanes.at(i), stages[i].sample_s);
    if (rate > 0) least = least > 0 ? std::min(least, rate) : rate;
  }
  return least;
}

double Rates::speedup(const std::vector<double>& lanes) const { return std::max(1.0, part(with(lanes), now)); }

std::vector<double> Rates::lanes() const {
  std::vector<double> all;
  for (const StageRates& stage : stages) all.push_back(stage.lanes());
  return all;
}

std::vector<double> Rates::lanes_max() const {
  std::vector<double> all;
  for (const StageRates& stage : stages) all.push_back(stage.lanes_max());
  return all;
}

const StageRates& Rates::busiest() const {
  const StageRates* most = &stages.front();
  for (const StageRates& stage : stages)
    if (stage.use >= most->use) most = &stage;
  return *most;
}

Rates rates_of_parts(const Window& window, const PipelineFigures& pipeline) {
  Rates rates;
  rates.seconds = window.seconds;
  rates.now = part(static_cast<double>(pipeline.samples), window.seconds);
  rates.waiting = waiting_of(pipeline, window.seconds);
  rates.full = full_of(pipeline, window.seconds);
  if (rates.waiting <= kWaitingMax) rates.trainer = rates.now / (1 - rates.waiting);
  for (const GpuFigures& gpu : window.figures.gpus)
    rates.copy_use = std::max(rates.copy_use, part(spdld::seconds(gpu.copy_busy_ns), window.seconds));
  rates.throttled = std::min(1.0, part(spdld::seconds(window.figures.throttled_ns), window.seconds));
  for (const StageFigures& stage : pipeline.stages) rates.stages.push_back(rates_of(stage, window, pipeline));
  return rates;
}

}  // namespace spdld::metrics
