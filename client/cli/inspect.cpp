// ping, status, ls, errors: what the daemon says about itself, as tables.
#include <chrono>
#include <memory>

#include "client/cli/cache_text.h"
#include "client/cli/query.h"
#include "client/cli/table.h"

namespace spdld::cli {
namespace {

using Json = nlohmann::json;

Table pipelines_table(const Json& pipelines) {
  Table table({{"PIPELINE"},
               {"STATE"},
               {"UID", Align::kRight},
               {"SAMPLES", Align::kRight},
               {"RINGS", Align::kRight},
               {"BATCHES", Align::kRight},
               {"DELIVERED", Align::kRight},
               {"BAD", Align::kRight},
               {"WEIGHT", Align::kRight},
               {"CPU", Align::kRight},
               {"REASON"}});
  for (const auto& pipeline : pipelines) {
    const std::string state = text_at(pipeline, "state");
    const bool opened = state != "available";
    const auto count = [&](const char* key) { return opened ? count_text(count_at(pipeline, key)) : std::string("-"); };
    const uint64_t bad = count_at(pipeline, "bad");
    table.add({Cell(text_at(pipeline, "name"), Style::kStrong), Cell(state, state_style(state)), count("uid"),
               count("samples"), count("rings"), count("batches"), count("samples_delivered"),
               Cell(count("bad"), bad > 0 ? Style::kWarning : Style::kPlain),
               opened ? decimal_text(number_or_zero(pipeline, "cpu_weight"), 2) : std::string("-"),
               opened ? percent_text(number_or_zero(pipeline, "cpu_share")) : std::string("-"),
               text_at(pipeline, "reason")});
  }
  return table;
}

std::string sessions_text(const Json& sessions, bool colour) {
  Table table({{"SESSION", Align::kRight},
               {"CLIENT"},
               {"PID", Align::kRight},
               {"UID", Align::kRight},
               {"SINCE", Align::kRight},
               {"ATTACHMENTS", Align::kRight}});
  for (const auto& session : sessions) {
    table.add({std::to_string(count_at(session, "id")), text_at(session, "client"),
               std::to_string(count_at(session, "pid")), std::to_string(count_at(session, "uid")),
               duration_text(number_at(session, "since_s")), count_text(count_at(session, "attachments"))});
  }
  return table.empty() ? "no sessions\n" : table.text(colour);
}

// One line a GPU; where there is none the facts say why.
std::string gpus_text(const Json& gpus, bool colour) {
  Table table({{"GPU"},
               {"NAME"},
               {"STATE"},
               {"SLOTS", Align::kRight},
               {"IN THEM", Align::kRight},
               {"QUARANTINE", Align::kRight},
               {"STAGING", Align::kRight},
               {"CONTEXT", Align::kRight},
               {"COPIED", Align::kRight},
               {"PER SECOND", Align::kRight},
               {"REASON"}});
  for (const auto& gpu : list_at(gpus, "devices")) {
    const std::string state = text_at(gpu, "state");
    const double busy_s = number_at(gpu, "copy_busy_s"), copied = number_at(gpu, "copied_bytes");
    table.add({text_at(gpu, "uuid"), text_at(gpu, "name"), Cell(state, state_style(state)),
               count_text(count_at(gpu, "slots")), bytes_text(number_at(gpu, "slot_bytes")),
               bytes_text(number_at(gpu, "quarantined_bytes")), bytes_text(number_at(gpu, "staging_bytes")),
               bytes_text(number_at(gpu, "context_bytes")), bytes_text(copied),
               busy_s > 0 ? bytes_text(copied / busy_s) : std::string("-"), text_at(gpu, "reason")});
  }
  return table.empty() ? "" : table.text(colour) + "\n";
}

ExitCode status(const Globals& globals) {
  const Json document = ask(globals, "status");
  if (globals.json()) {
    print_json(document);
    return kFine;
  }
  const bool colour = colour_wanted();
  const Json& cpu = table_at(document, "cpu");
  const Json& memory = table_at(document, "memory");
  const std::string state = text_at(document, "state");
  Facts facts;
  facts.add("daemon", text_at(document, "daemon") + (document.value("private", false) ? ", private" : "") + ", pid " +
                          std::to_string(count_at(document, "pid")) + ", up " +
                          duration_text(number_at(document, "uptime_s")));
  facts.add("state", Cell(state, state_style(state)));
  facts.add("socket", text_at(document, "socket"));
  facts.add("cpu", counted(count_at(cpu, "budget"), "decode thread") + " on " +
                       counted(count_at(cpu, "cores"), "core") + " (set by: " + text_at(cpu, "limited_by") +
                       "), used " + duration_text(number_at(cpu, "used_s")) + ", of it decoding " +
                       duration_text(number_at(cpu, "decode_busy_s")));
  add_cpu_limits(facts, document);
  facts.add("memory",
            bytes_text(number_at(memory, "pss_bytes")) + "; slots " + bytes_text(number_at(memory, "slot_bytes")) +
                " of at most " + bytes_text(number_at(memory, "slot_bytes_max")) + ", spare ones " +
                bytes_text(number_at(memory, "spare_slot_bytes")) + "; huge pages: " + text_at(memory, "huge_pages"));
  add_cache_limits(facts, document);
  const Json& gpus = table_at(document, "gpus");
  const std::string driver = text_at(gpus, "driver"), reason = text_at(gpus, "reason");
  facts.add("gpus", driver.empty() ? (reason.empty() ? "not looked for yet" : "none (" + reason + ")")
                                   : count_text(list_at(gpus, "devices").size()) + ", driver for CUDA " + driver);
  const Table pipelines = pipelines_table(list_at(document, "pipelines"));
  print(facts.text(colour) + "\n" + shelves_text(document, colour) + gpus_text(gpus, colour) +
        sessions_text(list_at(document, "sessions"), colour) + "\n" +
        (pipelines.empty() ? "no pipelines\n" : pipelines.text(colour)));
  return kFine;
}

ExitCode list(const Globals& globals) {
  const Json document = ask(globals, "list");
  if (globals.json()) {
    print_json(document);
    return kFine;
  }
  const Table pipelines = pipelines_table(list_at(document, "pipelines"));
  print(pipelines.empty() ? "no pipelines\n" : pipelines.text(colour_wanted()));
  return kFine;
}

ExitCode errors(const Globals& globals, const std::string& pipeline) {
  const Json document = ask(globals, "errors", pipeline);
  if (globals.json()) {
    print_json(document);
    return kFine;
  }
  const Json& list = list_at(document, "errors");
  if (list.empty()) {
    print("no errors\n");
    return kFine;
  }
  Table table({{"TIME"},
               {"PIPELINE"},
               {"SAMPLE", Align::kRight},
               {"NAME"},
               {"EPOCH", Align::kRight},
               {"TIMES", Align::kRight},
               {"REASON"}});
  for (const auto& error : list) {
    table.add({Cell(text_at(error, "time"), Style::kDim), text_at(error, "pipeline"),
               std::to_string(count_at(error, "sample")), text_at(error, "name"),
               std::to_string(count_at(error, "epoch")), count_text(count_at(error, "count")),
               Cell(text_at(error, "reason"), Style::kWarning)});
  }
  const uint64_t total = count_at(document, "total");
  print(table.text(colour_wanted()) + counted(total, "error") + " in all, newest last\n");
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

void declare_ping(CLI::App&, const Globals& globals, Run& run) {
  run = [&globals] { return ping(globals); };
}

void declare_status(CLI::App&, const Globals& globals, Run& run) {
  run = [&globals] { return status(globals); };
}

void declare_list(CLI::App&, const Globals& globals, Run& run) {
  run = [&globals] { return list(globals); };
}

void declare_errors(CLI::App& command, const Globals& globals, Run& run) {
  const auto pipeline = std::make_shared<std::string>();
  command.add_option("PIPELINE", *pipeline, "only of this pipeline")->type_name("");
  run = [&globals, pipeline] { return errors(globals, *pipeline); };
}

}  // namespace spdld::cli
