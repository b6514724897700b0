// The document on one pipeline, and the parts that it shares with other documents. Control thread only.
#pragma once

#include <string>

#include "config/text/json.h"
#include "daemon/node/pipelines/pipelines.h"
#include "daemon/node/reports/sight.h"
#include "daemon/node/reports/state.h"

namespace spdld::node {

// "describe": its spec, stages, cache, tuning and rings.
config::Json describe_document(const State& state, const Sight& sight, const Pipelines::Entry& entry);

struct StateOf {
  const char* state;
  std::string reason;
};
StateOf state_of(const State& state, const Pipelines::Entry& entry);
const Seating::Feeds& feeds_of(const State& state, const Pipelines::Entry& entry);
// The first entries on a pipeline in every document.
config::Json heading(const std::string& name, const StateOf& state, uid_t uid);
config::Json shelf_document(const cache::ShelfReport& shelf);

}  // namespace spdld::node
