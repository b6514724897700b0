// describe: one pipeline, from its spec to each trainer's ring; once, or again and again.
#include <memory>

#include "client/cli/query.h"
#include "client/cli/state/activity.h"
#include "client/cli/state/describe_text.h"
#include "client/cli/state/watch.h"

namespace spdld::cli {
namespace {

using config::Json;

struct DescribeWishes {
  std::string pipeline;
  WatchWishes watching;
};

ExitCode describe(const Globals& globals, const DescribeWishes& wishes) {
  Activity activity;
  const auto look = [&](double now_s) {
    View view;
    view.document = ask(globals, "describe", wishes.pipeline);
    const Facts moving = activity.note(view.document, now_s);
    view.text = [document = view.document, moving, watch = wishes.watching.watch](const Page& page) {
      return watch ? watch_text(document, moving, page) : describe_text(document, moving, page);
    };
    return view;
  };
  return show_or_watch(globals, look, wishes.watching, kIntervalS);
}

}  // namespace

void declare_describe(config::Arguments command, const Globals& globals, Run& run) {
  const auto wishes = std::make_shared<DescribeWishes>();
  command.word("PIPELINE", wishes->pipeline, "the pipeline's name, as `spdlctl ls` shows it");
  declare_watching(command, wishes->watching, "draw the view again and again, with rates and times left, until Ctrl-C",
                   "seconds between two looks, with --watch (default 1)");
  run = [&globals, wishes] { return describe(globals, *wishes); };
}

}  // namespace spdld::cli
