// The live view on a terminal, until the user leaves. One thread, beside the looker's.
#pragma once

#include <string>

#include "client/cli/format.h"
#include "client/cli/top/looker.h"

namespace spdld::cli::top {

// `first`: the document that was got already. `pipeline`: its view is opened at first; empty: all are shown.
// Returns when the user leaves, on SIGINT, SIGTERM and SIGHUP, and when the terminal has gone. Throws Failure where the
// terminal cannot show the view.
void show_live(config::Json first, Looker::Ask ask, const std::string& pipeline, double interval_s, bool has_colour);

}  // namespace spdld::cli::top
