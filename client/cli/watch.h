// Looks at something again and again and shows it, until Ctrl-C or SIGTERM. One thread.
#pragma once

#include <functional>
#include <string>

#include "client/cli/cli.h"
#include "client/cli/format.h"
#include "config/json.h"

namespace spdld::cli {

// One look.
struct View {
  config::Json document;
  std::function<std::string(const Page&)> text;
};

// Throws Failure where there is nothing to see.
using Look = std::function<View(double now_s)>;

// On a terminal each view takes the place of the one before; else they follow one another, with a blank line between
// (with -o json: a line each). A first look that fails ends it with its Failure. Later ones are told beside what was
// seen last, and another look follows: a daemon may be restarted.
ExitCode watch(const Globals& globals, const Look& look, double interval_s);

}  // namespace spdld::cli
