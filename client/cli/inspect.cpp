// ping, status, ls, errors: what the daemon says about itself, as tables.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "client/cli/cache_text.h"
#include "client/cli/query.h"
#include "client/cli/stores_text.h"
#include "client/cli/table.h"
#include "config/state_folder.h"

namespace spdld::cli {
namespace {

using config::Json;

Table pipelines_table(const Json& pipelines) {
  Table table({{"PIPELINE", Align::kLeft, Role::kKey},
               {"STATE"},
               {"UID", Align::kRight},
               {"SAMPLES", Align::kRight},
               {"RINGS", Align::kRight},
               {"BATCHES", Align::kRight},
               {"BAD", Align::kRight},
               {"WEIGHT", Align::kRight},
               {"CPU", Align::kRight},
               {"REASON", Align::kLeft, Role::kWords}});
  for (const auto& pipeline : pipelines) {
    const std::string state = text_at(pipeline, "state");
    const bool opened = state != "available";
    const auto count = [&](const char* key) { return opened ? count_text(count_at(pipeline, key)) : std::string("-"); };
    const uint64_t bad = count_at(pipeline, "bad");
    table.add({Cell(text_at(pipeline, "name"), Style::kStrong), Cell(state, state_style(state)), count("uid"),
               count("samples"), count("rings"), count("batches"),
               Cell(count("bad"), bad > 0 ? Style::kWarning : Style::kPlain),
               opened ? decimal_text(number_or_zero(pipeline, "cpu_weight"), 2) : std::string("-"),
               opened ? percent_text(number_or_zero(pipeline, "cpu_share")) : std::string("-"),
               text_at(pipeline, "reason")});
  }
  return table;
}

std::string sessions_text(const Json& sessions, const Page& page) {
  Table table({{"SESSION", Align::kRight, Role::kKey},
               {"CLIENT", Align::kLeft, Role::kWords},
               {"PID", Align::kRight},
               {"UID", Align::kRight},
               {"SINCE", Align::kRight},
               {"ATTACHMENTS", Align::kRight}});
  for (const auto& session : sessions) {
    table.add({std::to_string(count_at(session, "id")), text_at(session, "client"),
               std::to_string(count_at(session, "pid")), std::to_string(count_at(session, "uid")),
               duration_text(number_at(session, "since_s")), count_text(count_at(session, "attachments"))});
  }
  return table.empty() ? "no sessions\n" : table.text(page);
}

// One line a user: the part of the node that it has, and its limits. An older daemon tells nothing of them.
std::string users_text(const Json& document, const Page& page) {
  Table table({{"USER", Align::kRight, Role::kKey},
               {"SESSIONS", Align::kRight},
               {"PIPELINES", Align::kRight},
               {"RINGS", Align::kRight},
               {"SLOTS", Align::kRight},
               {"IN THEM", Align::kRight},
               {"IN FLIGHT", Align::kRight},
               {"QUERIES", Align::kRight},
               {"WAITS", Align::kRight},
               {"REFUSED", Align::kRight}});
  if (!document.contains("users")) return "";
  const Json& limits = table_at(document, "limits");
  for (const auto& user : list_at(document, "users")) {
    const bool limited = flag_or_false(user, "limited");
    const auto part = [&](const char* key, const char* limit) {
      return count_text(count_at(user, key)) + (limited ? " of " + count_text(count_at(limits, limit)) : "");
    };
    const uint64_t refused = count_at(user, "refused");
    table.add({std::to_string(count_at(user, "uid")), part("sessions", "sessions_per_user_max"),
               part("pipelines", "pipelines_per_user_max"), part("rings", "rings_per_user_max"),
               part("slots", "slots_per_user_max"), bytes_text(number_at(user, "slot_bytes")),
               bytes_text(number_at(user, "inflight_bytes")), count_text(count_at(user, "queries")),
               count_text(count_at(user, "waits")),
               Cell(count_text(refused), refused > 0 ? Style::kWarning : Style::kPlain)});
  }
  return table.empty() ? "" : table.text(page) + "\n";
}

// One line a GPU; where there is none the facts say why.
std::string gpus_text(const Json& gpus, const Page& page) {
  Table table({{"GPU", Align::kLeft, Role::kKey},
               {"NAME", Align::kLeft, Role::kWords},
               {"STATE"},
               {"SLOTS", Align::kRight},
               {"IN THEM", Align::kRight},
               {"QUARANTINE", Align::kRight},
               {"STAGING", Align::kRight},
               {"CONTEXT", Align::kRight},
               {"COPIED", Align::kRight},
               {"PER SECOND", Align::kRight},
               {"REASON", Align::kLeft, Role::kWords}});
  for (const auto& gpu : list_at(gpus, "devices")) {
    const std::string state = text_at(gpu, "state");
    const double busy_s = number_at(gpu, "copy_busy_s"), copied = number_at(gpu, "copied_bytes");
    table.add({text_at(gpu, "uuid"), text_at(gpu, "name"), Cell(state, state_style(state)),
               count_text(count_at(gpu, "slots")), bytes_text(number_at(gpu, "slot_bytes")),
               bytes_text(number_at(gpu, "quarantined_bytes")), bytes_text(number_at(gpu, "staging_bytes")),
               bytes_text(number_at(gpu, "context_bytes")), bytes_text(copied),
               busy_s > 0 ? bytes_text(copied / busy_s) : std::string("-"), text_at(gpu, "reason")});
  }
  return table.empty() ? "" : table.text(page) + "\n";
}

ExitCode status(const Globals& globals) {
  const Json document = ask(globals, "status");
  if (globals.json()) {
    print_json(document);
    return kFine;
  }
  const Page page = page_of_stdout();
  const Json& cpu = table_at(document, "cpu");
  const Json& memory = table_at(document, "memory");
  const std::string state = text_at(document, "state");
  Facts facts;
  facts.add("daemon", text_at(document, "daemon") + (flag_or_false(document, "private") ? ", private" : "") + ", pid " +
                          std::to_string(count_at(document, "pid")) + ", up " +
                          duration_text(number_at(document, "uptime_s")));
  facts.add("state", Cell(state, state_style(state)));
  facts.add("socket", text_at(document, "socket"));
  facts.add("cpu", counted(count_at(cpu, "budget"), "decode thread") + " on " +
                       counted(count_at(cpu, "cores"), "core") + " (set by: " + text_at(cpu, "limited_by") +
                       "), used " + duration_text(number_at(cpu, "used_s")) + " (decoding " +
                       duration_text(number_at(cpu, "decode_busy_s")) + ")");
  add_cpu_limits(facts, document);
  facts.add("memory",
            bytes_text(number_at(memory, "pss_bytes")) + "; slots " + bytes_text(number_at(memory, "slot_bytes")) +
                " of at most " + bytes_text(number_at(memory, "slot_bytes_max")) + ", spare ones " +
                bytes_text(number_at(memory, "spare_slot_bytes")) + "; huge pages: " + text_at(memory, "huge_pages"));
  add_decode_limits(facts, document);
  add_cache_limits(facts, document);
  const Json& gpus = table_at(document, "gpus");
  const std::string driver = text_at(gpus, "driver"), reason = text_at(gpus, "reason");
  facts.add("gpus", driver.empty() ? (reason.empty() ? "not looked for yet" : "none (" + reason + ")")
                                   : count_text(list_at(gpus, "devices").size()) + ", driver for CUDA " + driver);
  const Table pipelines = pipelines_table(list_at(document, "pipelines"));
  print(facts.text(page) + "\n" + shelves_text(document, page) + stores_text(document, page) + gpus_text(gpus, page) +
        users_text(document, page) + sessions_text(list_at(document, "sessions"), page) + "\n" +
        (pipelines.empty() ? "no pipelines\n" : pipelines.text(page)));
  return kFine;
}

ExitCode list(const Globals& globals) {
  const Json document = ask(globals, "list");
  if (globals.json()) {
    print_json(document);
    return kFine;
  }
  const Table pipelines = pipelines_table(list_at(document, "pipelines"));
  print(pipelines.empty() ? "no pipelines\n" : pipelines.text(page_of_stdout()));
  return kFine;
}

// The files and members that data sets miss. An older daemon tells nothing of them.
std::string missing_text(const Json& document, const Page& page) {
  const Json& list = list_or_empty(document, "missing");
  if (list.empty()) return {};
  Table table({{"PIPELINE"}, {"MISSING", Align::kLeft, Role::kWords}});
  for (const auto& missing : list)
    table.add({text_at(missing, "pipeline"), Cell(text_at(missing, "what"), Style::kWarning)});
  const uint64_t count = count_or_zero(document, "missing_count");
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
    for (const auto& entry : list_or_empty(document, key))
      if (text_or_empty(entry, "pipeline") == pipeline) kept.push_back(entry);
    document[key] = std::move(kept);
  }
  return document;
}

// The sum of the errors, and the samples of batches that they befell. An older daemon tells the first number alone.
std::string errors_sum(const Json& document) {
  std::string text = counted(count_at(document, "total"), "error") + " in all, newest last\n";
  const uint64_t substituted = count_or_zero(document, "substituted"), masked = count_or_zero(document, "masked");
  if (substituted + masked == 0) return text;
  return text + "An error is a bad sample that was met, also where it was a substitute. In batches, " +
         counted(substituted, "sample") + " were substituted and " + count_text(masked) + " masked.\n";
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
  Table table({{"TIME"},
               {"PIPELINE"},
               {"SAMPLE", Align::kRight},
               {"NAME", Align::kLeft, Role::kWords},
               {"EPOCH", Align::kRight},
               {"TIMES", Align::kRight},
               {"KIND"},
               {"REASON", Align::kLeft, Role::kWords}});
  for (const auto& error : list) {
    table.add({Cell(text_at(error, "time"), Style::kDim), text_at(error, "pipeline"),
               std::to_string(count_at(error, "sample")), text_at(error, "name"),
               std::to_string(count_at(error, "epoch")), count_text(count_at(error, "count")),
               text_or_empty(error, "kind"), Cell(text_at(error, "reason"), Style::kWarning)});
  }
  print(head + missing + table.text(page_of_stdout()) + errors_sum(document));
  return kFine;
}

ExitCode ping(const Globals& globals) {
  const auto before = std::chrono::steady_clock::now();
  const Json document = ask(globals, "ping");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - before;
  if (globals.json()) {
    print_json(document);
    return kFine;
  }
  print(text_at(document, "daemon") + " answered in " + duration_text(taken.count()) + ": pid " +
        std::to_string(count_at(document, "pid")) + ", up " + duration_text(number_at(document, "uptime_s")) + "\n");
  return kFine;
}

}  // namespace

void declare_ping(config::Arguments, const Globals& globals, Run& run) {
  run = [&globals] { return ping(globals); };
}

void declare_status(config::Arguments, const Globals& globals, Run& run) {
  run = [&globals] { return status(globals); };
}

void declare_list(config::Arguments, const Globals& globals, Run& run) {
  run = [&globals] { return list(globals); };
}

void declare_errors(config::Arguments command, const Globals& globals, Run& run) {
  const auto pipeline = std::make_shared<std::string>();
  const auto last = std::make_shared<bool>(false);
  command.optional_word("PIPELINE", *pipeline, "show only the errors of this pipeline");
  command.flag("--last", *last, "show the errors that the last private daemon left behind; needs no daemon");
  run = [&globals, pipeline, last] { return errors(globals, *pipeline, *last); };
}

}  // namespace spdld::cli
