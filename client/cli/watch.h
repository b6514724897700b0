// Shows views of the daemon again and again, until Ctrl-C or SIGTERM. One thread.
#pragma once

#include <functional>
#include <string>

#include "client/cli/cli.h"
#include "client/cli/format.h"
#include "config/json.h"

namespace spdld::cli {

// The result of one look.
struct View {
  config::Json document;
  std::function<std::string(const Page&)> text;
};

// Throws Failure where there is nothing to see.
using Look = std::function<View(double now_s)>;

// On a terminal each view takes the place of the last view; else views follow one another, with a blank line between
// them (with -o json: a line each). A first look that fails ends the watch with its Failure. A later failure is shown
// beside the last view, and another look follows: a daemon may be restarted.
ExitCode watch(const Globals& globals, const Look& look, double interval_s);

}  // namespace spdld::cli
