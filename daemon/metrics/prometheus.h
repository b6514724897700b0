// Figures in the text format of Prometheus, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). Names follow its conventions: base units (seconds,
// bytes) in the name, "_total" behind counters. Times are histograms, so that the times of several nodes can be added
// up.
//
// Labels are bounded: a pipeline's name, a stage's, an operation's, a rank, a store's uri, a GPU's uuid. Rings of
// several jobs with one rank are added up, and no process or job is a label. Pipelines beyond kPipelinesMax, in the
// order of their names, are left out and counted. Pure; any thread.
#pragma once

#include <string>

#include "daemon/metrics/figures.h"

namespace spdld::metrics {

inline constexpr size_t kPipelinesMax = 200;

// `version`: of the daemon.
std::string prometheus_text(const NodeFigures& node, const std::string& version);

}  // namespace spdld::metrics
