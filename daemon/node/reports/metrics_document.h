// The document on what is measured: totals, the rates of the last 1, 10 and 60 seconds, and a verdict on each pipeline.
// Control thread only.
#pragma once

#include <string_view>

#include "config/text/json.h"
#include "daemon/metrics/verdict.h"
#include "daemon/node/reports/sight.h"
#include "daemon/node/reports/state.h"

namespace spdld::node {

// "metrics": of the pipelines that the client may see, or of one of them; empty: of all. Of another user's ring,
// neither its processes nor its job are told, and stores are told to the owners alone.
config::Json metrics_document(const State& state, const Sight& sight, std::string_view pipeline);
// On one pipeline, by the last ten seconds.
config::Json verdict_document_on(const State& state, const Sight& sight, const Pipelines::Entry& entry);

}  // namespace spdld::node
