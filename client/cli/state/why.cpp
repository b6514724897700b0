// why: what limits a pipeline, and what to do about it.
#include <memory>

#include "client/cli/query.h"
#include "client/cli/state/verdict_text.h"
#include "client/cli/state/watch.h"

namespace spdld::cli {
namespace {

using config::Json;

constexpr double kWhyIntervalS = 2;

struct WhyWishes {
  std::string pipeline;
  WatchWishes watching;
};

ExitCode why(const Globals& globals, const WhyWishes& wishes) {
  const auto look = [&](double) {
    View view;
    const Json answer = ask(globals, "metrics", wishes.pipeline);
    for (const Json& verdict : list_at(answer, "verdicts")) view.document = verdict;
    if (!view.document.is_object())
      throw Failure(kWrong, "there is nothing to say about pipeline '" + wishes.pipeline + "' yet.");
    view.text = [verdict = view.document](const Page& page) { return verdict_text(verdict, page); };
    return view;
  };
  return show_or_watch(globals, look, wishes.watching, kWhyIntervalS);
}

}  // namespace

void declare_why(config::Arguments command, const Globals& globals, Run& run) {
  const auto wishes = std::make_shared<WhyWishes>();
  command.word("PIPELINE", wishes->pipeline, "the pipeline's name, as `spdlctl ls` shows it");
  declare_watching(command, wishes->watching, "judge again and again, until Ctrl-C",
                   "seconds between two looks, with --watch (default 2)");
  run = [&globals, wishes] { return why(globals, *wishes); };
}

}  // namespace spdld::cli
