#include "tests/metrics/simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <random>
#include <vector>

#include "tests/metrics/stages.h"

namespace spdld::test {
namespace {

using metrics::NodeFigures;

constexpr double kMs = 1e-3;

// Values of a histogram at a moment are counts; a window needs the values since the half of the run.
struct Sums {
  uint64_t fetched = 0, decoded = 0, batches = 0, in_flight_waits = 0, ready_sum = 0;
  double fetch_busy = 0, decode_busy = 0, core_wait = 0, copy_busy = 0, waited = 0, full = 0;
  std::vector<uint64_t> fetch_ns, decode_ns, fill_ns;
};

struct Batch {
  unsigned unfetched = 0;  // samples that no request has taken yet
  unsigned undecoded = 0;
  double began = 0;
};

class Simulation {
 public:
  explicit Simulation(const SimulatedPipeline& of) : of_(of), random_(of.seed) {}

  void run_until(double end) {
    advance();
    while (!events_.empty() && events_.top().at <= end) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.what();
      advance();
    }
    now_ = end;
  }

  Sums& sums() { return sums_; }
  // The waiting and the fullness that have not ended yet.
  double waited() const { return sums_.waited + (is_waiting_ ? now_ - waiting_since_ : 0); }
  double full() const { return sums_.full + (is_full_ ? now_ - full_since_ : 0); }
  size_t ready() const { return ready_; }
  size_t filling() const { return batches_.size(); }
  unsigned fetching() const { return fetching_; }
  unsigned queued() const { return static_cast<unsigned>(fetched_.size()); }

 private:
  struct Event {
    double at;
    uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
  };
  void in(double seconds, std::function<void()> what) {
    events_.push({now_ + seconds, ++events_made_, std::move(what)});
  }
  static uint64_t ns(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }
  double varied(double mean) { return mean * std::uniform_real_distribution<double>(0.8, 1.2)(random_); }

  // Begins all that may begin now.
  void advance() {
    open_batches();
    while (begin_fetch()) {
    }
    while (begin_decode()) {
    }
    begin_copy();
    begin_step();
  }

  // A slot is free, being filled, being copied, ready, or held by the trainer.
  void open_batches() {
    const size_t used = batches_.size() + complete_ + (is_copying_ ? 1 : 0) + ready_ + (is_training_ ? 1 : 0);
    for (size_t i = used; i < of_.slots; i++) batches_.push_back({of_.batch_size, of_.batch_size, now_});
    const bool is_full = batches_.empty();
    if (is_full && !is_full_) full_since_ = now_;
    if (!is_full && is_full_) sums_.full += now_ - full_since_;
    is_full_ = is_full;
  }

  bool begin_fetch() {
    if (fetching_ == of_.fetch_lanes) return false;
    const auto batch =
        std::find_if(batches_.begin(), batches_.end(), [](const Batch& one) { return one.unfetched > 0; });
    if (batch == batches_.end()) return false;
    const double in_flight = (fetching_ + static_cast<double>(fetched_.size()) + decoding_) * of_.sample_bytes;
    if (in_flight + of_.sample_bytes > of_.in_flight_bytes_max) {
      if (!waits_for_room_) sums_.in_flight_waits++;
      waits_for_room_ = true;
      return false;
    }
    waits_for_room_ = false;
    batch->unfetched--;
    fetching_++;
    const bool is_slow = of_.slow_one_in > 0 && random_() % of_.slow_one_in == 0;
    const double takes = varied(of_.fetch_ms * kMs) * (is_slow ? of_.slow_factor : 1);
    const uint64_t number = first_ + static_cast<uint64_t>(batch - batches_.begin());
    in(takes, [this, takes, number] {
      fetching_--;
      sums_.fetched++;
      sums_.fetch_busy += takes;
      sums_.fetch_ns.push_back(ns(takes));
      fetched_.push_back(number);
    });
    return true;
  }

  // Others on the same threads or cores make each turn longer by their part.
  bool begin_decode() {
    if (fetched_.empty() || decoding_ == of_.decode_lanes) return false;
    const uint64_t number = fetched_.front();
    fetched_.pop_front();
    decoding_++;
    const double cpu = varied(of_.decode_ms * kMs), wall = cpu / of_.core_part / (1 - of_.other_pipelines_part);
    in(wall, [this, cpu, wall, number] {
      decoding_--;
      sums_.decoded++;
      sums_.decode_busy += cpu;
      sums_.core_wait += cpu / of_.core_part - cpu;
      sums_.decode_ns.push_back(ns(wall));
      batches_[number - first_].undecoded--;
      deliver();
    });
    return true;
  }

  // Batches come in their order.
  void deliver() {
    while (!batches_.empty() && batches_.front().undecoded == 0) {
      sums_.fill_ns.push_back(ns(now_ - batches_.front().began));
      batches_.pop_front();
      first_++;
      complete_++;
    }
  }

  void begin_copy() {
    if (of_.copy_ms == 0) {
      for (; complete_ > 0; complete_--) publish();
    } else if (!is_copying_ && complete_ > 0) {
      complete_--;
      is_copying_ = true;
      const double takes = varied(of_.copy_ms * kMs);
      in(takes, [this, takes] {
        is_copying_ = false;
        sums_.copy_busy += takes;
        publish();
      });
    }
  }

  void publish() {
    sums_.batches++;
    sums_.ready_sum += ready_;
    ready_++;
  }

  void begin_step() {
    if (is_training_) return;
    if (ready_ == 0) {
      if (!is_waiting_) waiting_since_ = now_;
      is_waiting_ = true;
      return;
    }
    if (is_waiting_) sums_.waited += now_ - waiting_since_;
    is_waiting_ = false;
    ready_--;
    is_training_ = true;
    in(varied(of_.trainer_ms * kMs), [this] { is_training_ = false; });
  }

  const SimulatedPipeline of_;
  std::mt19937_64 random_;
  std::priority_queue<Event> events_;
  uint64_t events_made_ = 0;
  double now_ = 0;
  std::deque<Batch> batches_;  // that are open, in their order
  uint64_t first_ = 0;         // number of the first open batch
  std::deque<uint64_t> fetched_;
  unsigned fetching_ = 0, decoding_ = 0;
  size_t complete_ = 0, ready_ = 0;
  bool is_copying_ = false, is_training_ = false, is_waiting_ = false, is_full_ = false, waits_for_room_ = false;
  double waiting_since_ = 0, full_since_ = 0;
  Sums sums_;
};

uint64_t ns_of(double seconds) { return static_cast<uint64_t>(std::max(seconds, 0.0) * 1e9); }

NodeFigures figures_of(const SimulatedPipeline& of, Simulation& simulation, double at) {
  const Sums& sums = simulation.sums();
  NodeFigures node;
  node.at_ns = ns_of(at + 1);
  node.decode_threads = of.decode_lanes_max;
  node.decode_lanes = of.decode_lanes;
  const double others = sums.decode_busy / (1 - of.other_pipelines_part) - sums.decode_busy;
  node.decode_busy_ns = ns_of(sums.decode_busy + others);
  node.roles = {{"decode", of.decode_lanes_max, node.decode_busy_ns, ns_of(sums.core_wait)}};
  if (of.copy_ms > 0) node.gpus = {{.uuid = "GPU-1", .copies = sums.batches, .copy_busy_ns = ns_of(sums.copy_busy)}};
  metrics::PipelineFigures pipeline{.name = "train", .state = "running", .number = 1};
  pipeline.batches = sums.batches;
  pipeline.samples = sums.batches * of.batch_size;
  pipeline.cpu_ns = ns_of(sums.decode_busy);
  pipeline.in_flight_bytes_max = static_cast<uint64_t>(of.in_flight_bytes_max);
  pipeline.in_flight_waits = sums.in_flight_waits;
  pipeline.cache_form = "off";
  if (of.is_remote) pipeline.store = "s3://bucket";
  pipeline.stages = {reading({.samples = sums.fetched,
                              .busy_ns = ns_of(sums.fetch_busy),
                              .lanes = of.fetch_lanes,
                              .lanes_max = of.fetch_lanes_max,
                              .duration_ns = Distribution::of_values(sums.fetch_ns)},
                             of.is_remote),
                     decoding({.samples = sums.decoded,
                               .busy_ns = ns_of(sums.decode_busy),
                               .lanes = of.decode_lanes,
                               .lanes_max = of.decode_lanes_max,
                               .waiting = simulation.queued(),
                               .duration_ns = Distribution::of_values(sums.decode_ns)})};
  metrics::RingFigures ring{.group = "job",
                            .batches = sums.batches,
                            .starved_ns = ns_of(simulation.waited()),
                            .full_ns = ns_of(simulation.full()),
                            .ready_sum = sums.ready_sum,
                            .slots = of.slots,
                            .depth = of.slots - 1,
                            .depth_max = of.slots - 1,
                            .batch_size = of.batch_size,
                            .filling = simulation.filling(),
                            .ready = simulation.ready(),
                            .fill_ns = Distribution::of_values(sums.fill_ns)};
  ring.samples = pipeline.samples;
  ring.readers = {{.name = "trainer", .group = "job", .pid = 1, .batches = sums.batches, .waited_ns = ring.starved_ns}};
  pipeline.rings = {ring};
  node.pipelines = {pipeline};
  return node;
}

}  // namespace

SimulatedRun simulate(const SimulatedPipeline& pipeline, double seconds) {
  Simulation simulation(pipeline);
  simulation.run_until(seconds / 2);
  const NodeFigures before = figures_of(pipeline, simulation, seconds / 2);
  simulation.run_until(seconds);
  const NodeFigures after = figures_of(pipeline, simulation, seconds);
  SimulatedRun run;
  run.window = {seconds / 2, metrics::since(after, before)};
  run.samples_per_s = static_cast<double>(run.pipeline().samples) / run.window.seconds;
  return run;
}

}  // namespace spdld::test
