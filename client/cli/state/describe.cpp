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

void declare_describe(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<DescribeWishes>();
  command.word("PIPELINE", wishes->pipeline, "the pipeline's name, as `spdlctl ls` shows it");
  declare_watching(command, wishes->watching, "draw the view again and again, with rates and times left, until Ctrl-C",
                   "seconds between two looks, with --watch (default 1)");
  run = [&globals, wishes] { return describe(globals, *wishes); };
}

constexpr const char* kDescribeMore =
    "The bottleneck is the part of the pipeline that limited it in the last ten seconds; see `spdlctl why --help`.\n\n"
    "  LISTING     how far the listing of the data set is.\n"
    "  CACHED      samples in the cache, out of all that it will keep.\n"
    "  JOB         how far the slowest rank of the job is in its epoch.\n"
    "  STARVED     time in which a trainer had room but no batch was ready.\n"
    "  FULL        time in which all slots were ready or held (back-pressure).\n"
    "  FREE, FILLING, READY, HELD  slots in each state.\n"
    "  READY MEAN  the average number of ready slots.\n"
    "  HIT RATE    share of the cache look-ups that found their sample.\n"
    "  FROM DISK   hits that were read from the cache's disk.\n"
    "  STALE       cached samples whose file had changed.\n"
    "  REFUSED     samples for which the cache had no room.\n"
    "  TUNED       decode threads, reads at once and batches ahead. Each number is as small as it can be without "
    "making trainers wait, unless the daemon's file pins it.\n\n"
    "With --watch, the view is redrawn in place, with rates and times left, and survives a restart of the daemon. "
    "Changing values come first. Lines for which the terminal has no room are left out until Ctrl-C, which shows the "
    "whole view and ends with exit code 0. With -o json, each look is one line.\n\n"
    "Examples:\n"
    "  spdlctl describe imagenet-train --watch\n"
    "  spdlctl -o json describe imagenet-train --watch --interval 10 >> train.jsonl";

}  // namespace

Command describe_command() {
  return {"show one pipeline: listing, stages, cache, tuning, rings, and its bottleneck", kDescribeMore,
          &declare_describe};
}

}  // namespace spdld::cli
