// The document on one pipeline, and what it has in common with the others. Control thread only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/node/node.h"
#include "daemon/node/pipelines.h"

namespace spdld::node {

// "describe": its spec, stages, cache, tuning and rings.
nlohmann::json describe_document(const Node::View& view, const Pipelines::Entry& entry);

struct StateOf {
  const char* state;
  std::string reason;
};
StateOf state_of(const Node::View& view, const Pipelines::Entry& entry);
const Node::Feeds& feeds_of(const Node::View& view, const Pipelines::Entry& entry);
// What every document says of a pipeline first.
nlohmann::json heading(const std::string& name, const StateOf& state, uid_t uid);
nlohmann::json shelf_document(const cache::ShelfReport& shelf);

inline double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace spdld::node
