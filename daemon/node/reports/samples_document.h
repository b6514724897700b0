// The documents of the topic `samples` (PROTOCOL.md, "JSON documents"): names of samples, parts of the listing, and
// what a step has. Each is bounded, whatever is asked for. Control thread only.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/node/reports/state.h"

namespace spdld::node {

// The argument of a query about a pipeline: "NAME rest group GROUP". The group and its word may be missing.
struct Question {
  std::string name, rest, group;
};
Question question_in(std::string_view argument);

// Precondition: the pipeline is listed.
Result<std::string> samples_document(const State& state, const Pipelines::Entry& entry, const Question& question);

}  // namespace spdld::node
