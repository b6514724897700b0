// describe: one pipeline, from its spec to each trainer's ring.
#include <algorithm>
#include <memory>
#include <sstream>

#include "client/cli/bottleneck.h"
#include "client/cli/cache_text.h"
#include "client/cli/query.h"
#include "client/cli/table.h"
#include "config/daemon_settings.h"

namespace spdld::cli {
namespace {

using Json = nlohmann::json;

// How many lanes a stage has: what the daemon says, else its settings' defaults.
Lanes lanes_of(const Globals& globals, const Json& describe) {
  Lanes lanes;
  const Json status = ask(globals, "status");
  lanes.decode = number_at(table_at(status, "cpu"), "budget");
  lanes.fetch = config::DaemonSettings{}.fetch_concurrency;
  for (const auto& stage : list_at(describe, "stages")) {
    const auto said = stage.find("lanes");
    if (said == stage.end() || !said->is_number()) continue;
    (text_at(stage, "name") == "decode" ? lanes.decode : lanes.fetch) = said->get<double>();
  }
  return lanes;
}

std::string ops_text(const Json& output) {
  std::string text;
  const auto ops = output.find("ops");
  if (ops == output.end() || !ops->is_array()) return text;
  for (const auto& op : *ops) {
    text += " > " + (op.is_object() && op.contains("op") ? text_at(op, "op") : safe_text(op.dump()));
  }
  return text;
}

// The spec in some lines; what it holds is shown as it is, since it may be of a newer daemon.
void add_spec(Facts& facts, const Json& spec) {
  const auto sources = spec.find("sources");
  if (sources != spec.end() && sources->is_array()) {
    for (const auto& source : *sources)
      facts.add("source", text_at(source, "name") + " = " + text_at(source, "type") + "  " + text_at(source, "uri"));
  }
  const auto source = spec.find("source");
  if (source != spec.end() && source->is_object()) {
    facts.add("source", text_at(*source, "type") + "  " + text_at(*source, "uri"));
  }
  const auto outputs = spec.find("output");
  if (outputs == spec.end() || !outputs->is_array()) return;
  for (const auto& output : *outputs) {
    facts.add("output", text_at(output, "name") + " = " + text_at(output, "from") + ops_text(output));
  }
}

void add_sources(Facts& facts, const Json& describe) {
  if (!describe.contains("sources")) return;  // an older daemon's
  for (const auto& source : list_at(describe, "sources")) {
    const double weight = number_at(source, "weight");
    std::ostringstream plain;
    plain << weight;
    facts.add("share", text_at(source, "name") + "  " + decimal_text(number_at(source, "share") * 100, 2) + " % of " +
                           "the samples (" + counted(count_at(source, "samples"), "sample") + " of its own" +
                           (weight > 0 ? ", weight " + plain.str() : std::string()) + ")");
  }
}

// What listings read of the pipeline's source or sources.
std::string listed(const Json& spec, uint64_t count) {
  std::vector<std::string> types;
  if (const auto sources = spec.find("sources"); sources != spec.end() && sources->is_array()) {
    for (const auto& source : *sources) types.push_back(text_at(source, "type"));
  } else {
    types.push_back(text_at(table_at(spec, "source"), "type"));
  }
  const auto archives = std::count(types.begin(), types.end(), "webdataset");
  if (archives == 0) return counted(count, "folder");
  if (archives == static_cast<std::ptrdiff_t>(types.size())) return counted(count, "archive");
  return counted(count, "folder or archive", "folders and archives");
}

void add_listing(Facts& facts, const Json& describe) {
  const Json& listing = table_at(describe, "listing");
  const uint64_t classes = count_at(listing, "classes");
  facts.add("samples", count_text(count_at(describe, "samples")) +
                           (classes > 0 ? " in " + counted(classes, "class", "classes") : std::string()) + ", " +
                           "listed in " + duration_text(number_at(listing, "seconds")) + " (" +
                           bytes_text(number_at(listing, "bytes")) + ")");
  if (const uint64_t kept = count_or_zero(listing, "kept"), read = count_or_zero(listing, "read"); kept + read > 0) {
    facts.add("listing", "of " + listed(table_at(describe, "spec"), kept + read) + " " + count_text(kept) +
                             " as kept, " + count_text(read) + " read");
  }
  for (const auto& remark : list_at(listing, "remarks")) {
    facts.add("remark",
              Cell(safe_text(remark.is_string() ? remark.get<std::string>() : remark.dump()), Style::kWarning));
  }
  const uint64_t remarks = count_at(listing, "remark_count");
  if (remarks > listing.at("remarks").size()) facts.add("remark", "... " + count_text(remarks) + " in all");
}

// Nothing of an older daemon.
void add_cpu(Facts& facts, const Json& cpu) {
  if (cpu.empty()) return;
  const double weight = number_at(cpu, "weight"), own_weight = number_at(cpu, "own_weight");
  facts.add("cpu",
            percent_text(number_at(cpu, "share")) + " of the decode threads' time of the last ten seconds, " +
                duration_text(number_at(cpu, "used_s")) + " in all; weight " + decimal_text(weight, 2) +
                (weight == own_weight ? "" : ", by the daemon's file (its own: " + decimal_text(own_weight, 2) + ")"));
}

std::string stages_text(const Json& describe, bool colour) {
  Table table({{"STAGE"},
               {"SAMPLES", Align::kRight},
               {"BYTES", Align::kRight},
               {"FAILURES", Align::kRight},
               {"BUSY", Align::kRight},
               {"MEAN", Align::kRight},
               {"P50", Align::kRight},
               {"P99", Align::kRight}});
  for (const auto& stage : list_at(describe, "stages")) {
    const uint64_t failures = count_at(stage, "failures");
    table.add({Cell(text_at(stage, "name"), Style::kStrong), count_text(count_at(stage, "samples")),
               bytes_text(number_at(stage, "bytes")),
               Cell(count_text(failures), failures > 0 ? Style::kWarning : Style::kPlain),
               duration_text(number_at(stage, "busy_s")), duration_text(number_at(stage, "mean_us") * 1e-6),
               duration_text(number_at(stage, "p50_us") * 1e-6), duration_text(number_at(stage, "p99_us") * 1e-6)});
  }
  return table.text(colour);
}

std::string memory_text(const Json& ring) {
  const std::string gpu = text_at(ring, "gpu");
  const std::string memory = text_at(ring, "memory");
  if (gpu.empty()) return memory + ", " + text_at(ring, "access");
  return memory + ", " + gpu + (ring.value("ready_early", false) ? ", ready early" : "");
}

std::string rank_text(const Json& ring) {
  return std::to_string(count_at(ring, "rank")) + "/" + std::to_string(count_at(ring, "world_size"));
}

std::string rings_text(const Json& describe, bool colour) {
  // SLOTS: free, being filled, ready, held by the trainer, in this order.
  Table table({{"GROUP"},
               {"RANK", Align::kRight},
               {"PIDS"},
               {"MEMORY"},
               {"SLOT", Align::kRight},
               {"FREE", Align::kRight},
               {"FILLING", Align::kRight},
               {"READY", Align::kRight},
               {"HELD", Align::kRight},
               {"EPOCH", Align::kRight},
               {"STEP", Align::kRight},
               {"BATCHES", Align::kRight},
               {"STARVED", Align::kRight},
               {"FULL", Align::kRight},
               {"FILL P50", Align::kRight},
               {"HELD P50", Align::kRight},
               {"READY MEAN", Align::kRight}});
  for (const auto& ring : list_at(describe, "rings")) {
    std::string pids;
    for (const auto& pid : list_at(ring, "pids")) pids += (pids.empty() ? "" : ",") + pid.dump();
    const double starved_s = number_at(ring, "starved_s");
    const uint64_t steps = count_at(ring, "steps_per_epoch");  // 0: its order is pushed
    const bool hungry = starved_s > number_at(ring, "full_s");
    const bool shared = ring.value("shared", false);
    table.add({shared ? Cell("(shared)", Style::kDim) : Cell(text_at(ring, "group")), rank_text(ring), pids,
               memory_text(ring), bytes_text(number_at(ring, "slot_bytes")), std::to_string(count_at(ring, "free")),
               std::to_string(count_at(ring, "filling")), std::to_string(count_at(ring, "ready")),
               std::to_string(count_at(ring, "held")), std::to_string(count_at(ring, "epoch")),
               std::to_string(count_at(ring, "step")) + "/" + (steps ? std::to_string(steps) : "?"),
               count_text(count_at(ring, "batches")),
               Cell(duration_text(starved_s), hungry ? Style::kWarning : Style::kPlain),
               duration_text(number_at(ring, "full_s")), duration_text(number_at(ring, "fill_p50_us") * 1e-6),
               duration_text(number_at(ring, "held_p50_us") * 1e-6), decimal_text(number_at(ring, "ready_mean"), 1)});
  }
  return table.empty() ? "no trainer is attached\n" : table.text(colour);
}

// Who shares a stream with whom, and who holds the others back.
std::string jobs_text(const Json& describe, bool colour) {
  Table table({{"JOB"},
               {"PID", Align::kRight},
               {"RANK", Align::kRight},
               {"TAKES BATCHES OF", Align::kRight},
               {"BEHIND", Align::kRight},
               {"HELD OTHERS BACK", Align::kRight}});
  for (const auto& ring : list_at(describe, "rings")) {
    const uint64_t copied_from = count_at(ring, "copied_from");
    const std::string size = std::to_string(count_at(ring, "batch_size")) +
                             (copied_from ? ", copied from " + std::to_string(copied_from) : "");
    for (const auto& job : list_at(ring, "jobs")) {
      const double lag_s = number_at(job, "lag_s");
      table.add({text_at(job, "group"), std::to_string(count_at(job, "pid")), rank_text(ring), size,
                 std::to_string(count_at(job, "behind")),
                 Cell(duration_text(lag_s), lag_s > 0 ? Style::kWarning : Style::kPlain)});
    }
  }
  return table.empty() ? "" : "\n" + table.text(colour);
}

ExitCode describe(const Globals& globals, const std::string& pipeline) {
  Json document = ask(globals, "describe", pipeline);
  const Bottleneck bottleneck = find_bottleneck(document, lanes_of(globals, document));
  if (globals.json()) {
    document["bottleneck"] = {{"part", bottleneck.part}, {"why", bottleneck.why}};
    print_json(document);
    return kFine;
  }
  const bool colour = colour_wanted();
  const std::string state = text_at(document, "state");
  const std::string reason = text_at(document, "reason");
  Facts facts;
  facts.add("pipeline", Cell(text_at(document, "name"), Style::kStrong));
  facts.add("state", Cell(state + (reason.empty() ? "" : ": " + reason), state_style(state)));
  add_spec(facts, table_at(document, "spec"));
  add_sources(facts, document);
  add_listing(facts, document);
  facts.add("fingerprint", Cell(text_at(document, "fingerprint"), Style::kDim));
  const Json& bad = table_at(document, "bad");
  const uint64_t bad_count = count_at(bad, "substituted") + count_at(bad, "masked");
  if (bad_count > 0) {
    facts.add("bad content",
              Cell(counted(count_at(bad, "substituted"), "sample") + " substituted, " +
                       count_text(count_at(bad, "masked")) + " masked; see `spdlctl errors " + pipeline + "`",
                   Style::kWarning));
  }
  const Style style = bottleneck.part == "trainer" ? Style::kGood
                      : bottleneck.part == "none"  ? Style::kPlain
                                                   : Style::kWarning;
  add_cache(facts, document);
  add_tuning(facts, document);
  add_cpu(facts, table_or_empty(document, "cpu"));
  facts.add("bottleneck", Cell(bottleneck.part + " (" + bottleneck.why + ")", style));
  print(facts.text(colour) + "\n" + stages_text(document, colour) + "\n" + cached_fields_text(document, colour) +
        tuning_text(document, colour) + rings_text(document, colour) + jobs_text(document, colour));
  return kFine;
}

}  // namespace

void declare_describe(CLI::App& command, const Globals& globals, Run& run) {
  const auto pipeline = std::make_shared<std::string>();
  command.add_option("PIPELINE", *pipeline, "its name, as `spdlctl ls` shows it")->required()->type_name("");
  run = [&globals, pipeline] { return describe(globals, *pipeline); };
}

}  // namespace spdld::cli
