// describe: one pipeline, from its spec to each trainer's ring; once, or again and again.
#include <memory>
#include <optional>

#include "client/cli/activity.h"
#include "client/cli/describe_text.h"
#include "client/cli/query.h"
#include "client/cli/watch.h"
#include "config/daemon_settings.h"

namespace spdld::cli {
namespace {

using config::Json;

constexpr double kIntervalS = 1, kIntervalMinS = 0.1, kIntervalMaxS = 3600;

struct DescribeWishes {
  std::string pipeline;
  bool watch = false;
  std::optional<double> interval_s;
};

// How many lanes a stage has: what the daemon says, else (an older one) its settings' defaults.
Lanes lanes_of(const Globals& globals, const Json& describe) {
  Lanes lanes{0, static_cast<double>(config::DaemonSettings{}.fetch_concurrency)};
  for (const auto& stage : list_at(describe, "stages")) {
    const Json* const said = stage.find("lanes");
    if (said == nullptr || !said->is_number()) continue;
    (text_at(stage, "name") == "decode" ? lanes.decode : lanes.fetch) = said->number();
  }
  if (lanes.decode == 0 && !list_at(describe, "stages").empty())
    lanes.decode = number_at(table_at(ask(globals, "status"), "cpu"), "budget");
  return lanes;
}

ExitCode describe(const Globals& globals, const DescribeWishes& wishes) {
  Activity activity;
  const auto look = [&](double now_s) {
    View view;
    view.document = ask(globals, "describe", wishes.pipeline);
    const Bottleneck bottleneck = find_bottleneck(view.document, lanes_of(globals, view.document));
    const Facts moving = activity.note(view.document, now_s);
    view.text = [document = view.document, bottleneck, moving, watch = wishes.watch](const Page& page) {
      return watch ? watch_text(document, bottleneck, moving, page) : describe_text(document, bottleneck, moving, page);
    };
    view.document["bottleneck"] = {{"part", bottleneck.part}, {"why", bottleneck.why}};
    return view;
  };
  if (wishes.watch) return watch(globals, look, wishes.interval_s.value_or(kIntervalS));
  const View view = look(0);
  if (globals.json()) {
    print_json(view.document);
  } else {
    print(view.text(page_of_stdout()));
  }
  return kFine;
}

}  // namespace

void declare_describe(config::Arguments command, const Globals& globals, Run& run) {
  const auto wishes = std::make_shared<DescribeWishes>();
  command.word("PIPELINE", wishes->pipeline, "the pipeline's name, as `spdlctl ls` shows it");
  command.flag("-w,--watch", wishes->watch, "draw the view again and again, with rates and times left, until Ctrl-C");
  command.number("--interval", wishes->interval_s, kIntervalMinS, kIntervalMaxS, "S",
                 "seconds between two looks, with --watch (default 1)");
  run = [&globals, wishes] {
    if (wishes->interval_s && !wishes->watch) throw Failure(kUsage, "--interval belongs to --watch: give both.");
    return describe(globals, *wishes);
  };
}

}  // namespace spdld::cli
