#include "client/cli/state/activity.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "client/cli/query.h"

namespace spdld::cli {
namespace {

using config::Json;

constexpr size_t kWhole = std::numeric_limits<size_t>::max();  // columns: Facts breaks the lines
constexpr double kMostOf = 0.99;                               // of the samples: all of them fit

// How many entries more there is room for; none: nobody knows before there is one.
std::optional<double> more_entries(double room_bytes, uint64_t entries, double bytes) {
  if (entries == 0 || bytes <= 0) return std::nullopt;
  return room_bytes / (bytes / static_cast<double>(entries));
}

// How many samples of a field the cache keeps, of the samples that it will keep. Memory and disk hold the same
// samples as far as both have room, so the fuller of the two has all of them.
text::Progress kept_of(const Json& field, const Json& cache) {
  const uint64_t taken = count_or_zero(cache, "taken");
  const uint64_t in_memory = count_or_zero(field, "memory_entries"), on_disk = count_or_zero(field, "disk_entries");
  text::Progress kept;
  kept.what = text_or_empty(field, "field") + ":";
  kept.done = std::min(std::max(in_memory, on_disk), taken);  // another pipeline may have put more in
  kept.total = taken;
  kept.unit = "samples";
  const double room_bytes = number_or_zero(cache, "memory_room_bytes") + number_or_zero(field, "memory_left_bytes");
  const auto more_in_memory = more_entries(room_bytes, in_memory, number_or_zero(field, "memory_bytes"));
  const auto more_on_disk =
      more_entries(number_or_zero(cache, "disk_room_bytes"), on_disk, number_or_zero(field, "disk_bytes"));
  if (!more_in_memory && !more_on_disk) return kept;
  const double fit = std::max(static_cast<double>(in_memory) + more_in_memory.value_or(0),
                              static_cast<double>(on_disk) + more_on_disk.value_or(0));
  if (fit >= kMostOf * static_cast<double>(taken)) return kept;
  kept.total = std::max(static_cast<uint64_t>(fit), kept.done);
  kept.unit = "samples that fit, of " + count_text(taken);
  return kept;
}

// The ranks of one job on one stream.
struct Job {
  std::string name;
  uint64_t ranks = 0, batches = 0, samples = 0;
  uint64_t epoch = 0, done = 0, steps = 0;  // of the rank that is the farthest behind
};

std::map<std::string, Job> jobs_of(const Json& describe) {
  std::map<std::string, Job> jobs;
  for (const auto& ring : list_or_empty(describe, "rings")) {
    const bool shared = flag_or_false(ring, "shared");
    const std::string group = text_or_empty(ring, "group");
    const uint64_t steps = count_or_zero(ring, "steps_per_epoch"), batches = count_or_zero(ring, "batches");
    if (steps == 0) continue;  // the order is pushed: nobody knows how far it is
    const uint64_t epoch = count_or_zero(ring, "epoch");
    // `step` belongs to the last batch that was filled.
    const uint64_t done = std::min(count_or_zero(ring, "step") + (batches > 0 ? 1 : 0), steps);
    Job& job = jobs[shared ? "shared " + group : group];
    if (job.ranks == 0 || std::pair(epoch, done) < std::pair(job.epoch, job.done)) {
      job.epoch = epoch;
      job.done = done;
      job.steps = steps;
    }
    job.ranks++;
    job.batches += batches;
    job.samples += batches * count_or_zero(ring, "batch_size");
    const size_t sharing = list_or_empty(ring, "jobs").size();
    job.name = shared ? counted(sharing, "job") + " on one stream" : group;
  }
  return jobs;
}

}  // namespace

Activity::Pace& Activity::pace(const std::string& key) {
  Pace& pace = paces_[key];
  pace.seen = true;
  return pace;
}

Facts Activity::note(const Json& describe, double now_s) {
  now_s_ = now_s;
  for (auto& [key, pace] : paces_) pace.seen = false;
  Facts facts;
  note_listing(facts, describe);
  note_cached(facts, describe);
  note_jobs(facts, describe);
  std::erase_if(paces_, [](const auto& entry) { return !entry.second.seen; });
  return facts;
}

void Activity::note_listing(Facts& facts, const Json& describe) {
  if (text_or_empty(describe, "state") != "listing") return;
  const Json& listing = table_or_empty(describe, "listing");
  const uint64_t done = count_or_zero(listing, "done"), total = count_or_zero(listing, "total");
  text::Progress progress = text::progress_of(text_or_empty(listing, "what"), done, total);
  if (progress.unit.empty() && !progress.in_bytes) {
    facts.add("listing", "the daemon checks whether the last listing still holds");
    return;
  }
  progress.what.clear();
  Pace& its = pace("listing " + progress.unit);
  its.done.note(now_s_, done);
  facts.add("listing", text::progress_text(progress, {its.done.per_s(), its.done.left_s(total)}, 0, kWhole));
}

void Activity::note_cached(Facts& facts, const Json& describe) {
  const Json& cache = table_or_empty(describe, "cache");
  if (count_or_zero(cache, "taken") == 0) return;
  for (const auto& field : list_or_empty(cache, "fields")) {
    const text::Progress kept = kept_of(field, cache);
    Pace& its = pace("cached " + text_or_empty(field, "field") + " " + text_or_empty(field, "form"));
    its.done.note(now_s_, kept.done);
    const bool full = kept.done >= kept.total;
    facts.add("cached",
              text::progress_text(
                  kept, full ? text::Speed() : text::Speed{its.done.per_s(), its.done.left_s(kept.total)}, 0, kWhole));
  }
}

void Activity::note_jobs(Facts& facts, const Json& describe) {
  for (const auto& [key, job] : jobs_of(describe)) {
    Pace& its = pace("job " + key);
    const uint64_t before = job.epoch * job.steps;  // so that a new epoch does not begin anew
    its.done.note(now_s_, before + job.done);
    its.made.note(now_s_, job.samples);
    text::Progress progress;
    progress.what = job.name + (job.ranks > 1 ? ", " + counted(job.ranks, "rank") : "") + ": epoch " +
                    std::to_string(job.epoch) + ",";
    progress.done = job.done;
    progress.total = job.steps;
    progress.unit = "steps";
    progress.made_unit = "samples";
    facts.add("job", text::progress_text(progress, {its.made.per_s(), its.done.left_s(before + job.steps)}, 0, kWhole));
  }
}

}  // namespace spdld::cli
