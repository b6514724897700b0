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

void declare_why(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<WhyWishes>();
  command.word("PIPELINE", wishes->pipeline, "the pipeline's name, as `spdlctl ls` shows it");
  declare_watching(command, wishes->watching, "judge again and again, until Ctrl-C",
                   "seconds between two looks, with --watch (default 2)");
  run = [&globals, wishes] { return why(globals, *wishes); };
}

constexpr const char* kWhyMore =
    "The daemon judges by what it measured in the last ten seconds, without touching the training.\n\n"
    "A part of the pipeline limits:\n"
    "  trainer     The trainer finds a batch whenever it wants one: the loader keeps up.\n"
    "  fetch       Reads from the local disk limit.\n"
    "  store       Requests to a remote store limit.\n"
    "  decode      The operations limit, on all threads that decode.\n"
    "  copy        Copies to a GPU limit.\n\n"
    "Something beside the pipeline limits:\n"
    "  cpu         Other pipelines, other programs or a quota have the cores.\n"
    "  memory      The bound of bytes in flight limits, or memory is short.\n"
    "  source      A source fails and is asked again.\n\n"
    "No part and nothing beside it limits:\n"
    "  stragglers  Few samples take long, so that batches come in bursts.\n"
    "  unknown     Nobody reads, or too little has happened.\n\n"
    "SPEEDUP is the samples a second after the change, by the samples a second now. The forecast takes each part of "
    "the pipeline to go on as it did, so that the next part limits. Changes without a number have no forecast.\n\n"
    "Examples:\n"
    "  spdlctl why imagenet-train\n"
    "  spdlctl why imagenet-train --watch";

}  // namespace

Command why_command() {
  return {"say what limits a pipeline, and what each change would bring", kWhyMore, &declare_why};
}

}  // namespace spdld::cli
