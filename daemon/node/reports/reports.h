// The JSON documents that Query answers with (PROTOCOL.md, "Documents"). Control thread only.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/node/access/access.h"
#include "daemon/node/reports/state.h"

namespace spdld::node {

Result<std::string> report(const State& state, Asker asker, std::string_view topic, std::string_view argument);

// errors_total counts bad samples and missing data of all open pipelines. last_errors_document is the document of
// `errors` for the owner, with `daemon`, `pid` and `written`.
uint64_t memory_waits(const State& state);  // how often a sample of an open pipeline had to wait for memory
uint64_t errors_total(const State& state);
std::string last_errors_document(const State& state);

}  // namespace spdld::node
