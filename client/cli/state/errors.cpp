// errors: the samples that could not be used, and why; once, or as they come.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "client/cli/query.h"
#include "client/cli/signals.h"
#include "client/cli/state/error_news.h"
#include "client/cli/state/watch.h"
#include "client/cli/table.h"
#include "config/text/state_folder.h"

namespace spdld::cli {
namespace {

using config::Json;

// The files and members that data sets miss.
std::string missing_text(const Json& document, const Page& page) {
  const Json& list = list_at(document, "missing");
  if (list.empty()) return {};
  Table table({{"PIPELINE"}, {"MISSING", Align::kLeft, Role::kWords}});
  for (const auto& missing : list)
    table.add({text_at(missing, "pipeline"), Cell(text_at(missing, "what"), Style::kWarning)});
  const uint64_t count = count_at(document, "missing_count");
  return table.text(page) + (count > list.size() ? count_text(count) + " in all\n" : "") + "\n";
}

constexpr size_t kLastErrorsBytesMax = size_t{16} << 20;

// The errors that this user's last private daemon with errors left behind.
Json last_errors(const std::string& pipeline) {
  const std::filesystem::path folder = config::default_state_folder();
  const std::filesystem::path path = folder / config::kLastErrorsFile;
  std::error_code ignored;
  std::ifstream file;  // stays closed where a named pipe lies there, which would be waited for
  if (std::filesystem::is_regular_file(path, ignored)) file.open(path, std::ios::binary);
  if (folder.empty() || !file.is_open())
    throw Failure(kWrong, "no private daemon has left errors: there is no " + path.string() + ".");
  std::string text(kLastErrorsBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  std::optional<Json> parsed = text.size() > kLastErrorsBytesMax ? std::nullopt : Json::parse(text);
  if (!parsed || !parsed->is_object()) throw Failure(kWrong, path.string() + " is damaged: delete it.");
  Json document = std::move(*parsed);
  if (pipeline.empty()) return document;
  for (const char* key : {"errors", "missing"}) {
    Json kept = Json::array();
    for (const auto& entry : list_at(document, key))
      if (text_or_empty(entry, "pipeline") == pipeline) kept.push_back(entry);
    document[key] = std::move(kept);
  }
  return document;
}

// The sum of the errors, and the samples of batches that they befell.
std::string errors_sum(const Json& document) {
  std::string text = counted(count_at(document, "total"), "error") + " in all, newest last\n";
  const uint64_t substituted = count_at(document, "substituted"), masked = count_at(document, "masked");
  const uint64_t absent = count_or_zero(document, "absent"), dropped = count_or_zero(document, "dropped");
  if (substituted + masked + absent == 0) return text;
  if (dropped > 0) text += "User code dropped " + counted(dropped, "sample") + ", which are no errors.\n";
  return text + "An error is a bad sample that was met, also where it was a substitute. In batches, " +
         counted(substituted, "sample") + " were substituted and " + count_text(masked) + " masked" +
         (absent == 0 ? "" : ", and " + count_text(absent) + " are absent") + ".\n";
}

ExitCode errors(const Globals& globals, const std::string& pipeline, bool last) {
  const Json document = last ? last_errors(pipeline) : ask(globals, "errors", pipeline);
  if (globals.json()) {
    print_json(document);
    return kFine;
  }
  const std::string head = last ? text_at(document, "daemon") + ", pid " + std::to_string(count_at(document, "pid")) +
                                      ", written " + text_at(document, "written") + "\n\n"
                                : std::string();
  const std::string missing = missing_text(document, page_of_stdout());
  const Json& list = list_at(document, "errors");
  if (list.empty()) {
    print(head + (missing.empty() ? "no errors\n" : missing + "no bad samples\n"));
    return kFine;
  }
  Table table({{"FIRST"},
               {"LAST"},
               {"PIPELINE"},
               {"SAMPLE", Align::kRight},
               {"NAME", Align::kLeft, Role::kWords},
               {"EPOCH", Align::kRight},
               {"TIMES", Align::kRight},
               {"KIND"},
               {"REASON", Align::kLeft, Role::kWords}});
  for (const auto& error : list) {
    table.add({Cell(text_at(error, "first"), Style::kDim), Cell(text_at(error, "last"), Style::kDim),
               text_at(error, "pipeline"), std::to_string(count_at(error, "sample")), text_at(error, "name"),
               std::to_string(count_at(error, "last_epoch")), count_text(count_at(error, "count")),
               text_at(error, "kind"), Cell(text_at(error, "reason"), Style::kWarning)});
  }
  print(head + missing + table.text(page_of_stdout()) + errors_sum(document));
  return kFine;
}

// Prints the news of one look.
void print_news(const Globals& globals, const ErrorNews::News& news) {
  std::string lines;
  Json more = Json::object();
  more["more"] = news.more;
  if (news.more > 0) lines += (globals.json() ? more.dump() : more_line(news.more)) + "\n";
  for (const Json& entry : news.entries) lines += (globals.json() ? entry.dump() : news_line(entry)) + "\n";
  if (!lines.empty()) print(lines);
}

// Looks again and again until the user ends it. A first look that fails ends it too; later a daemon may be restarted.
ExitCode follow_errors(const Globals& globals, const std::string& pipeline, double interval_s) {
  const Signals signals;
  ErrorNews news;
  bool has_seen = false, is_lost = false;
  for (;; signals.wait(interval_s)) {
    if (signals.end_asked()) return kFine;
    std::optional<Json> document;
    try {
      const Signals::Open open;
      document = ask(globals, "errors", pipeline);
    } catch (const Failure& failure) {
      if (signals.end_asked()) return kFine;
      if (!has_seen) throw;
      if (!std::exchange(is_lost, true)) std::fprintf(stderr, "spdlctl: %s\n", safe_lines(failure.what()).c_str());
      continue;
    }
    has_seen = true;
    is_lost = false;
    print_news(globals, news.note(*document));
  }
}

struct ErrorsWishes {
  std::string pipeline;
  bool last = false, follow = false;
  std::optional<double> interval_s;
};

void declare_errors(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<ErrorsWishes>();
  command.optional_word("PIPELINE", wishes->pipeline, "show only the errors of this pipeline");
  command.flag("--last", wishes->last, "show the errors that the last private daemon left behind; needs no daemon");
  command.flag("-f,--follow", wishes->follow, "print errors as they come, until Ctrl-C");
  command.number("--interval", wishes->interval_s, kIntervalMinS, kIntervalMaxS, "S",
                 "seconds between two looks, with --follow (default 1)");
  run = [&globals, wishes] {
    if (wishes->interval_s && !wishes->follow) throw Failure(kUsage, "--interval belongs to --follow: give both.");
    if (wishes->last && wishes->follow) throw Failure(kUsage, "--last and --follow exclude each other: give one.");
    if (wishes->follow) return follow_errors(globals, wishes->pipeline, wishes->interval_s.value_or(kIntervalS));
    return errors(globals, wishes->pipeline, wishes->last);
  };
}

constexpr const char* kErrorsMore =
    "Equal errors of one sample are counted together; the last 1,000 are kept. FIRST and LAST say when such an error "
    "was met, and TIMES how often. KIND is \"damaged\", \"unsupported\" for a picture in a format that this build does "
    "not decode, \"too_long\" for a sample that an output leaves out, or \"dropped\" for one that user code leaves "
    "out: "
    "these are no errors, and make room for others. If a pipeline has on_missing = \"warn\", a "
    "table above the errors lists what its data set misses. A private daemon leaves its errors behind for --last.\n\n"
    "With --follow, each new error is a line, and so is each error that was met again. The errors that were there "
    "before come first. One look prints at most 50 errors, the newest, below a line that counts the others. The "
    "command goes on when the daemon is restarted. Ctrl-C ends it with exit code 0. With -o json, each error is one "
    "line, and the count of others is {\"more\":N}.\n\n"
    "Examples:\n"
    "  spdlctl errors imagenet-train --follow\n"
    "  spdlctl -o json errors --follow --interval 10 >> errors.jsonl";

}  // namespace

Command errors_command() {
  return {"list samples that could not be used, what data sets miss, and why", kErrorsMore, &declare_errors};
}

}  // namespace spdld::cli
