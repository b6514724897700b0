#include "daemon/metrics/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>

#include "config/operation.h"
#include "daemon/base/system/cpu.h"
#include "daemon/metrics/rates.h"

namespace spdld::metrics {
namespace {

constexpr double kJudgedFromS = 0.5;      // in a shorter window all waiting is noise
constexpr double kWaitingMin = 0.02;      // trainers that wait less have what they want
constexpr double kBusy = 0.85;            // a part that is busy for this share of the time limits the others
constexpr double kHalfBusy = 0.5;         // a part that waits for cores need not be busy all the time
constexpr double kCoreWait = 0.25;        // above this, the threads' real trouble is the cores
constexpr double kCoreWaitNoticed = 0.1;  // above this, it is worth a remedy
constexpr double kOwnPart = 0.75;         // below this, other pipelines have the threads
constexpr double kDearOperation = 0.2;    // of the decoding: worth a remedy of its own
constexpr double kLanesFactorMax = 4;     // beyond so many times the lanes nothing is forecast
constexpr double kNoticed = 1.05;         // a smaller speedup is not worth a sentence
constexpr uint64_t kFewBatches = 8;       // from so many on, a window has seen enough

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.*f %%", share < 0.0995 ? 1 : 0, share * 100);
  return text;
}

std::string times(double factor) {
  char text[16];
  std::snprintf(text, sizeof text, factor < 9.95 ? "%.1f x" : "%.0f x", factor);
  return text;
}

std::string duration(double seconds) {
  char text[32];
  if (seconds < 1e-3)
    std::snprintf(text, sizeof text, "%.0f us", seconds * 1e6);
  else if (seconds < 1)
    std::snprintf(text, sizeof text, seconds < 0.01 ? "%.1f ms" : "%.0f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

std::string counted(double number, const char* unit) {
  const auto whole = static_cast<long long>(std::llround(number));
  return std::to_string(whole) + " " + unit + (whole == 1 ? "" : "s");
}

uint64_t batches_of(const PipelineFigures& pipeline) {
  uint64_t batches = 0;
  for (const RingFigures& ring : pipeline.rings) batches += ring.batches;
  return batches;
}

size_t readers_of(const PipelineFigures& pipeline) {
  size_t readers = 0;
  for (const RingFigures& ring : pipeline.rings) readers += ring.readers.size();
  return readers;
}

// One judgement: the figures, and the verdict as far as it is written.
class Judge {
 public:
  Judge(const Window& window, const PipelineFigures& pipeline)
      : window_(window), pipeline_(pipeline), rates_(rates_of_parts(window, pipeline)) {
    verdict_.waiting = rates_.waiting;
    verdict_.samples_per_s = rates_.now;
    verdict_.trainer_per_s = rates_.trainer;
  }

  Verdict decide() && {
    if (is_unknown()) return std::move(verdict_);
    if (pipeline_.waiting_out_faults > 0)
      on_source();
    else if (pipeline_.waiting_for_memory > 0 || pipeline_.memory_waits > 0)
      on_short_memory();
    else if (rates_.waiting < kWaitingMin)
      on_trainer();
    else if (rates_.copy_use >= kBusy)
      on_copy();
    else if (rates_.decode_use >= kBusy && rates_.decode_use >= rates_.fetch_use)
      on_decode();
    else if (rates_.decode_use >= kHalfBusy && rates_.core_wait >= kCoreWait)
      on_taken_cores(decode_threads());
    else if (rates_.fetch_use >= kBusy && rates_.fetch_core_wait >= kCoreWait)
      on_taken_cores_of_reads();
    else if (rates_.fetch_use >= kBusy)
      on_fetch();
    else if (pipeline_.in_flight_waits > 0)
      on_bytes_in_flight();
    else if (pipeline_.lent_waits > 0)
      on_lent_memory();
    else
      on_uneven();
    return std::move(verdict_);
  }

 private:
  bool say(Limiter limiter, std::string sentence) {
    verdict_.limiter = limiter;
    verdict_.sentence = std::move(sentence);
    return true;
  }

  void suggest(std::string change, double speedup, bool is_done = false) {
    verdict_.remedies.push_back({std::move(change), speedup, is_done});
  }

  bool is_unknown() {
    if (readers_of(pipeline_) == 0) return say(Limiter::kUnknown, "No trainer is attached.");
    if (window_.seconds < kJudgedFromS || rates_.decode == nullptr)
      return say(Limiter::kUnknown, "Too little has run yet to say what limits.");
    const bool stands = batches_of(pipeline_) == 0 && rates_.waiting == 0 && pipeline_.waiting_out_faults == 0 &&
                        pipeline_.waiting_for_memory == 0;
    if (!stands) return false;
    bool is_ready = false;
    for (const RingFigures& ring : pipeline_.rings) is_ready = is_ready || ring.ready > 0;
    if (is_ready) {
      say(Limiter::kTrainer, "The trainer has taken no batch in " + duration(window_.seconds) +
                                 ", and batches lie ready: the trainer computes or stands still.");
      verdict_.confidence = 1;
      return true;
    }
    return say(Limiter::kUnknown, "No batch was asked for in " + duration(window_.seconds) + ".");
  }

  // How much was seen, and how far the busiest part stands out from the others.
  void trust(double first, double second) {
    const double seen = std::min(1.0, static_cast<double>(batches_of(pipeline_)) / kFewBatches);
    const double margin = first > 0 ? 1 - std::min(1.0, second / first) : 0;
    verdict_.confidence = seen * (0.5 + 0.5 * std::min(1.0, 2 * margin));
  }

  std::string waits() const { return "the trainer waits " + percent(rates_.waiting) + " of its time"; }

  void on_source() {
    std::string at = pipeline_.store.empty() ? "the source" : pipeline_.store;
    say(Limiter::kSource, counted(static_cast<double>(pipeline_.waiting_out_faults), "sample") + " wait for " + at +
                              ", which fails and is asked again; " + waits() + ".");
    suggest("`spdlctl status` tells what the source answers.", 0);
    verdict_.confidence = 1;
  }

  void on_short_memory() {
    say(Limiter::kMemory, "The node is short of memory: samples waited for memory " +
                              counted(static_cast<double>(pipeline_.memory_waits), "time") + " in " +
                              duration(window_.seconds) + ", and " + waits() + ".");
    suggest("Give the daemon more memory, or lower `ram_bytes_max` of [cache] in its file.", 0);
    verdict_.confidence = 1;
  }

  void on_trainer() {
    double ready = 0;
    for (const RingFigures& ring : pipeline_.rings)
      if (ring.batches > 0)
        ready = std::max(ready, static_cast<double>(ring.ready_sum) / static_cast<double>(ring.batches));
    char ready_text[16];
    std::snprintf(ready_text, sizeof ready_text, "%.1f", ready);
    say(Limiter::kTrainer, "The trainer sets the pace: it waits " + percent(rates_.waiting) +
                               " of its time, and finds " + ready_text + " batches ready on average.");
    const double capacity = loader_rate();
    if (rates_.now > 0 && capacity > rates_.now * kNoticed)
      suggest("Nothing is to be mended in the loader: it could deliver about " + times(capacity / rates_.now) +
                  " as many samples.",
              0);
    if (rates_.core_wait >= kCoreWait)
      suggest("The decode threads wait for a core " + percent(rates_.core_wait) + " of their time, since " +
                  who_has_the_cores() + ": that may slow the trainer as well.",
              0);
    trust(1, std::max(rates_.waiting / kWaitingMin, std::max(rates_.decode_use, rates_.fetch_use) - 0.5));
  }

  // The rate that fetch and decode would deliver with all lanes that they may have.
  double loader_rate() const {
    Rates loader = rates_;
    loader.trainer = 0;
    return loader.with(static_cast<double>(rates_.fetch->lanes_max),
                       static_cast<double>(rates_.decode->lanes_max) * std::max(rates_.own_part, 0.01));
  }

  void on_copy() {
    say(Limiter::kCopy,
        "Copies to the GPU are under way " + percent(rates_.copy_use) + " of the time, and " + waits() + ".");
    suggest("Send fewer bytes: uint8 or float16 in place of float32, and normalise on the GPU.", 0);
    trust(rates_.copy_use, std::max(rates_.decode_use, rates_.fetch_use));
  }

  void on_decode() {
    trust(rates_.decode_use, std::max(rates_.fetch_use, rates_.copy_use));
    const std::string threads = decode_threads();
    if (rates_.core_wait >= kCoreWait) return on_taken_cores(threads);
    if (rates_.own_part < kOwnPart) return on_other_pipelines(threads);
    say(Limiter::kDecode, "Decoding is busy " + percent(rates_.decode_use) + " of the time on " + threads + " (" +
                              duration(rates_.decode_s) + " a sample" + dearest() + "), and " + waits() + ".");
    if (rates_.core_wait >= kCoreWaitNoticed)
      suggest_cores(rates_.speedup(rates_.fetch_lanes(), rates_.decode_lanes()));
    suggest_threads();
    suggest_operations();
    suggest_cache(true);
  }

  std::string decode_threads() const { return counted(static_cast<double>(rates_.decode->lanes), "decode thread"); }

  std::string who_has_the_cores() const {
    return rates_.throttled > kWaitingMin
               ? "the CPU quota of the daemon's cgroup holds them back " + percent(rates_.throttled) + " of the time"
               : "other programs have the cores";
  }

  void suggest_cores(double speedup) {
    suggest(rates_.throttled > kWaitingMin ? "Raise the quota (CPUQuota= of the service, or cpu.max)."
                                           : "Move other programs off the node, or give spdld cores of its own.",
            speedup);
  }

  void on_taken_cores(const std::string& threads) {
    trust(rates_.core_wait, 0);
    say(Limiter::kCpu, "The " + threads + " wait for a core " + percent(rates_.core_wait) + " of their time, since " +
                           who_has_the_cores() + "; " + waits() + ".");
    suggest_cores(rates_.speedup(rates_.fetch_lanes(), rates_.decode_lanes()));
    suggest_operations();
  }

  // The time of a read is mostly the time in which its thread has no core.
  void on_taken_cores_of_reads() {
    trust(rates_.fetch_core_wait, 0);
    say(Limiter::kCpu, "The threads that read wait for a core " + percent(rates_.fetch_core_wait) +
                           " of the time, since " + who_has_the_cores() + "; " + waits() + ".");
    suggest_cores(
        rates_.speedup(rates_.fetch_lanes() / (1 - std::min(rates_.fetch_core_wait, 0.95)), rates_.decode_lanes()));
  }

  void on_other_pipelines(const std::string& threads) {
    say(Limiter::kCpu, "Other pipelines have " + percent(1 - rates_.own_part) + " of the time of the " + threads +
                           ", which are busy " + percent(rates_.decode_use) + " of the time; " + waits() + ".");
    suggest("Raise this pipeline's cpu_weight; alone on the threads it would deliver more.",
            rates_.speedup(rates_.fetch_lanes(), static_cast<double>(rates_.decode->lanes)));
    suggest_threads();
    suggest_operations();
  }

  // The lanes with which this part would not limit any more. A trainer that waits nearly always tells little of its own
  // rate: then it is twice the lanes.
  double lanes_wanted(double seconds, double lanes) const {
    const double enough = rates_.trainer > 0 ? std::ceil(rates_.trainer * seconds - 0.05) : 0;
    return enough > 0 && enough <= kLanesFactorMax * lanes ? std::max(lanes, enough) : 2 * lanes;
  }

  void suggest_threads() {
    const auto lanes = static_cast<double>(rates_.decode->lanes), most = static_cast<double>(rates_.decode->lanes_max);
    const double wanted = lanes_wanted(rates_.decode_s / std::max(rates_.own_part, 0.01), lanes);
    if (wanted <= lanes) return;
    const double by_itself = std::min(wanted, most);
    if (by_itself > lanes)
      suggest("The daemon takes up to " + counted(most, "decode thread") + " by itself, as far as its tuning is free.",
              rates_.speedup(rates_.fetch_lanes(), by_itself * rates_.own_part), true);
    const bool is_enough = rates_.trainer > 0 && rates_.with(0, wanted * rates_.own_part) >= rates_.trainer;
    if (wanted > most)
      suggest(
          "With " + counted(wanted, "core") + " for decoding in place of " + counted(most, "core") +
              (is_enough ? ", the trainer would not wait for decoding." : ", more samples would be decoded at once."),
          rates_.speedup(static_cast<double>(rates_.fetch->lanes_max), wanted * rates_.own_part));
  }

  // Operations that take a large part of the decoding.
  void suggest_operations() {
    for (const OperationFigures& operation : pipeline_.operations) {
      const double share = share_of(operation);
      // A step that operations share, and what decodes, can't be left out.
      const config::OperationType* const type = config::find_operation(operation.op);
      if (share < kDearOperation || type == nullptr || type->decodes) continue;
      double rate = rates_.now / (1 - std::min(share, 0.99));
      const double others = rates_.with(static_cast<double>(rates_.fetch->lanes_max), 0);
      if (others > 0) rate = std::min(rate, others);
      suggest("`" + operation.op + "` of output '" + operation.output + "' takes " + percent(share) +
                  " of the decoding: without it, or with a cheaper one, a sample takes less.",
              rates_.now > 0 ? std::max(1.0, rate / rates_.now) : 0);
    }
  }

  // Values that are kept decoded cost neither their reading nor their decoding.
  void suggest_decoded() {
    if (!pipeline_.can_keep_decoded || pipeline_.cache_form == "decoded") return;
    double decoding = 0;
    std::string saved;
    for (const OperationFigures& operation : pipeline_.operations) {
      const config::OperationType* const type = config::find_operation(operation.op);
      if (type == nullptr || !type->picture().is_kept_decoded) continue;
      decoding += share_of(operation);
      saved = operation.op;
    }
    if (decoding == 0) return;
    const double rate = rates_.now / (1 - std::min(decoding, 0.95));
    const double most = rates_.trainer > 0 ? std::min(rate, rates_.trainer) : rate;
    suggest("cache = \"decoded\" (now \"" + pipeline_.cache_form + "\") leaves out " + saved +
                " from the second epoch on, for the samples that fit in the cache's memory.",
            rates_.now > 0 ? std::max(1.0, most / rates_.now) : 0);
  }

  // The two operations that take the most: ": decode-image 61 %, resample 30 %".
  std::string dearest() const {
    std::vector<const OperationFigures*> sorted;
    for (const OperationFigures& operation : pipeline_.operations)
      if (share_of(operation) > 0) sorted.push_back(&operation);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return mean_of(*a) > mean_of(*b); });
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(sorted.size(), 2); i++)
      text += (i == 0 ? ": " : ", ") + sorted[i]->op + " " + percent(share_of(*sorted[i]));
    return text;
  }

  // Of the time of all operations on a sample.
  double share_of(const OperationFigures& operation) const {
    double all = 0;
    for (const OperationFigures& one : pipeline_.operations) all += mean_of(one);
    return all > 0 ? mean_of(operation) / all : 0;
  }

  static double mean_of(const OperationFigures& operation) {
    return operation.samples == 0 ? 0 : static_cast<double>(operation.busy_ns) / static_cast<double>(operation.samples);
  }

  // The cache's part: without the reading, a forecast; without a part of the decoding, a hint.
  void suggest_cache(bool of_decoding) {
    uint64_t entries = 0, misses = 0, samples = 0;
    std::set<std::string_view> fields;  // a field may be kept in several forms, each sample in one of them
    for (const CacheFigures& cache : pipeline_.caches) {
      entries += std::max(cache.memory_entries, cache.disk_entries);
      misses += cache.misses;
      if (fields.insert(cache.field).second) samples += cache.samples;
    }
    if (misses > 0 && samples > entries && !pipeline_.caches.empty())
      return suggest("The cache is being filled: it has " + counted(static_cast<double>(entries), "sample") + " of " +
                         std::to_string(samples) + " so far.",
                     0, true);
    if (of_decoding) suggest_decoded();
    if (!of_decoding && pipeline_.cache_form == "off") {
      const double rate = rates_.with(0, static_cast<double>(rates_.decode->lanes_max) * rates_.own_part);
      suggest("With cache = \"encoded\", epochs after the first do not read, as far as the data fits.",
              rates_.now > 0 && rate > 0 ? std::max(1.0, rate / rates_.now) : 0);
    }
  }

  void on_fetch() {
    trust(rates_.fetch_use, std::max(rates_.decode_use, rates_.copy_use));
    const StageFigures& fetch = *rates_.fetch;
    const bool is_remote = !pipeline_.store.empty();
    const std::string reads = counted(static_cast<double>(fetch.lanes), is_remote ? "request" : "read") + " at once";
    const double mean_s = fetch.duration_ns.mean() * 1e-9;
    say(is_remote ? Limiter::kStore : Limiter::kFetch,
        (is_remote ? "The store " + pipeline_.store + " limits: the " + reads + " are under way "
                   : "Reading limits: the " + reads + " are under way ") +
            percent(rates_.fetch_use) + " of the time (" + duration(mean_s) + " a sample), and " + waits() + ".");
    const auto lanes = static_cast<double>(fetch.lanes), most = static_cast<double>(fetch.lanes_max);
    const double wanted = lanes_wanted(rates_.fetch_s, lanes);
    const double decode_lanes = static_cast<double>(rates_.decode->lanes_max) * rates_.own_part;
    if (!is_remote && std::min(wanted, most) > lanes)
      suggest("The daemon reads up to " + counted(most, "file") + " at once by itself, as far as its tuning is free.",
              rates_.speedup(std::min(wanted, most), decode_lanes), true);
    if (wanted > most) {
      const std::string key = is_remote ? "connections_max of the store" : "fetch_concurrency";
      suggest("Set " + key + " = " + std::to_string(static_cast<long long>(wanted)) + " in the daemon's file, if the " +
                  (is_remote ? "store" : "disk") + " takes so many at once.",
              rates_.speedup(wanted, decode_lanes));
    }
    suggest_cache(false);
  }

  void on_bytes_in_flight() {
    trust(1, std::max(rates_.decode_use, rates_.fetch_use));
    say(Limiter::kMemory, "Reads wait for room: " + counted(static_cast<double>(pipeline_.in_flight_waits), "read") +
                              " in " + duration(window_.seconds) +
                              " found the bytes in flight at their limit, decoding is busy " +
                              percent(rates_.decode_use) + " of the time, and " + waits() + ".");
    suggest("Raise inflight_bytes_per_pipeline_max in the daemon's file.",
            rates_.speedup(static_cast<double>(rates_.fetch->lanes_max),
                           static_cast<double>(rates_.decode->lanes_max) * rates_.own_part));
  }

  void on_lent_memory() {
    trust(1, std::max(rates_.decode_use, rates_.fetch_use));
    say(Limiter::kMemory, "Decoding waits for memory: " + counted(static_cast<double>(pipeline_.lent_waits), "sample") +
                              " in " + duration(window_.seconds) +
                              " found the memory for decoding at its limit, decoding is busy " +
                              percent(rates_.decode_use) + " of the time, and " + waits() + ".");
    suggest("Raise decode_bytes_per_pipeline_max and decode_bytes_max in the daemon's file.",
            rates_.speedup(static_cast<double>(rates_.fetch->lanes),
                           static_cast<double>(rates_.decode->lanes_max) * rates_.own_part));
  }

  // No part is busy, and still trainers wait: some samples take so long that the batches ahead do not bridge them.
  void on_uneven() {
    const StageFigures* slow = rates_.fetch;
    if (rates_.decode->duration_ns.quantile(0.999) > slow->duration_ns.quantile(0.999)) slow = rates_.decode;
    const double typical_s = spdld::seconds(slow->duration_ns.quantile(0.5));
    const double longest_s = spdld::seconds(slow->duration_ns.quantile(0.999));
    const std::string what = slow->name == "fetch" ? "fetching" : "decoding";
    trust(1, std::max(rates_.decode_use, rates_.fetch_use));
    say(Limiter::kStragglers, "No part is busy all the time, and " + waits() + ": " + what + " a sample takes " +
                                  duration(typical_s) + " mostly and up to " + duration(longest_s) +
                                  ", so that batches come in bursts.");
    uint64_t depth = 0;
    for (const RingFigures& ring : pipeline_.rings) depth = std::max(depth, ring.depth_max);
    suggest("Raise prefetch_depth (" + std::to_string(depth) +
                " now), so that batches that are ready bridge the slow samples.",
            rates_.speedup(static_cast<double>(rates_.fetch->lanes_max),
                           static_cast<double>(rates_.decode->lanes_max) * rates_.own_part));
  }

  const Window& window_;
  const PipelineFigures& pipeline_;
  const Rates rates_;
  Verdict verdict_;
};

}  // namespace

std::string_view limiter_name(Limiter limiter) {
  switch (limiter) {
    case Limiter::kUnknown:
      return "unknown";
    case Limiter::kTrainer:
      return "trainer";
    case Limiter::kFetch:
      return "fetch";
    case Limiter::kStore:
      return "store";
    case Limiter::kDecode:
      return "decode";
    case Limiter::kCpu:
      return "cpu";
    case Limiter::kMemory:
      return "memory";
    case Limiter::kCopy:
      return "copy";
    case Limiter::kStragglers:
      return "stragglers";
    case Limiter::kSource:
      return "source";
  }
  return "unknown";
}

Verdict judge(const Window& window, const PipelineFigures& pipeline) { return Judge(window, pipeline).decide(); }

}  // namespace spdld::metrics
