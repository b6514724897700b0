#include "client/cli/state/describe_text.h"

#include <algorithm>
#include <sstream>

#include "client/cli/query.h"
#include "client/cli/state/cache_text.h"
#include "client/cli/state/verdict_text.h"
#include "config/catalogue.h"

namespace spdld::cli {
namespace {

using config::Json;

std::string ops_text(const Json& output) {
  std::string text;
  for (const Json& op : list_or_empty(output, "ops")) {
    text += " > " + (op.is_object() && op.contains("op") ? text_at(op, "op") : safe_text(op.dump()));
  }
  return text;
}

// A text, or a webdataset's list of them.
std::string uris_text(const Json& source) {
  const Json* const uri = source.find("uri");
  if (uri == nullptr || !uri->is_array()) return text_at(source, "uri");
  std::string text;
  for (const auto& one : *uri) text += (text.empty() ? "" : ", ") + (one.is_string() ? safe_text(one.text()) : "");
  return text;
}

// The spec in some lines; what it holds is shown as it is.
void add_spec(Facts& facts, const Json& spec) {
  for (const Json& source : list_or_empty(spec, "sources"))
    facts.add("source", text_at(source, "name") + " = " + text_at(source, "type") + "  " + uris_text(source));
  const Json* const source = spec.find("source");
  if (source != nullptr && source->is_object())
    facts.add("source", text_at(*source, "type") + "  " + uris_text(*source));
  for (const Json& output : list_or_empty(spec, "output"))
    facts.add("output", text_at(output, "name") + " = " + text_at(output, "from") + ops_text(output));
}

void add_sources(Facts& facts, const Json& describe) {
  for (const auto& source : list_at(describe, "sources")) {
    const double weight = number_at(source, "weight");
    std::ostringstream plain;
    plain << weight;
    facts.add("share", text_at(source, "name") + "  " + decimal_text(number_at(source, "share") * 100, 2) + " % of " +
                           "the samples (" + counted(count_at(source, "samples"), "sample") + " of its own" +
                           (weight > 0 ? ", weight " + plain.str() : std::string()) + ")");
  }
}

void add_buckets(Facts& facts, const Json& describe) {
  if (!describe.contains("padding")) {  // batches are bounded by their size
    for (const auto& bucket : list_at(describe, "buckets"))
      facts.add("bucket", count_text(count_at(bucket, "height")) + " x " + count_text(count_at(bucket, "width")) +
                              "  " + counted(count_at(bucket, "samples"), "sample"));
    return;
  }
  const Json& padding = table_at(describe, "padding");
  facts.add("padding", "at most " + percent_text(number_at(padding, "of_buckets")) + " of a full batch; " +
                           percent_text(number_at(padding, "of_one_bucket")) + " if all samples were one bucket");
  for (const auto& bucket : list_at(describe, "buckets")) {
    facts.add("bucket", "up to " + count_text(count_at(bucket, "edge")) + "  " +
                            counted(count_at(bucket, "samples"), "sample") + ", " +
                            count_text(count_at(bucket, "batch_size")) + " a batch, padding at most " +
                            percent_text(number_at(bucket, "padding")));
  }
}

// The folders, archives and other files that the listing read, counted.
std::string listed(const Json& spec, uint64_t count) {
  std::vector<std::string> types;
  if (const Json* const sources = spec.find("sources"); sources != nullptr && sources->is_array()) {
    for (const auto& source : *sources) types.push_back(text_at(source, "type"));
  } else {
    types.push_back(text_at(table_at(spec, "source"), "type"));
  }
  const auto count_of = [&](std::string_view reads) {
    return std::count_if(types.begin(), types.end(), [&](const std::string& name) {
      const config::SourceType* const type = config::find_source(name);
      return type != nullptr && type->reads == reads;
    });
  };
  const auto archives = count_of("archive"), folders = count_of("folder");
  const auto all = static_cast<std::ptrdiff_t>(types.size());
  if (folders == all) return counted(count, "folder");
  if (archives == all) return counted(count, "archive");
  if (archives + folders == all) return counted(count, "folder or archive", "folders and archives");
  return counted(count, folders == 0 ? "file" : "folder or file", folders == 0 ? "files" : "folders and files");
}

// Nothing before the first listing has ended.
void add_listing(Facts& facts, const Json& describe) {
  const Json& listing = table_at(describe, "listing");
  if (text_at(describe, "fingerprint").empty()) return;
  const uint64_t classes = count_at(listing, "classes");
  facts.add("samples", count_text(count_at(describe, "samples")) +
                           (classes > 0 ? " in " + counted(classes, "class", "classes") : std::string()) + ", " +
                           "listed in " + duration_text(number_at(listing, "seconds")) + " (" +
                           bytes_text(number_at(listing, "bytes")) + ")");
  if (const uint64_t kept = count_or_zero(listing, "kept"), read = count_or_zero(listing, "read"); kept + read > 0) {
    facts.add("listing", listed(table_at(describe, "spec"), kept + read) + ": " + count_text(kept) +
                             " unchanged since the kept listing, " + count_text(read) + " read");
  }
  for (const auto& remark : list_at(listing, "remarks")) {
    facts.add("remark", Cell(safe_text(remark.is_string() ? remark.text() : remark.dump()), Style::kWarning));
  }
  if (const uint64_t missing = count_or_zero(listing, "missing_count"); missing > 0) {
    facts.add("missing",
              Cell("the data set is not whole: " + counted(missing, "of these remarks tells", "of these remarks tell") +
                       " of lost samples (on_missing = \"warn\")",
                   Style::kWarning));
  }
  const uint64_t remarks = count_at(listing, "remark_count");
  if (remarks > list_at(listing, "remarks").size()) facts.add("remark", "... " + count_text(remarks) + " in all");
}

void add_cpu(Facts& facts, const Json& cpu) {
  const double weight = number_at(cpu, "weight"), own_weight = number_at(cpu, "own_weight");
  facts.add("cpu",
            percent_text(number_at(cpu, "share")) + " of all pipelines' decoding in the last ten seconds, " +
                duration_text(number_at(cpu, "used_s")) + " in all; weight " + decimal_text(weight, 2) +
                (weight == own_weight ? "" : ", by the daemon's file (its own: " + decimal_text(own_weight, 2) + ")"));
}

std::string stages_text(const Json& describe, const Page& page) {
  Table table({{"STAGE", Align::kLeft, Role::kKey},
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
  return table.text(page);
}

// The time of an operation of the daemon's is measured for one sample in many, so shares are of the time of one sample.
std::string operations_text(const Json& describe, const Page& page) {
  const auto each_s = [](const Json& operation) {
    const double samples = number_at(operation, "samples");
    return samples > 0 ? number_at(operation, "busy_s") / samples : 0;
  };
  double all_s = 0;
  for (const auto& operation : list_or_empty(describe, "operations")) all_s += each_s(operation);
  if (all_s == 0) return "";
  Table table({{"OUTPUT", Align::kLeft, Role::kKey},
               {"OPERATION", Align::kLeft, Role::kKey},
               {"IN"},
               {"MEAN", Align::kRight},
               {"SHARE", Align::kRight}});
  for (const auto& operation : list_or_empty(describe, "operations")) {
    const std::string stage = text_at(operation, "stage");
    table.add({Cell(text_at(operation, "output"), Style::kStrong), text_at(operation, "op"),
               stage.empty() ? "decode threads" : stage, duration_text(each_s(operation)),
               percent_text(each_s(operation) / all_s)});
  }
  return table.text(page) + "\n";
}

std::string memory_text(const Json& ring) {
  const std::string gpu = text_at(ring, "gpu");
  const std::string memory = text_at(ring, "memory");
  if (gpu.empty()) return memory + ", " + text_at(ring, "access");
  return memory + ", " + gpu + (flag_or_false(ring, "ready_early") ? ", ready early" : "");
}

std::string rank_text(const Json& ring) {
  return std::to_string(count_at(ring, "rank")) + "/" + std::to_string(count_at(ring, "world_size"));
}

std::string rings_text(const Json& describe, const Page& page) {
  Table table({{"GROUP", Align::kLeft, Role::kKey},
               {"RANK", Align::kRight, Role::kKey},
               {"PIDS"},
               {"EPOCH", Align::kRight},
               {"STEP", Align::kRight},
               {"BATCHES", Align::kRight},
               {"STARVED", Align::kRight},
               {"FULL", Align::kRight},
               {"FREE", Align::kRight, Role::kFigure, true},  // slots, as the following three
               {"FILLING", Align::kRight},
               {"READY", Align::kRight},
               {"HELD", Align::kRight},
               {"READY MEAN", Align::kRight},
               {"FILL P50", Align::kRight, Role::kFigure, true},
               {"HELD P50", Align::kRight},
               {"SLOT", Align::kRight},
               {"MEMORY"}});
  for (const auto& ring : list_at(describe, "rings")) {
    std::string pids;
    for (const auto& pid : list_at(ring, "pids")) pids += (pids.empty() ? "" : ",") + pid.dump();
    const double starved_s = number_at(ring, "starved_s");
    const uint64_t steps = count_at(ring, "steps_per_epoch");  // 0: its order is pushed
    const bool hungry = starved_s > number_at(ring, "full_s");
    const bool shared = flag_or_false(ring, "shared");
    table.add({shared ? Cell("(shared)", Style::kDim) : Cell(text_at(ring, "group")), rank_text(ring), pids,
               std::to_string(count_at(ring, "epoch")),
               std::to_string(count_at(ring, "step")) + "/" + (steps ? std::to_string(steps) : "?"),
               count_text(count_at(ring, "batches")),
               Cell(duration_text(starved_s), hungry ? Style::kWarning : Style::kPlain),
               duration_text(number_at(ring, "full_s")), std::to_string(count_at(ring, "free")),
               std::to_string(count_at(ring, "filling")), std::to_string(count_at(ring, "ready")),
               std::to_string(count_at(ring, "held")), decimal_text(number_at(ring, "ready_mean"), 1),
               duration_text(number_at(ring, "fill_p50_us") * 1e-6),
               duration_text(number_at(ring, "held_p50_us") * 1e-6), bytes_text(number_at(ring, "slot_bytes")),
               memory_text(ring)});
  }
  return table.empty() ? "no trainer is attached\n" : table.text(page);
}

// The jobs that share a stream, and the job that holds the others back.
std::string jobs_text(const Json& describe, const Page& page) {
  Table table({{"JOB", Align::kLeft, Role::kKey},
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
  return table.empty() ? "" : "\n" + table.text(page);
}

void add_state(Facts& facts, const Json& document) {
  const std::string state = text_at(document, "state");
  const std::string reason = text_at(document, "reason");
  facts.add("pipeline", Cell(text_at(document, "name"), Style::kStrong));
  facts.add("state", Cell(state + (reason.empty() ? "" : ": " + reason), state_style(state)));
}

void add_bad(Facts& facts, const Json& document) {
  const Json& bad = table_at(document, "bad");
  const uint64_t dropped = count_at(bad, "dropped"), absent = count_at(bad, "absent");
  if (count_at(bad, "damaged") + count_at(bad, "unsupported") + count_at(bad, "too_long") > 0) {
    facts.add("bad content", Cell(counted(count_at(bad, "substituted"), "sample") + " substituted, " +
                                      count_text(count_at(bad, "masked")) + " masked" +
                                      (absent == 0 ? "" : ", " + count_text(absent) + " absent") +
                                      (dropped == 0 ? "" : ", with dropped ones") + "; see `spdlctl errors " +
                                      text_at(document, "name") + "`",
                                  Style::kWarning));
  }
  if (dropped > 0) facts.add("dropped", counted(dropped, "sample") + " by user code");
}

void add_trimmed(Facts& facts, const Json& document) {
  const Json& trimmed = table_or_empty(document, "trimmed");
  if (trimmed.empty()) return;
  facts.add("trimmed",
            Cell("tags, or a packet that was cut, left out of " + counted(count_at(trimmed, "samples"), "sound") +
                 "; the last one is of sample " + count_text(count_at(trimmed, "last"))));
}

void add_bottleneck(Facts& facts, const Json& document) {
  facts.add("bottleneck", limiter_cell(table_at(document, "verdict")));
}

// The facts that stay as they are while the pipeline runs.
void add_what_it_is(Facts& facts, const Json& document) {
  add_spec(facts, table_at(document, "spec"));
  add_sources(facts, document);
  add_buckets(facts, document);
  add_listing(facts, document);
  const std::string fingerprint = text_at(document, "fingerprint");
  if (!fingerprint.empty()) facts.add("fingerprint", Cell(fingerprint, Style::kDim));
  const std::string code = text_at(document, "code");
  if (!code.empty()) facts.add("code", Cell(code, Style::kDim));
}

void add_how_it_runs(Facts& facts, const Json& document) {
  add_cache(facts, document);
  add_tuning(facts, document);
  add_cpu(facts, table_at(document, "cpu"));
}

std::string trainers_text(const Json& document, const Page& page) {
  return rings_text(document, page) + jobs_text(document, page);
}

// Of each a table with a blank line below it.
std::string parts_text(const Json& document, const Page& page) {
  return stages_text(document, page) + "\n" + operations_text(document, page) + cached_fields_text(document, page) +
         tuning_text(document, page);
}

}  // namespace

std::string describe_text(const Json& document, const Facts& moving, const Page& page) {
  Facts facts;
  add_state(facts, document);
  add_what_it_is(facts, document);
  add_bad(facts, document);
  add_trimmed(facts, document);
  add_how_it_runs(facts, document);
  facts.add(moving);
  add_bottleneck(facts, document);
  return facts.text(page) + "\n" + parts_text(document, page) + trainers_text(document, page);
}

std::string watch_text(const Json& document, const Facts& moving, const Page& page) {
  Facts first, last;
  add_state(first, document);
  first.add(moving);
  add_bottleneck(first, document);
  add_bad(first, document);
  add_trimmed(first, document);
  add_how_it_runs(last, document);
  add_what_it_is(last, document);
  return first.text(page) + "\n" + trainers_text(document, page) + "\n" + parts_text(document, page) + last.text(page);
}

}  // namespace spdld::cli
