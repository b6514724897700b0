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

void add_decoding(Rates& rates, const NodeFigures& node, const PipelineFigures& pipeline) {
  const auto busy_s = spdld::seconds(node.decode_busy_ns);
  double core_wait_s = 0, fetch_core_wait_s = 0;
  for (const RoleFigures& role : node.roles) {
    if (role.role == "decode") core_wait_s = spdld::seconds(role.core_wait_ns);
    if (role.role == "fetch") fetch_core_wait_s = spdld::seconds(role.core_wait_ns);
  }
  const double fetch_lanes_s = static_cast<double>(rates.fetch->lanes) * rates.seconds;
  rates.fetch_core_wait = std::min(1.0, part(fetch_core_wait_s, fetch_lanes_s));
  rates.core_wait = part(core_wait_s, busy_s + core_wait_s);
  rates.throttled = std::min(1.0, part(spdld::seconds(node.throttled_ns), rates.seconds));
  const double lanes_s = static_cast<double>(rates.decode->lanes) * rates.seconds;
  rates.decode_use = std::min(1.0, part(busy_s + core_wait_s, lanes_s));
  if (node.decode_busy_ns > 0)
    rates.own_part =
        std::min(1.0, part(static_cast<double>(pipeline.cpu_ns), static_cast<double>(node.decode_busy_ns)));
}

}  // namespace

double Rates::with(double fetch_lanes, double decode_lanes) const {
  double least = trainer;
  const auto limit = [&](double rate) {
    if (rate > 0) least = least > 0 ? std::min(least, rate) : rate;
  };
  limit(part(fetch_lanes, fetch_s));
  limit(part(decode_lanes, decode_s));
  return least;
}

double Rates::speedup(double fetch_lanes, double decode_lanes) const {
  return std::max(1.0, part(with(fetch_lanes, decode_lanes), now));
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
  if (pipeline.stages.empty()) return rates;
  rates.fetch = &pipeline.stages.front();
  rates.decode = &pipeline.stages.back();
  const auto fetch_busy_s = spdld::seconds(rates.fetch->busy_ns);
  rates.fetch_use = std::min(1.0, part(fetch_busy_s, static_cast<double>(rates.fetch->lanes) * window.seconds));
  add_decoding(rates, window.figures, pipeline);
  const auto delivered = static_cast<double>(pipeline.samples);
  rates.fetch_s = part(fetch_busy_s, delivered);
  rates.decode_s = part(spdld::seconds(pipeline.cpu_ns), delivered);
  return rates;
}

}  // namespace spdld::metrics
