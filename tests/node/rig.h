// A node without a daemon: one pipeline over a data set in memory, and the feeds and seats of its jobs. Streams and
// memory are fakes; settle() runs what has been posted, and tick() lets time pass.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/node/seats/seating.h"
#include "tests/node/fakes.h"
#include "tests/pipeline/fake_source.h"

namespace spdld::test {

inline constexpr uint64_t kMs = 1'000'000;

struct Wanted {
  uint64_t samples = 1000, batch_size = 10, epochs = 0;
  uint32_t depth = 4, held_max = 2;
  config::Share share = config::Share::kCache;
  config::OnBad on_bad = config::OnBad::kSubstitute;
  std::optional<double> bad_max = {};
};

// A pipeline that is never decoded.
class PipelineRig {
 public:
  explicit PipelineRig(const Wanted& wanted) : pipeline(make(wanted)) {}

  std::shared_ptr<pipeline::Pipeline> make(const Wanted& wanted) {
    config::PipelineSpec spec;
    spec.name = "test";
    spec.share = wanted.share;
    spec.on_bad = wanted.on_bad;
    spec.bad_max = wanted.bad_max;
    spec.order.epochs = wanted.epochs;
    spec.batch.size = wanted.batch_size;
    spec.batch.prefetch_depth = wanted.depth;
    spec.batch.held_max = wanted.held_max;
    spec.outputs = {{"value", "text", {{"parse-int", {}, {}}}, {}}};
    const pipeline::Resources resources{.pool = pool_, .fetcher = fetcher_, .contexts = contexts_, .cache = cache_};
    return std::make_shared<pipeline::Pipeline>(spec, std::make_unique<FakeListing>(wanted.samples), 0.0, resources);
  }

 private:
  FakeFetcher fetcher_{1};
  FairPool pool_{1};
  std::vector<pipeline::DecodeContext> contexts_{pool_.runners()};
  cache::Cache cache_{cache::Settings{}};

 public:
  std::shared_ptr<pipeline::Pipeline> pipeline;
};

// The fillers of feeds under test, and what they were asked for.
class FakeFillers {
 public:
  node::Fillers fillers() {
    return {.make_stream =
                [this](const node::StreamPlan& plan, pipeline::FillObserver& observer) {
                  auto stream = std::make_unique<FakeStream>(plan, observer);
                  stream->holds = holds_batches;
                  streams.push_back(stream.get());
                  return stream;
                },
            .submit =
                [this](pipeline::Pipeline&, FairTask& task) {
                  if (!holds_copies) return task.run(0);
                  copies.push_back(&task);
                }};
  }
  // Makes the oldest copy that waits.
  void copy() {
    REQUIRE_FALSE(copies.empty());
    FairTask* const task = copies.front();
    copies.pop_front();
    task->run(0);
  }

  std::vector<FakeStream*> streams;  // in the order in which they were made; borrowed from their feeds
  std::deque<FairTask*> copies;
  bool holds_batches = false, holds_copies = false;
};

// Seats for the jobs of one pipeline.
class SeatingRig : public FakeFillers {
 public:
  explicit SeatingRig(const Wanted& wanted = {}) : pipelines_(wanted), seating(lent(), events()) {}
  ~SeatingRig() {
    holds_copies = false;
    while (!copies.empty()) copy();
    for (const auto& trainer : trainers) trainer->die();
    settle();
  }

  control::AttachRequest request(const std::string& group, uint32_t rank = 0, uint32_t world_size = 1) const {
    control::AttachRequest request;
    request.group = group, request.rank = rank, request.world_size = world_size;
    return request;
  }
  // Attaches a trainer of a process of its own, and says what came of it in the trainer.
  Trainer& attach(const control::AttachRequest& request) {
    auto trainer = std::make_shared<Trainer>();
    trainers.push_back(trainer);
    client.pid++;
    try {
      seating.seat(client, request, trainer, pipeline());
    } catch (const SetupError& e) {
      trainer->refused(e.error());
    }
    settle();
    return *trainer;
  }
  Trainer& attach(const std::string& group) { return attach(request(group)); }
  // Why this can't be had; empty: it can.
  std::string refusal(const control::AttachRequest& request) {
    const Trainer& trainer = attach(request);
    return trainer.refusal ? trainer.refusal->message : "";
  }

  // Runs what was posted, and what comes of it.
  void settle() {
    for (int i = 0; i < 3; i++) loop_.run_ready();  // also the news of descriptors
  }
  void tick(uint64_t ms) {
    now_ns += ms * kMs;
    seating.tick(now_ns);
    settle();
  }
  // The trainer gives back so many batches, and is sent others.
  void consume(Trainer& trainer, size_t batches) {
    for (size_t i = 0; i < batches && trainer.give_back(); i++) settle();
  }

  const std::shared_ptr<pipeline::Pipeline>& pipeline() const { return pipelines_.pipeline; }
  std::vector<Feed*> feeds() const { return seating.all_feeds(); }
  EventLoop& loop() { return loop_; }
  // Answers the oldest request for slots on a GPU.
  void give_device_slots(const Error* error = nullptr) {
    REQUIRE_FALSE(awaited.empty());
    const auto [ring, done] = std::move(awaited.front());
    awaited.pop_front();
    if (error) {
      done(*error);
    } else {
      memory::SlotMemories memories;
      for (size_t i = 0; i < ring.slots; i++) memories.push_back(std::make_unique<FakeMemory>(gpu, ring.slot_bytes));
      done(std::move(memories));
    }
    settle();
  }

 private:
  node::Seating::Lent lent() {
    return {.loop = loop_,
            .settings = settings,
            .host_memory = host_memory_,
            .make_device_slots = [this](const memory::DeviceRing& ring,
                                        memory::Gpus::Done done) { awaited.emplace_back(ring, std::move(done)); },
            .fillers = fillers(),
            .memory_limits = [this] { return limits; },
            .cache_to_come = [this] { return cache_to_come; }};
  }
  node::Seating::Events events() {
    return {.on_use = [this](const pipeline::Pipeline&, bool in_use) { is_in_use = in_use; },
            .on_rest = [this] { rests++; }};
  }

  memory::HostMemory host_memory_{0};
  PipelineRig pipelines_;
  EventLoop loop_;

 public:
  config::DaemonSettings settings;
  std::vector<MemoryLimit> limits = {};  // of memory; none: the settings alone bound the slots
  uint64_t cache_to_come = 0;
  control::Client client = a_client();  // the trainer that attaches next; its pid is another each time
  std::shared_ptr<FakeMemory::Rules> gpu = a_gpu();
  std::deque<std::pair<memory::DeviceRing, memory::Gpus::Done>> awaited;
  uint64_t now_ns = 1'000'000 * kMs;
  bool is_in_use = false;
  size_t rests = 0;
  std::vector<std::shared_ptr<Trainer>> trainers;
  node::Seating seating;

 private:
  static control::Client a_client() {
    control::Client client;
    client.pid = 100, client.uid = 1001, client.gid = 1001, client.name = "trainer";
    return client;
  }
  static std::shared_ptr<FakeMemory::Rules> a_gpu() {
    auto rules = std::make_shared<FakeMemory::Rules>();
    rules->kind = memory::MemoryKind::kCudaIpc;
    rules->gpu = "GPU-1";
    return rules;
  }
};

}  // namespace spdld::test
