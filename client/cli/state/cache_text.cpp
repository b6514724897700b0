#include "client/cli/state/cache_text.h"

#include <string_view>

#include "client/cli/query.h"

namespace spdld::cli {
namespace {

using config::Json;

double hits_of(const Json& field) { return number_or_zero(field, "memory_hits") + number_or_zero(field, "disk_hits"); }

// Of the looks for a sample, how many found it; before the first there is no rate.
std::string hit_rate_text(double hits, double misses) {
  return hits + misses > 0 ? percent_text(hits / (hits + misses)) : "-";
}

std::string limited(double bytes, double bytes_max) {
  return bytes_text(bytes) + " of at most " + bytes_text(bytes_max);
}

std::string cores_text(double cores) {
  return decimal_text(cores, cores == static_cast<double>(static_cast<uint64_t>(cores)) ? 0 : 1);
}

}  // namespace

void add_cache(Facts& facts, const Json& describe) {
  const Json& cache = table_or_empty(describe, "cache");
  const std::string asked = text_or_empty(cache, "asked"), form = text_or_empty(cache, "form");
  const std::string why = text_or_empty(cache, "why");
  if (asked.empty() && form.empty()) return;
  std::string text = form.empty() ? "not chosen yet" : form;
  if (!asked.empty() && asked != form) text += " (asked: " + asked + ")";
  if (!why.empty()) text += ": " + why;
  double hits = 0, misses = 0;
  for (const auto& field : list_or_empty(cache, "fields")) {
    hits += hits_of(field);
    misses += number_or_zero(field, "misses");
  }
  if (hits + misses > 0) text += "; hit rate " + hit_rate_text(hits, misses);
  facts.add("cache", text);
  const std::string trouble = text_or_empty(cache, "disk_trouble");
  if (!trouble.empty()) facts.add("cache on disk", Cell(trouble, Style::kWarning));
}

void add_tuning(Facts& facts, const Json& describe) {
  const Json& tuning = table_or_empty(describe, "tuning");
  if (tuning.empty()) return;
  const std::string reason = text_or_empty(tuning, "reason");
  facts.add("tuning",
            counted(count_or_zero(tuning, "changes"), "change") + (reason.empty() ? "" : ", last: " + reason));
}

std::string cached_fields_text(const Json& describe, const Page& page) {
  // BYTES: of the entries to its left. STALE: the file had changed. REFUSED: there was no room.
  Table table({{"CACHED", Align::kLeft, Role::kKey},
               {"FORM"},
               {"IN MEMORY", Align::kRight},
               {"BYTES", Align::kRight},
               {"ON DISK", Align::kRight},
               {"BYTES", Align::kRight},
               {"HIT RATE", Align::kRight, Role::kFigure, true},
               {"HITS", Align::kRight},
               {"FROM DISK", Align::kRight},
               {"MISSES", Align::kRight},
               {"STALE", Align::kRight},
               {"REFUSED", Align::kRight}});
  for (const auto& field : list_or_empty(table_or_empty(describe, "cache"), "fields")) {
    const uint64_t from_disk = count_or_zero(field, "disk_hits"), misses = count_or_zero(field, "misses");
    table.add({Cell(text_or_empty(field, "field"), Style::kStrong), text_or_empty(field, "form"),
               count_text(count_or_zero(field, "memory_entries")), bytes_text(number_or_zero(field, "memory_bytes")),
               count_text(count_or_zero(field, "disk_entries")), bytes_text(number_or_zero(field, "disk_bytes")),
               hit_rate_text(hits_of(field), static_cast<double>(misses)),
               count_text(count_or_zero(field, "memory_hits") + from_disk), count_text(from_disk), count_text(misses),
               trouble_cell(count_or_zero(field, "stale")), trouble_cell(count_or_zero(field, "refused"))});
  }
  return table.empty() ? "" : table.text(page) + "\n";
}

std::string tuning_text(const Json& describe, const Page& page) {
  Table table({{"TUNED"}, {"NOW", Align::kRight}, {"MOST", Align::kRight}, {"OF"}, {"SET BY"}});
  const Json& tuning = table_or_empty(describe, "tuning");
  const bool off = tuning.contains("enabled") && !flag_or_false(tuning, "enabled");
  const auto add = [&](const std::string& name) {
    const Json& one = table_or_empty(tuning, name.c_str());
    if (one.empty()) return;
    table.add({Cell(name, Style::kStrong), count_text(count_or_zero(one, "now")), count_text(count_or_zero(one, "max")),
               text_or_empty(one, "unit"),
               flag_or_false(one, "pinned") ? "pinned"
               : off                        ? "its most"
                                            : "measurements"});
  };
  for (const Json& name : list_or_empty(tuning, "stages")) add(name.is_string() ? safe_text(name.text()) : "");
  add("depth");
  return table.empty() ? "" : table.text(page) + "\n";
}

void add_cpu_limits(Facts& facts, const Json& status) {
  const Json& cpu = table_at(status, "cpu");
  const double quota = number_at(cpu, "quota");
  std::string text;
  const auto say = [&text](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  say(quota > 0 ? "cgroup quota of " + cores_text(quota) + " cores" : "no cgroup quota");
  say("affinity to " + counted(count_at(cpu, "affinity"), "core"));
  say("machine of " + counted(count_at(cpu, "machine"), "core"));
  std::string nodes;
  for (const auto& node : list_at(cpu, "numa_nodes")) nodes += (nodes.empty() ? "" : " and ") + safe_text(node.dump());
  if (!nodes.empty()) say((list_at(cpu, "numa_nodes").size() > 1 ? "NUMA nodes " : "NUMA node ") + nodes);
  facts.add("cpu limits", text);
  facts.add("concurrency", "decode " + count_text(count_at(cpu, "decode_concurrency")) + ", fetch " +
                               count_text(count_at(cpu, "fetch_concurrency")));
}

void add_decode_limits(Facts& facts, const Json& status) {
  const Json& decode = table_at(status, "decode");
  const double cpu_ms = number_at(decode, "sample_ms_max"), bytes = number_at(decode, "sample_bytes_max");
  facts.add("one picture", (cpu_ms > 0 ? "at most " + duration_text(cpu_ms / 1000) + " of CPU time" : "any CPU time") +
                               (bytes > 0 ? ", at most " + bytes_text(bytes) + " of memory" : ", any memory"));
  const Json& memory = table_at(status, "memory");
  facts.add("decoding", limited(number_at(memory, "lent_bytes"), number_at(memory, "lent_bytes_max")) +
                            " lent to samples, which waited for it " + counted(count_at(memory, "lent_waits"), "time"));
}

void add_cache_limits(Facts& facts, const Json& status) {
  const Json& cache = table_or_empty(status, "cache");
  if (cache.empty()) return;
  const double ram_bytes_max = number_or_zero(cache, "ram_bytes_max");
  const std::string folder = text_or_empty(cache, "folder"), trouble = text_or_empty(cache, "disk_trouble");
  std::string text;
  if (ram_bytes_max > 0) text = limited(number_or_zero(cache, "ram_bytes"), ram_bytes_max);
  if (!folder.empty() && trouble.empty()) {
    text += (text.empty() ? "" : "; ") +
            limited(number_or_zero(cache, "disk_bytes"), number_or_zero(cache, "disk_bytes_max")) + " in " + folder;
  }
  facts.add("cache", text.empty() ? "off" : text);
  if (!trouble.empty()) facts.add("cache on disk", Cell(trouble, Style::kWarning));
  if (const uint64_t damaged = count_or_zero(cache, "damaged"); damaged > 0) {
    facts.add("cache damage",
              Cell(counted(damaged, "entry", "entries") + " on disk failed the checksum", Style::kWarning));
  }
}

std::string shelves_text(const Json& status, const Page& page) {
  Table table({{"CACHED", Align::kLeft, Role::kKey},
               {"FIELD"},
               {"FORM"},
               {"USED"},
               {"IN MEMORY", Align::kRight},
               {"ON DISK", Align::kRight}});
  for (const auto& shelf : list_or_empty(table_or_empty(status, "cache"), "shelves")) {
    table.add({Cell(text_or_empty(shelf, "uri"), Style::kStrong), text_or_empty(shelf, "field"),
               text_or_empty(shelf, "form"),
               flag_or_false(shelf, "in_use") ? Cell("yes", Style::kGood) : Cell("no", Style::kDim),
               bytes_text(number_or_zero(shelf, "memory_bytes")), bytes_text(number_or_zero(shelf, "disk_bytes"))});
  }
  return table.empty() ? "" : table.text(page) + "\n";
}

}  // namespace spdld::cli
