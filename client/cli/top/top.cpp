// top: what runs and what limits it, live on a terminal, or look by look for logs.
#include <unistd.h>

#include <memory>
#include <optional>

#include "client/cli/query.h"
#include "client/cli/state/watch.h"
#include "client/cli/top/live.h"
#include "client/cli/top/terminal.h"
#include "client/cli/top/views.h"

namespace spdld::cli {
namespace {

using config::Json;

constexpr double kTopIntervalS = 1;
constexpr uint64_t kLooksMax = 1'000'000'000;
constexpr uint32_t kWindowS = 10;

struct TopWishes {
  std::string pipeline, window = std::to_string(kWindowS);
  bool is_batch = false;
  std::optional<double> interval_s;
  std::optional<uint64_t> looks;
};

Json look(const Globals& globals, const TopWishes& wishes) {
  Json document = ask(globals, "metrics", wishes.pipeline);
  if (!wishes.pipeline.empty() && list_or_empty(table_or_empty(document, "now"), "pipelines").empty())
    throw Failure(kWrong, "no pipeline '" + wishes.pipeline + "' is open here; see `spdlctl ls`.");
  return document;
}

// As the daemon shows the pipeline that the user means by a name: "train" may mean "train#2".
std::string shown_name(const Json& document, const std::string& wished) {
  if (wished.empty()) return wished;
  const auto pipelines = list_or_empty(table_or_empty(document, "now"), "pipelines").values();
  const std::string shown = pipelines.empty() ? std::string() : text_or_empty(pipelines.front(), "name");
  return shown.empty() ? wished : shown;
}

ExitCode write_looks(const Globals& globals, const TopWishes& wishes) {
  const auto window_s = static_cast<uint32_t>(std::stoul(wishes.window));
  const auto view = [&](double) {
    View seen;
    seen.document = look(globals, wishes);
    seen.text = [document = seen.document, window_s, pipeline = wishes.pipeline](const Page& page) {
      return top::batch_text(document, window_s, shown_name(document, pipeline), page.columns);
    };
    return seen;
  };
  return watch(globals, view, {wishes.interval_s.value_or(kTopIntervalS), wishes.looks.value_or(0), true});
}

ExitCode top_of(const Globals& globals, const TopWishes& wishes) {
  const bool is_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  const bool is_live = is_terminal && !wishes.is_batch && !wishes.looks && !globals.json();
  if (!is_live) return write_looks(globals, wishes);
  if (!top::has_terminal()) {
    std::fputs("spdlctl: this spdlctl was built without ncurses and has no live view: --batch is taken.\n", stderr);
    return write_looks(globals, wishes);
  }
  Json first = look(globals, wishes);
  const std::string name = shown_name(first, wishes.pipeline);
  top::show_live(
      std::move(first), [&] { return look(globals, wishes); }, name, wishes.interval_s.value_or(kTopIntervalS),
      page_of_stdout().colour);
  return kFine;
}

void declare_top(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<TopWishes>();
  command.optional_word("PIPELINE", wishes->pipeline, "only this pipeline, opened");
  command.flag("-b,--batch", wishes->is_batch, "write plain text, look by look; so it is where there is no terminal");
  command.number("-n,--iterations", wishes->looks, 1, kLooksMax, "N", "end after N looks, and write as with --batch");
  command.number("--interval", wishes->interval_s, kIntervalMinS, kIntervalMaxS, "S",
                 "seconds between two looks (default 1)");
  command.choice("--window", wishes->window, {"1", "10", "60"}, "S", "seconds that the rates of --batch look back");
  run = [&globals, wishes] { return top_of(globals, *wishes); };
}

constexpr const char* kTopMore =
    "The view is drawn anew at each look, and its last line shows the keys: rows are marked and opened, sorted and "
    "turned around; 1, 2 and 3 choose the last 1, 10 or 60 seconds; h explains keys and columns. Without an answer the "
    "last view stays, and the view goes on when a daemon answers again.\n\n"
    "With --batch, each look is a block of plain text, as wide as COLUMNS says. With -o json, each look is a line: the "
    "daemon's document `metrics`, with totals and with the rates of 1, 10 and 60 seconds.\n\n"
    "Examples:\n"
    "  spdlctl top\n"
    "  spdlctl top imagenet-train --batch --interval 60 >> train.log\n"
    "  spdlctl -o json top --iterations 1 | jq .verdicts";

}  // namespace

Command top_command() {
  return {"watch pipelines, sessions and what limits them, live on a terminal", kTopMore, &declare_top};
}

}  // namespace spdld::cli
