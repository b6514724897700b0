// Figures as JSON documents. Names of numbers are the schemas' names; PROTOCOL.md says how units show in them. Pure;
// any thread.
#pragma once

#include "config/text/json.h"
#include "daemon/metrics/figures.h"
#include "daemon/metrics/history.h"

namespace spdld::metrics {

// Numbers in all: counters as they stand, times in seconds ("busy_s"), distributions by mean and quantiles
// ("fill_p50_us").
config::Json totals_of(const StageFigures& stage);
config::Json totals_of(const OperationFigures& operation);
config::Json totals_of(const CacheFigures& cache);
config::Json totals_of(const RingFigures& ring);
config::Json totals_of(const PipelineFigures& pipeline);
config::Json totals_of(const StoreFigures& store);
config::Json totals_of(const NodeFigures& node);

// The rates of a window, with the same shape: a counter's name gets "_per_s" behind it ("samples_per_s"), a time that
// grows becomes a number of lanes, threads or trainers ("busy": 1.5), and levels are as they are now. A pipeline also
// has "waiting" and "full".
config::Json rates_of(const Window& window);

}  // namespace spdld::metrics
