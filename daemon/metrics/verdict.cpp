#include "daemon/metrics/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>
#include <utility>

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
constexpr double kOwnPartMin = 0.01;      // a smaller one says nothing
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
    else if (const StageRates* const taken = stage_without_cores(); taken != nullptr)
      on_taken_cores(*taken);
    else if (rates_.busiest().use >= kBusy)
      on_busy(rates_.busiest());
    else if (pipeline_.in_flight_waits > 0)
      on_bytes_in_flight();
    else if (pipeline_.lent_waits > 0)
      on_lent_memory();
    else
      on_uneven();
    return std::move(verdict_);
  }

 private:
  bool say(std::string_view limiter, std::string sentence) {
    verdict_.limiter = limiter;
    verdict_.sentence = std::move(sentence);
    return true;
  }

  void suggest(std::string change, double speedup, bool is_done = false) {
    verdict_.remedies.push_back({std::move(change), speedup, is_done});
  }

  bool is_unknown() {
    if (readers_of(pipeline_) == 0) return say(limiter::kUnknown, "No trainer is attached.");
    if (window_.seconds < kJudgedFromS || rates_.stages.empty())
      return say(limiter::kUnknown, "Too little has run yet to say what limits.");
    const bool stands = batches_of(pipeline_) == 0 && rates_.waiting == 0 && pipeline_.waiting_out_faults == 0 &&
                        pipeline_.waiting_for_memory == 0;
    if (!stands) return false;
    bool is_ready = false;
    for (const RingFigures& ring : pipeline_.rings) is_ready = is_ready || ring.ready > 0;
    if (is_ready) {
      say(limiter::kTrainer, "The trainer has taken no batch in " + duration(window_.seconds) +
                                 ", and batches lie ready: the trainer computes or stands still.");
      verdict_.confidence = 1;
      return true;
    }
    return say(limiter::kUnknown, "No batch was asked for in " + duration(window_.seconds) + ".");
  }

  // How much was seen, and how far the busiest part stands out from the others.
  void trust(double first, double second) {
    const double seen = std::min(1.0, static_cast<double>(batches_of(pipeline_)) / kFewBatches);
    const double margin = first > 0 ? 1 - std::min(1.0, second / first) : 0;
    verdict_.confidence = seen * (0.5 + 0.5 * std::min(1.0, 2 * margin));
  }

  std::string waits() const { return "the trainer waits " + percent(rates_.waiting) + " of its time"; }

  // The use of the busiest stage; of the others alone, where one of them is given.
  double stages_use(const StageRates* but = nullptr) const {
    double most = 0;
    for (const StageRates& stage : rates_.stages)
      if (&stage != but) most = std::max(most, stage.use);
    return most;
  }

  bool is_remote(const StageRates& of) const { return of.stage->account.reads_source && !pipeline_.store.empty(); }

  void on_source() {
    std::string at = pipeline_.store.empty() ? "the source" : pipeline_.store;
    for (const StageRates& of : rates_.stages)
      if (of.stage->waiting_out_faults > 0 && !is_remote(of)) at = of.stage->account.faulty;
    say(limiter::kSource, counted(static_cast<double>(pipeline_.waiting_out_faults), "sample") + " wait for " + at +
                              ", which fails and is asked again; " + waits() + ".");
    suggest("`spdlctl status` tells what the source answers.", 0);
    verdict_.confidence = 1;
  }

  void on_short_memory() {
    say(limiter::kMemory, "The node is short of memory: samples waited for memory " +
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
    say(limiter::kTrainer, "The trainer sets the pace: it waits " + percent(rates_.waiting) +
                               " of its time, and finds " + ready_text + " batches ready on average.");
    const double capacity = loader_rate();
    if (rates_.now > 0 && capacity > rates_.now * kNoticed)
      suggest("Nothing is to be mended in the loader: it could deliver about " + times(capacity / rates_.now) +
                  " as many samples.",
              0);
    for (const StageRates& of : rates_.stages)
      if (of.stage->account.is_on_pool && of.core_wait >= kCoreWait)
        suggest("The " + of.stage->account.lane + "s wait for a core " + percent(of.core_wait) +
                    " of their time, since " + who_has_the_cores() + ": that may slow the trainer as well.",
                0);
    trust(1, std::max(rates_.waiting / kWaitingMin, stages_use() - 0.5));
  }

  // The rate that the stages would deliver with all lanes that they may have.
  double loader_rate() const {
    Rates loader = rates_;
    loader.trainer = 0;
    for (StageRates& stage : loader.stages) stage.own_part = std::max(stage.own_part, kOwnPartMin);
    return loader.with(loader.lanes_max());
  }

  void on_copy() {
    say(limiter::kCopy,
        "Copies to the GPU are under way " + percent(rates_.copy_use) + " of the time, and " + waits() + ".");
    suggest("Send fewer bytes: uint8 or float16 in place of float32, and normalise on the GPU.", 0);
    trust(rates_.copy_use, stages_use());
  }

  // A stage whose threads have no core where they want one.
  const StageRates* stage_without_cores() const {
    const StageRates& busiest = rates_.busiest();
    if (busiest.use >= kBusy && busiest.core_wait >= kCoreWait) return &busiest;
    if (busiest.use >= kBusy && busiest.stage->account.is_on_pool) return nullptr;
    for (const StageRates& of : rates_.stages)
      if (of.stage->account.is_on_pool && of.use >= kHalfBusy && of.core_wait >= kCoreWait) return &of;
    return nullptr;
  }

  void on_busy(const StageRates& of) {
    const StageAccount& account = of.stage->account;
    trust(of.use, std::max(stages_use(&of), rates_.copy_use));
    if (of.own_part < kOwnPart) return on_other_pipelines(of);
    const std::string dear = dearest(*of.stage);
    say(is_remote(of) ? limiter::kStore : std::string_view(of.stage->name),
        (is_remote(of) ? "The store " + pipeline_.store : account.work) + " is busy " + percent(of.use) +
            " of the time " + account.at + " " + account.lanes(of.stage->lanes) + " (" + duration(of.sample_s) +
            " a sample" + dear + "), and " + waits() + ".");
    if (of.core_wait >= kCoreWaitNoticed) suggest_cores(rates_.speedup(rates_.lanes()));
    suggest_lanes(of);
    if (account.runs_operations) suggest_operations(of);
    suggest_cache(of);
  }

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

  // On the pool, a sample's time is CPU time. Elsewhere it is mostly the time in which its thread has no core.
  void on_taken_cores(const StageRates& of) {
    const StageAccount& account = of.stage->account;
    trust(of.core_wait, 0);
    say(limiter::kCpu, "The " + (account.is_on_pool ? account.lanes(of.stage->lanes) : account.lane + " threads") +
                           " wait for a core " + percent(of.core_wait) + " of their time, since " +
                           who_has_the_cores() + "; " + waits() + ".");
    std::vector<double> lanes = rates_.lanes();
    if (!account.is_on_pool) lanes[place_of(of)] /= 1 - std::min(of.core_wait, 0.95);
    suggest_cores(rates_.speedup(lanes));
    if (account.runs_operations) suggest_operations(of);
  }

  void on_other_pipelines(const StageRates& of) {
    const StageAccount& account = of.stage->account;
    say(limiter::kCpu, "Other pipelines have " + percent(1 - of.own_part) + " of the time of the " +
                           account.lanes(of.stage->lanes) + ", which are busy " + percent(of.use) + " of the time; " +
                           waits() + ".");
    std::vector<double> alone = rates_.lanes();
    alone[place_of(of)] = static_cast<double>(of.stage->lanes);
    suggest("Raise this pipeline's cpu_weight; alone on the threads it would deliver more.", rates_.speedup(alone));
    suggest_lanes(of);
    if (account.runs_operations) suggest_operations(of);
  }

  size_t place_of(const StageRates& of) const { return static_cast<size_t>(&of - rates_.stages.data()); }

  // With so many lanes of this stage, and as many of the others as they may have.
  std::vector<double> with_lanes(const StageRates& of, double lanes) const {
    std::vector<double> all = rates_.lanes_max();
    all[place_of(of)] = lanes * of.own_part;
    return all;
  }

  // The lanes with which this stage would not limit any more. A trainer that waits nearly always tells little of its
  // own rate: then it is twice the lanes.
  double lanes_wanted(const StageRates& of) const {
    const auto lanes = static_cast<double>(of.stage->lanes);
    const double lane_s = of.sample_s / std::max(of.own_part, kOwnPartMin);
    const double enough = rates_.trainer > 0 ? std::ceil(rates_.trainer * lane_s - 0.05) : 0;
    return enough > 0 && enough <= kLanesFactorMax * lanes ? std::max(lanes, enough) : 2 * lanes;
  }

  void suggest_lanes(const StageRates& of) {
    const StageAccount& account = of.stage->account;
    const uint64_t lanes = of.stage->lanes, most = of.stage->lanes_max;
    const auto wanted = static_cast<uint64_t>(std::llround(lanes_wanted(of)));
    if (wanted <= lanes) return;
    if (const uint64_t by_itself = std::min(wanted, most); by_itself > lanes)
      suggest("The daemon takes up to " + account.lanes(most) + " by itself, as far as its tuning is free.",
              rates_.speedup(with_lanes(of, static_cast<double>(by_itself))), true);
    if (wanted <= most || account.more.empty()) return;
    std::string more = account.more;
    for (const auto& [sign, number] : {std::pair{'#', wanted}, std::pair{'@', most}})
      if (const size_t at = more.find(sign); at != std::string::npos) more.replace(at, 1, std::to_string(number));
    std::vector<double> alone(rates_.stages.size(), 0);
    alone[place_of(of)] = static_cast<double>(wanted) * of.own_part;
    const bool is_enough = rates_.trainer > 0 && rates_.with(alone) >= rates_.trainer;
    suggest(more + (is_enough ? ", the trainer would not wait for " + account.work_inside() + "."
                              : ", more samples would be worked on at once."),
            rates_.speedup(with_lanes(of, static_cast<double>(wanted))));
  }

  // Operations that take a large part of the decoding.
  void suggest_operations(const StageRates& of) {
    std::vector<double> without = rates_.lanes_max();
    without[place_of(of)] = 0;
    const double others = rates_.with(without);
    for (const OperationFigures& operation : pipeline_.operations) {
      const double share = share_of(operation);
      // A step that operations share, and what decodes, can't be left out.
      const config::OperationType* const type = config::find_operation(operation.op);
      if (share < kDearOperation || type == nullptr || type->decodes) continue;
      double rate = rates_.now / (1 - std::min(share, 0.99));
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

  // The two operations of a stage that take the most: ": decode-image 61 %, resample 30 %".
  std::string dearest(const StageFigures& stage) const {
    const std::string_view does = stage.account.runs_operations ? std::string_view() : stage.name;
    std::vector<const OperationFigures*> sorted;
    for (const OperationFigures& operation : pipeline_.operations)
      if (operation.stage == does && share_of(operation) > 0) sorted.push_back(&operation);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return mean_of(*a) > mean_of(*b); });
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(sorted.size(), 2); i++)
      text += (i == 0 ? ": " : ", ") + sorted[i]->op + " " + percent(share_of(*sorted[i]));
    return text;
  }

  // Of the time of all operations of its stage on a sample.
  double share_of(const OperationFigures& operation) const {
    double all = 0;
    for (const OperationFigures& one : pipeline_.operations)
      if (one.stage == operation.stage) all += mean_of(one);
    return all > 0 ? mean_of(operation) / all : 0;
  }

  static double mean_of(const OperationFigures& operation) {
    return operation.samples == 0 ? 0 : static_cast<double>(operation.busy_ns) / static_cast<double>(operation.samples);
  }

  // The cache's part: without the reading, a forecast; without a part of the decoding, a hint.
  void suggest_cache(const StageRates& of) {
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
    if (of.stage->account.runs_operations) suggest_decoded();
    if (of.stage->account.reads_source && pipeline_.cache_form == "off") {
      std::vector<double> others = rates_.lanes_max();
      others[place_of(of)] = 0;
      const double rate = rates_.with(others);
      suggest("With cache = \"encoded\", epochs after the first do not read, as far as the data fits.",
              rates_.now > 0 && rate > 0 ? std::max(1.0, rate / rates_.now) : 0);
    }
  }

  std::string busiest_use() const {
    return rates_.busiest().stage->account.work_inside() + " is busy " + percent(rates_.busiest().use) + " of the time";
  }

  void on_bytes_in_flight() {
    trust(1, stages_use());
    say(limiter::kMemory, "Reads wait for room: " + counted(static_cast<double>(pipeline_.in_flight_waits), "read") +
                              " in " + duration(window_.seconds) + " found the bytes in flight at their limit, " +
                              busiest_use() + ", and " + waits() + ".");
    suggest("Raise inflight_bytes_per_pipeline_max in the daemon's file.", rates_.speedup(rates_.lanes_max()));
  }

  void on_lent_memory() {
    trust(1, stages_use());
    say(limiter::kMemory, "Decoding waits for memory: " + counted(static_cast<double>(pipeline_.lent_waits), "sample") +
                              " in " + duration(window_.seconds) + " found the memory for decoding at its limit, " +
                              busiest_use() + ", and " + waits() + ".");
    suggest("Raise decode_bytes_per_pipeline_max and decode_bytes_max in the daemon's file.",
            rates_.speedup(rates_.lanes_max()));
  }

  // No part is busy, and still trainers wait: some samples take so long that the batches ahead do not bridge them.
  void on_uneven() {
    const StageFigures* slow = rates_.stages.front().stage;
    for (const StageRates& of : rates_.stages)
      if (of.stage->duration_ns.quantile(0.999) > slow->duration_ns.quantile(0.999)) slow = of.stage;
    const double typical_s = spdld::seconds(slow->duration_ns.quantile(0.5));
    const double longest_s = spdld::seconds(slow->duration_ns.quantile(0.999));
    trust(1, stages_use());
    say(limiter::kStragglers, "No part is busy all the time, and " + waits() + ": " + slow->account.work_inside() +
                                  " a sample takes " + duration(typical_s) + " mostly and up to " +
                                  duration(longest_s) + ", so that batches come in bursts.");
    uint64_t depth = 0;
    for (const RingFigures& ring : pipeline_.rings) depth = std::max(depth, ring.depth_max);
    suggest("Raise prefetch_depth (" + std::to_string(depth) +
                " now), so that batches that are ready bridge the slow samples.",
            rates_.speedup(rates_.lanes_max()));
  }

  const Window& window_;
  const PipelineFigures& pipeline_;
  const Rates rates_;
  Verdict verdict_;
};

}  // namespace

Verdict judge(const Window& window, const PipelineFigures& pipeline) { return Judge(window, pipeline).decide(); }

}  // namespace spdld::metrics
