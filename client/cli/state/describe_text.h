// The daemon's answer to `describe`, about one pipeline, as text. Pure functions; any thread.
#pragma once

#include <string>

#include "client/cli/table.h"
#include "config/text/json.h"

namespace spdld::cli {

// `document` is the daemon's answer to "describe"; `moving` has the lines of Activity (activity.h) about it. Both
// functions throw Failure where fields are missing.
std::string describe_text(const config::Json& document, const Facts& moving, const Page& page);
// The text for a screen that may have room for the first lines alone: the lines that change come first.
std::string watch_text(const config::Json& document, const Facts& moving, const Page& page);

}  // namespace spdld::cli
