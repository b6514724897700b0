// trace: a recording of one pipeline, fetched from the daemon part by part, into a file for Perfetto or Chrome.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "client/cli/format.h"
#include "client/cli/new_file.h"
#include "client/cli/progress.h"
#include "client/cli/query.h"
#include "client/cli/signals.h"
#include "client/cli/state/chrome_trace.h"

namespace spdld::cli {
namespace {

using config::Json;

constexpr double kSeconds = 5, kSecondsMin = 0.1, kSecondsMax = 60;
constexpr double kLookEveryS = 0.5;  // at the progress

struct TraceWishes {
  std::string pipeline, file;
  std::optional<double> seconds;
};

std::string ring_name(const Json& ring) {
  const std::string group = text_at(ring, "group");
  return (group.empty() ? std::string("a ring") : "group " + group) + ", rank " +
         std::to_string(count_at(ring, "rank"));
}

TraceHead head_of(const Json& part) {
  TraceHead head;
  head.pipeline = text_at(part, "pipeline");
  head.daemon = text_at(part, "daemon");
  head.started = text_at(part, "started");
  head.pid = static_cast<int64_t>(count_at(part, "pid"));
  head.start_ns = count_at(part, "start_ns");
  head.seconds = number_at(part, "seconds");
  for (const Json& kind : list_at(part, "kinds"))
    head.kinds.push_back(
        {text_at(kind, "name"), text_at(kind, "shown"), text_at(kind, "form"), flag_or_false(kind, "is_of_sample")});
  for (const Json& thread : list_at(part, "threads"))
    head.threads.push_back({text_at(thread, "name"), static_cast<int64_t>(count_at(thread, "id"))});
  for (const Json& ring : list_at(part, "rings")) head.rings.push_back(ring_name(ring));
  return head;
}

void add_lines(ChromeTrace& trace, const Json& part) {
  const Json* const lines = part.find("lines");
  std::string_view rest = lines != nullptr && lines->is_string() ? std::string_view(lines->text()) : "";
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const auto note = parse_trace_note(rest.substr(0, end));
    if (!note || end == std::string_view::npos) throw Failure(kWrong, "the daemon answered with a broken note.");
    trace.add(*note);
    rest.remove_prefix(end + 1);
  }
}

// Until the time is over, or somebody asks for the end.
void wait(double seconds, const Signals& signals) {
  StderrProgress progress;
  const auto began = std::chrono::steady_clock::now();
  for (;;) {
    const double done_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (done_s >= seconds || signals.end_asked()) return;
    progress.show({"recording", static_cast<uint64_t>(done_s), static_cast<uint64_t>(seconds + 0.5), "seconds"});
    signals.wait(std::min(kLookEveryS, seconds - done_s));
  }
}

void print_outcome(const Globals& globals, const TraceWishes& wishes, const ChromeTrace& trace, const Json& part) {
  const uint64_t dropped = count_at(part, "dropped");
  const double seconds = number_at(part, "seconds");
  if (globals.json())
    return print_json({{"file", wishes.file},
                       {"pipeline", text_at(part, "pipeline")},
                       {"seconds", seconds},
                       {"notes", count_at(part, "notes")},
                       {"dropped", dropped},
                       {"events", trace.events()}});
  std::string text =
      safe_text(wishes.file) + ": " + decimal_text(seconds, 1) + " s with " +
      counted(trace.count(trace.last_work()), "sample") + " through " + safe_text(std::string(trace.last_work())) +
      " and " + counted(trace.count("publish"), "batch", "batches") + " made; open it at https://ui.perfetto.dev\n";
  if (dropped > 0)
    text += counted(dropped, "note") + " had no room, so the end of the trace is missing: note fewer seconds\n";
  print(fitted(text, page_of_stdout().columns));
}

ExitCode trace(const Globals& globals, const TraceWishes& wishes) {
  const double seconds = wishes.seconds.value_or(kSeconds);
  const Signals signals;
  NewFile file(wishes.file);
  const Json begun = ask(globals, "trace", wishes.pipeline + " start " + std::to_string(seconds));
  const std::string question = wishes.pipeline + " take " + std::to_string(count_at(begun, "recording")) + " ";
  wait(seconds, signals);
  std::optional<ChromeTrace> trace;
  Json part;
  uint64_t next = 0;
  do {
    part = ask(globals, "trace", question + std::to_string(next));
    if (!trace) trace.emplace(head_of(part), [&file](std::string_view text) { file.write(text); });
    add_lines(*trace, part);
    const uint64_t before = std::exchange(next, count_at(part, "next"));
    if (next <= before && next < count_at(part, "notes")) throw Failure(kWrong, "the daemon answered without notes.");
  } while (next < count_at(part, "notes"));
  trace->finish(count_at(part, "dropped"));
  const bool is_stdout = file.is_stdout();
  file.finish();
  if (!is_stdout) print_outcome(globals, wishes, *trace, part);
  return kFine;
}

void declare_trace(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<TraceWishes>();
  command.word("PIPELINE", wishes->pipeline, "the pipeline's name, as `spdlctl ls` shows it");
  command.word("FILE", wishes->file,
               "the file to write: all of it, or nothing; or a pipe or a device, such as /dev/stdout");
  command.number("--seconds", wishes->seconds, kSecondsMin, kSecondsMax, "S", "how long to note (default 5)");
  run = [&globals, wishes] { return trace(globals, *wishes); };
}

constexpr const char* kTraceMore =
    "The file is in Chrome's trace format: https://ui.perfetto.dev and chrome://tracing open it. It has each fetch and "
    "each decode by thread, the batches' ways from fetch to RELEASE as flows, waits as bars, and the lengths of queues "
    "and the states of slots as counters.\n\n"
    "The daemon makes one recording at a time, of one pipeline, and of about a million events; further ones are "
    "dropped, and counted. Ctrl-C ends the recording early and still writes the file. A recording slows the pipeline a "
    "little.\n\n"
    "Example:\n"
    "  spdlctl trace imagenet-train train.json --seconds 5";

}  // namespace

Command trace_command() {
  return {"record what the threads do for a pipeline, as a file for Perfetto or Chrome", kTraceMore, &declare_trace};
}

}  // namespace spdld::cli
