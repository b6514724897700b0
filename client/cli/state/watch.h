// Shows views of the daemon again and again, until Ctrl-C or SIGTERM. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "client/cli/cli.h"
#include "client/cli/format.h"
#include "config/text/json.h"

namespace spdld::cli {

// Between two looks, in seconds, where the user says nothing, and as the user may choose it.
inline constexpr double kIntervalS = 1, kIntervalMinS = 0.1, kIntervalMaxS = 3600;

// The result of one look.
struct View {
  config::Json document;
  std::function<std::string(const Page&)> text;
};

// Throws Failure where there is nothing to see.
using Look = std::function<View(double now_s)>;

struct Pace {
  double interval_s = 1;
  uint64_t looks = 0;     // 0: without end
  bool is_plain = false;  // plain text also on a terminal
};

// On a terminal each view takes the place of the last view; else views follow one another, with a blank line between
// them (with -o json: a line each). A first look that fails ends the watch with its Failure. A later failure is shown
// beside the last view, and another look follows: a daemon may be restarted.
ExitCode watch(const Globals& globals, const Look& look, const Pace& pace);

// The options of a command that shows one view, or watches.
struct WatchWishes {
  bool watch = false;
  std::optional<double> interval_s;
};
// `watch_help`, `interval_help`: of --watch and of --interval.
void declare_watching(config::Arguments& command, WatchWishes& wishes, const char* watch_help,
                      const char* interval_help);
// One look, as text or JSON; or a watch, with `interval_s` where the wishes have none. Throws Failure for an interval
// without a watch.
ExitCode show_or_watch(const Globals& globals, const Look& look, const WatchWishes& wishes, double interval_s);

}  // namespace spdld::cli
