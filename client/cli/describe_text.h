// What `describe` says about one pipeline, as text. Pure functions; any thread.
#pragma once

#include <string>

#include "client/cli/bottleneck.h"
#include "client/cli/table.h"
#include "config/json.h"

namespace spdld::cli {

// `document` is what the daemon answers to "describe"; `moving` is what Activity (activity.h) says about it. These
// throw Failure where fields are missing.
std::string describe_text(const config::Json& document, const Bottleneck& bottleneck, const Facts& moving,
                          const Page& page);
// The same for a screen that may have room for its beginning alone: what changes comes first.
std::string watch_text(const config::Json& document, const Bottleneck& bottleneck, const Facts& moving,
                       const Page& page);

}  // namespace spdld::cli
