// ping, status, ls: what the daemon says about itself, as tables.
#include <chrono>

#include "client/cli/query.h"
#include "client/cli/state/cache_text.h"
#include "client/cli/state/stores_text.h"
#include "client/cli/table.h"

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
               opened ? decimal_text(number_at(pipeline, "cpu_weight"), 2) : std::string("-"),
               opened ? percent_text(number_at(pipeline, "cpu_share")) : std::string("-"),
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

// One line a user: the part of the node that it has, and its limits.
std::string users_text(const Json& document, const Page& page) {
  Table table({{"USER", Align::kRight, Role::kKey},
               {"SESSIONS", Align::kRight},
               {"PIPELINES", Align::kRight},
               {"RINGS", Align::kRight},
               {"SLOTS", Align::kRight},
               {"IN THEM", Align::kRight},
               {"IN FLIGHT", Align::kRight},
               {"LISTINGS", Align::kRight},
               {"QUERIES", Align::kRight},
               {"WAITS", Align::kRight},
               {"REFUSED", Align::kRight}});
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
               bytes_text(number_at(user, "inflight_bytes")), bytes_text(number_at(user, "listing_bytes")),
               count_text(count_at(user, "queries")), count_text(count_at(user, "waits")),
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

void declare_ls(config::Arguments, const Globals& globals, RunCommand& run) {
  run = [&globals] { return list(globals); };
}

constexpr const char* kLsMore =
    "A named pipeline that nobody has opened yet is \"available\".\n\n"
    "CPU is the pipeline's share of all pipelines' decoding time in the last ten seconds. If pipelines want more time "
    "than there is, they share it by WEIGHT (cpu_weight in the pipeline's file, or in the daemon's file).";

void declare_ping(config::Arguments, const Globals& globals, RunCommand& run) {
  run = [&globals] { return ping(globals); };
}

void declare_status(config::Arguments, const Globals& globals, RunCommand& run) {
  run = [&globals] { return status(globals); };
}

constexpr const char* kStatusMore =
    "The table CACHED has one line for each field of each data set in the node's cache. USED says whether a pipeline "
    "has the data set open. Unused data sets make room for used ones. The table STORE has one line for each remote "
    "store that pipelines read from: RETRIED counts attempts that were made again, FAILED requests that ended with an "
    "error, and NOW those under way.";

}  // namespace

Command ls_command() { return {"list the pipelines", kLsMore, &declare_ls}; }

Command ping_command() { return {"see whether the daemon answers", "", &declare_ping}; }

Command status_command() {
  return {"show the daemon: CPU, memory, cache, sessions, pipelines", kStatusMore, &declare_status};
}

}  // namespace spdld::cli
