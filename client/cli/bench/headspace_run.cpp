// Measures the parts of a pipeline in turns, in daemons of the command's own.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <spdld.hpp>

#include "client/cli/bench/clock.h"
#include "client/cli/bench/headspace.h"
#include "client/cli/bench/own_daemon.h"
#include "client/cli/progress.h"
#include "client/cli/query.h"
#include "config/checks/load.h"

namespace spdld::cli {
namespace {

using config::Json;
constexpr int kRounds = 2;
constexpr uint64_t kMeasuredMax = 8192;      // samples that are used
constexpr uint64_t kMeasuredBatchesMin = 4;  // of the pipeline's batches
// Of each form's cache.
constexpr double kCacheBytesMax = 2.0 * (1 << 30);
constexpr double kCachePart = 0.1;  // of the memory that is free
constexpr double kPatience = 4;     // so many times a run's seconds, its warming up may take
constexpr uint32_t kReplayed = 2;
constexpr uint64_t kMinBatches = 2;  // of a run

volatile sig_atomic_t was_interrupted = 0;

// Ctrl-C ends the command as a failure does, so that nothing of its own is left behind.
class Interruptible {
 public:
  Interruptible() {
    struct sigaction action = {};
    action.sa_handler = [](int) { was_interrupted = 1; };
    for (const int signal : kSignals) ::sigaction(signal, &action, &before_[signal]);
  }
  ~Interruptible() {
    for (const int signal : kSignals) ::sigaction(signal, &before_[signal], nullptr);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  static void check() {
    if (was_interrupted) throw Failure(kWrong, "interrupted.");
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  std::map<int, struct sigaction> before_;
};

// With what the kernel keeps of files and would give back.
double free_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("MemAvailable:", 0) == 0)
      return std::strtod(line.c_str() + std::strlen("MemAvailable:"), nullptr) * 1024;
  }
  return static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double memory_bytes() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Of a daemon with so many decode threads (0: as many as it has cores). Nothing is tuned, so that every run has all
// threads from its first moment on.
std::string settings_text(uint32_t threads, double cache_bytes, const std::string& folder) {
  return "[limits]\ncpu_budget = " + std::to_string(threads) +
         "\n[tuning]\nenabled = false\n[cache]\nram_bytes_max = " + std::to_string(static_cast<uint64_t>(cache_bytes)) +
         "\n[state]\nfolder = \"" + folder + "/state\"\n";
}

// An epoch whose first samples are others than in any run before.
uint64_t fresh_epoch() {
  std::random_device random;
  return random();
}

// A trainer that does nothing with its batches.
class IdleTrainer {
 public:
  IdleTrainer(const BenchPlan& plan, const std::string& socket, const config::PipelineSpec& spec, uint32_t replay,
              StderrProgress& progress, uint64_t epoch = 0)
      : timeout_ms_(plan.timeout_ms), group_(plan.group + ":" + std::to_string(++count_)) {
    const std::string text = config::full_json(spec);
    AttachOptions options;
    options.socket = socket.c_str();
    options.spec = text.c_str();
    options.spec_is_json = 1;
    options.group = group_.c_str();
    options.device = plan.device.empty() ? nullptr : plan.device.c_str();
    options.world_size = 1;
    options.replay = replay;
    options.epoch = epoch;
    options.no_private_daemon = 1;
    options.client_name = "spdlctl bench";
    options.progress = [](void* line, const char* what, uint64_t done, uint64_t total) {
      static_cast<StderrProgress*>(line)->show(text::progress_of(what, done, total));
      return was_interrupted ? 1 : 0;
    };
    options.progress_user = &progress;
    options.warn = [](void*, const char*) {};  // of the replay, which the command itself wants
    try {
      loader_ = std::make_unique<Loader>(options);
    } catch (const Exception& error) {
      throw Failure(exit_code_of(error.result()), error.what());
    }
  }

  const std::string& group() const { return group_; }
  spdld_info info() const { return loader_->info(); }

  // The samples of the next batch.
  uint64_t take() {
    try {
      for (;;) {  // each turn but the last is an epoch's end
        const Loader::Next next = loader_->next(timeout_ms_);
        Interruptible::check();
        if (next.result == SPDLD_OK) return next.batch.info().valid;
        if (next.result == SPDLD_END_OF_EPOCH || next.result == SPDLD_INTERRUPTED) continue;
        throw Failure(kTimedOut, "no batch came within " + std::to_string(timeout_ms_) + " ms");
      }
    } catch (const Exception& error) {
      throw Failure(exit_code_of(error.result()), error.what());
    }
  }

 private:
  static inline uint64_t count_ = 0;
  const int64_t timeout_ms_;
  const std::string group_;
  std::unique_ptr<Loader> loader_;
};

class HeadspaceRun {
 public:
  HeadspaceRun(const BenchPlan& plan, const config::PipelineSpec& spec, const HeadspaceWishes& wishes)
      : plan_(plan), spec_(spec), run_s_(wishes.seconds / kRounds) {
    cache_bytes_ = std::min(kCacheBytesMax, kCachePart * free_bytes());
    result_.pipeline = plan.pipeline;
    result_.trainer_ms = wishes.trainer_ms;
    result_.memory_bytes = memory_bytes();
  }

  Headspace run() {
    try {
      return run_all();
    } catch (const Failure&) {
      // A signal interrupts whichever call waits, and Ctrl-C on a terminal ends the daemons as well.
      Interruptible::check();
      throw;
    }
  }

 private:
  Headspace run_all() {
    look_at_whole();
    std::vector<HeadspacePart> parts = headspace_parts(spec_, result_.threads);
    if (result_.measured >= result_.samples)
      std::erase_if(parts, [](const HeadspacePart& part) { return part.subject == HeadspaceSubject::kFetchAll; });
    for (const HeadspacePart& part : parts) {
      HeadspaceRow row{.subject = part.subject, .name = part.name, .what = part.what, .threads = result_.threads};
      row.fault = part.fault;
      if (part.subject == HeadspaceSubject::kThreads) row.threads = part.threads;
      if (part.subject == HeadspaceSubject::kCache) row.form = config::cache_form_name(part.spec.cache);
      result_.rows.push_back(std::move(row));
    }
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < parts.size(); ++i) {
        tell(round, i, parts.size());
        run_part(parts[i], result_.rows[i]);
      }
    }
    progress_.clear();
    return std::move(result_);
  }

  // The whole data set: how many samples there are, and how many of them a run of the whole takes.
  void look_at_whole() {
    config::PipelineSpec whole;
    for (const HeadspacePart& part : headspace_parts(spec_, 1)) {
      if (part.subject == HeadspaceSubject::kWhole) whole = part.spec;
    }
    const OwnDaemon& daemon = daemon_of("all", 0, 0);
    result_.threads = static_cast<uint32_t>(
        std::llround(number_at(table_at(ask(globals_of(daemon), "status"), "cpu"), "decode_concurrency")));
    IdleTrainer trainer(plan_, daemon.socket(), whole, 0, progress_);
    const spdld_info info = trainer.info();
    result_.samples = info.samples;
    const bool is_jobs = spec_.batch.global_size != 0;  // else each rank has batches of this size
    result_.step_samples = info.batch_size * (is_jobs ? 1 : plan_.world_size);
    warm_up(trainer, info.slot_count);
    const HeadspaceRound round = measure(trainer, daemon, result_.threads);
    const double a_run = round.images_per_s * run_s_ * kRounds;
    const uint64_t least = kMeasuredBatchesMin * info.batch_size;
    const uint64_t wanted = std::clamp(static_cast<uint64_t>(a_run), least, std::max(least, kMeasuredMax));
    result_.measured = std::min(wanted, info.samples);
  }

  void run_part(const HeadspacePart& part, HeadspaceRow& row) {
    if (!row.fault.empty()) return;
    try {
      const bool is_cache = part.subject == HeadspaceSubject::kCache;
      const bool is_fewer = part.subject == HeadspaceSubject::kThreads;
      const OwnDaemon& daemon = is_cache   ? daemon_of(row.form, 0, cache_bytes_)
                                : is_fewer ? daemon_of(part.name, part.threads, 0)
                                           : daemon_of("all", 0, 0);
      const bool is_all = part.subject == HeadspaceSubject::kFetchAll || result_.measured >= result_.samples;
      const config::PipelineSpec spec = is_all ? part.spec : with_first(part.spec, result_.measured);
      const uint32_t replay = part.subject == HeadspaceSubject::kHandOver ? kReplayed : 0;
      const uint64_t epoch = part.subject == HeadspaceSubject::kFetchAll ? fresh_epoch() : 0;
      IdleTrainer trainer(plan_, daemon.socket(), spec, replay, progress_, epoch);
      if (is_cache) fill_cache(trainer, daemon, row);
      // A replay is warm when the daemon has no room left to fill.
      warm_up(trainer, replay > 0 ? std::numeric_limits<uint64_t>::max() : trainer.info().slot_count);
      row.rounds.push_back(measure(trainer, daemon, row.threads));
    } catch (const Failure& failure) {
      Interruptible::check();
      row.fault = failure.what();
    }
  }

  // Takes batches that were made ahead, or until time is up, so that what follows is steady.
  void warm_up(IdleTrainer& trainer, uint64_t batches) const {
    const auto began = Clock::now();
    for (uint64_t taken = 0; taken < batches && (taken == 0 || seconds_since(began) < run_s_); ++taken) trainer.take();
  }

  HeadspaceRound measure(IdleTrainer& trainer, const OwnDaemon& daemon, uint32_t threads) const {
    const DaemonTime before = time_of(daemon);
    const double own_before_s = own_cpu_s();
    const auto began = Clock::now();
    uint64_t samples = 0;
    for (uint64_t taken = 0; taken < kMinBatches || seconds_since(began) < run_s_; ++taken) samples += trainer.take();
    const double took_s = std::max(seconds_since(began), 1e-9);
    const double own_s = own_cpu_s() - own_before_s;
    const DaemonTime after = time_of(daemon);
    const double daemon_s = after.cpu_s - before.cpu_s, cpu_s = daemon_s + own_s;
    const double wanted_s = daemon_s + std::max(0.0, after.delayed_s - before.delayed_s);
    const auto count = static_cast<double>(std::max<uint64_t>(samples, 1));
    return {.images_per_s = static_cast<double>(samples) / took_s,
            .cpu_ms = cpu_s * 1e3 / count,
            .cores = cpu_s / took_s,
            .busy = std::min(1.0, wanted_s / took_s / std::max<uint32_t>(threads, 1))};
  }

  // One epoch, as far as time allows; then what the cache has of it.
  void fill_cache(IdleTrainer& trainer, const OwnDaemon& daemon, HeadspaceRow& row) const {
    const auto began = Clock::now();
    for (uint64_t taken = 0; taken < result_.measured && seconds_since(began) < kPatience * run_s_ * kRounds;)
      taken += std::max<uint64_t>(trainer.take(), 1);
    const Globals globals = globals_of(daemon);
    const Json describe = ask(globals, "describe", open_pipeline_of(globals, trainer.group()));
    row.kept = 0;
    row.kept_bytes = 0;
    row.to_keep = result_.measured;
    for (const auto& field : list_or_empty(table_or_empty(describe, "cache"), "fields")) {
      row.kept = std::max(row.kept, count_or_zero(field, "memory_entries"));
      row.kept_bytes += number_or_zero(field, "memory_bytes");
    }
  }

  struct DaemonTime {
    double cpu_s, delayed_s;
  };
  static DaemonTime time_of(const OwnDaemon& daemon) {
    const Json status = ask(globals_of(daemon), "status");
    return {number_at(table_at(status, "cpu"), "used_s"), daemon.delayed_s()};
  }

  static Globals globals_of(const OwnDaemon& daemon) {
    Globals globals;
    globals.socket = daemon.socket();
    return globals;
  }

  const OwnDaemon& daemon_of(const std::string& name, uint32_t threads, double cache_bytes) {
    std::unique_ptr<OwnDaemon>& daemon = daemons_[name];
    const std::string file = "d" + std::to_string(daemons_.size());
    if (!daemon)
      daemon = std::make_unique<OwnDaemon>(folder_, file, settings_text(threads, cache_bytes, folder_.path()));
    return *daemon;
  }

  void tell(int round, size_t part, size_t parts) {
    Interruptible::check();
    text::Progress progress;
    progress.what = "round " + std::to_string(round + 1) + " of " + std::to_string(kRounds) + ":";
    progress.done = part;
    progress.total = parts;
    progress.unit = "rows";
    progress_.show(progress);
  }

  const BenchPlan& plan_;
  const config::PipelineSpec& spec_;
  const double run_s_;
  double cache_bytes_ = 0;
  Interruptible interruptible_;
  StderrProgress progress_;
  OwnFolder folder_;
  std::map<std::string, std::unique_ptr<OwnDaemon>> daemons_;
  Headspace result_;
};

// The spec of a named pipeline. Its daemon opens the pipeline for that, and hands out no batch.
config::Loaded<config::PipelineSpec> spec_of_name(const Globals& globals, const BenchPlan& plan) {
  AttachOptions options;
  options.socket = globals.socket_or_null();
  options.pipeline = plan.pipeline.c_str();
  options.group = plan.group.c_str();
  options.world_size = 1;
  options.held_max = 1;
  options.device = "cpu";
  options.no_private_daemon = 1;
  options.client_name = "spdlctl bench";
  try {
    const Loader held(options);
    const Json described = ask(globals, "describe", open_pipeline_of(globals, plan.group));
    return config::load_pipeline_json(table_at(described, "spec").dump(), plan.pipeline);
  } catch (const Exception& error) {
    throw Failure(exit_code_of(error.result()), error.what());
  }
}

config::PipelineSpec spec_of(const Globals& globals, const BenchPlan& plan) {
  const auto loaded = plan.spec.empty()   ? spec_of_name(globals, plan)
                      : plan.spec_is_json ? config::load_pipeline_json(plan.spec, plan.pipeline, plan.spec_folder)
                                          : config::load_pipeline_toml(plan.spec, plan.pipeline, plan.spec_folder);
  if (!loaded) throw Failure(kWrong, loaded.sentences());
  return *loaded.value;
}

}  // namespace

Headspace run_headspace(const Globals& globals, const BenchPlan& plan, const HeadspaceWishes& wishes) {
  return HeadspaceRun(plan, spec_of(globals, plan), wishes).run();
}

}  // namespace spdld::cli
