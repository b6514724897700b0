// One sample that takes for ever among others that don't. Gates, not times: where a thread idled, or a later batch
// waited for the straggler, these would not come to an end.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <functional>
#include <latch>

#include "daemon/memory/host/host_slot.h"
#include "daemon/pipeline/stream.h"
#include "tests/pipeline/fake_source.h"
#include "tests/support/rendezvous.h"

namespace spdld::straggler_test {

using namespace spdld;
using namespace std::chrono_literals;

namespace {

constexpr uint64_t kBatch = 4;

// As the fake one, with something to be done whenever a sample is decoded.
class WatchedListing final : public source::Listing {
 public:
  WatchedListing(uint64_t size, std::function<void(uint64_t)> on_decode) : inner_(size), on_decode_(on_decode) {}
  uint64_t size() const override { return inner_.size(); }
  std::span<const source::Field> fields() const override { return inner_.fields(); }
  store::Locator locate(uint64_t sample, source::FieldId field) const override { return inner_.locate(sample, field); }
  int64_t integer(uint64_t sample, source::FieldId field) const override {
    on_decode_(sample);
    return inner_.integer(sample, field);
  }
  std::string name(uint64_t sample) const override { return inner_.name(sample); }
  const std::string& fingerprint() const override { return inner_.fingerprint(); }
  uint64_t memory_bytes() const override { return 0; }
  std::span<const std::string> classes() const override { return {}; }
  bool unchanged() const override { return true; }

 private:
  test::FakeListing inner_;
  const std::function<void(uint64_t)> on_decode_;
};

config::PipelineSpec make_spec() {
  config::PipelineSpec spec;
  spec.name = "test";
  spec.order.shuffle = config::Shuffle::kOff;
  spec.batch.size = kBatch;
  spec.outputs = {{"value", "text", {{"parse-int", {}, {}}}, {}}, {"label", "class", {}, {}}};
  return spec;
}

// A stream that fills `batches` slots with its whole data set, and one who takes note of what is handed on.
class Rig final : public pipeline::FillObserver {
 public:
  Rig(uint64_t batches, unsigned threads, std::function<void(uint64_t)> on_decode)
      : fetcher(threads),
        pool(threads),
        contexts_(pool.runners()),
        pipeline(std::make_shared<pipeline::Pipeline>(
            make_spec(), std::make_unique<WatchedListing>(batches * kBatch, std::move(on_decode)), 0.0,
            pipeline::Resources{pool, fetcher, contexts_, cache_})),
        sharding_(batches * kBatch, pipeline->spec().batch, 0, 1),
        layout_(pipeline->plan().tensors(), sharding_.batch_size(), 1 << 20),
        stream_(pipeline, sharding_, layout_, batches, sampler::Position{}, *this) {
    for (uint32_t i = 0; i < batches; i++)
      slots_.push_back({i, std::make_unique<memory::HostSlot>(layout_.slot_bytes(), memory::Access::kWritable)});
  }
  ~Rig() {
    stream_.stop();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return quiet_; });
  }

  void fill_all() {
    for (auto& slot : slots_) REQUIRE(stream_.fill(slot));
  }
  // Fills what the stream asks for now; the slots that it has then.
  size_t fill_wanted_now() {
    while (filled_ < slots_.size() && stream_.wants_slot()) REQUIRE(stream_.fill(slots_[filled_++]));
    return filled_;
  }
  // Fills no more than the stream asks for, until all are filled.
  void fill_as_wanted() {
    while (fill_wanted_now() < slots_.size()) {
      std::unique_lock lock(mutex_);
      REQUIRE(changed_.wait_for(lock, 30s, [this] { return wanting_; }));
      wanting_ = false;
    }
  }
  // Until all samples but the straggler are in their slots.
  void wait_for_the_others() const {
    const uint64_t others = slots_.size() * kBatch - 1;
    while (pipeline->stages().back()->statistics().samples.value() < others) std::this_thread::yield();
  }
  // The steps handed on, once there are as many as `count`.
  std::vector<uint64_t> steps(size_t count) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, 30s, [&] { return steps_.size() >= count; }));
    return steps_;
  }
  int64_t value(uint64_t sample) const {
    int64_t value = 0;
    uint8_t* batch = slots_[sample / kBatch].memory->fill_address();
    for (size_t i = 0; i < layout_.tensors().size(); i++)
      if (layout_.tensors()[i].name == "value") std::memcpy(&value, layout_.sample_at(batch, i, sample % kBatch), 8);
    return value;
  }

  test::FakeFetcher fetcher;
  FairPool pool;

 private:
  std::vector<pipeline::DecodeContext> contexts_;
  cache::Cache cache_{cache::Settings{}};

 public:
  const std::shared_ptr<pipeline::Pipeline> pipeline;

 private:
  void on_batch(const batch::Batch& batch) override {
    note([&] { steps_.push_back(batch.position.step); });
  }
  void on_abandoned(batch::Slot&) override {}
  void on_failed(const Error& error) override { UNSCOPED_INFO(error.message); }
  void on_quiet() override {
    note([&] { quiet_ = true; });
  }
  void on_wanting() override {
    note([&] { wanting_ = true; });
  }
  void note(const std::function<void()>& what) {
    std::lock_guard lock(mutex_);  // to the end: whoever sees the news may end this object
    what();
    changed_.notify_all();
  }

  const sampler::Sharding sharding_;
  const batch::Layout layout_;
  std::vector<batch::Slot> slots_;
  size_t filled_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint64_t> steps_;
  bool quiet_ = false, wanting_ = false;
  pipeline::Stream stream_;
};

std::vector<uint64_t> all_steps(uint64_t batches) {
  std::vector<uint64_t> steps;
  for (uint64_t step = 0; step < batches; step++) steps.push_back(step);
  return steps;
}

}  // namespace

TEST_CASE("a picture that decodes for ever holds up its own batch, and the other thread fills all later ones") {
  constexpr uint64_t kBatches = 10, kSlow = 1;
  std::latch gate(1);
  Rig rig(kBatches, 2, [&](uint64_t sample) {
    if (sample == kSlow) gate.wait();
  });
  rig.fill_all();
  rig.wait_for_the_others();
  CHECK(rig.pool.waiting() == 0);
  gate.count_down();
  CHECK(rig.steps(kBatches) == all_steps(kBatches));
  for (uint64_t sample = 0; sample < kBatches * kBatch; sample++)
    CHECK(rig.value(sample) == static_cast<int64_t>(10 * sample));
}

TEST_CASE("a stream asks for slots before its tasks run out, also behind a straggler, and for no more") {
  constexpr uint64_t kBatches = 60;
  std::latch gate(1), asked(1);
  Rig rig(kBatches, 2, [&](uint64_t sample) {
    (sample == 0 ? gate : asked).wait();  // no task ends while the slots that it asks for are counted
  });
  CHECK(rig.fill_wanted_now() < kBatches / 2);
  asked.count_down();
  rig.fill_as_wanted();
  rig.wait_for_the_others();
  gate.count_down();
  CHECK(rig.steps(kBatches) == all_steps(kBatches));
}

TEST_CASE("a batch before the straggler's is handed on at once") {
  std::latch gate(1);
  Rig rig(3, 2, [&](uint64_t sample) {
    if (sample == kBatch + 2) gate.wait();
  });
  rig.fill_all();
  CHECK(rig.steps(1) == all_steps(1));
  rig.wait_for_the_others();
  CHECK(rig.steps(0) == all_steps(1));
  gate.count_down();
  CHECK(rig.steps(3) == all_steps(3));
}

TEST_CASE("while one thread is held up, all others work, as long as there is work") {
  constexpr unsigned kThreads = 4;
  constexpr uint64_t kBatches = 10, kSlow = 0;
  std::latch gate(1);
  test::Rendezvous all_others(kThreads - 1);
  Rig rig(kBatches, kThreads, [&](uint64_t sample) {
    // 39 others: 13 times each of three threads waits for the other two.
    if (sample == kSlow)
      gate.wait();
    else
      all_others.arrive_and_wait();
  });
  rig.fill_all();
  rig.wait_for_the_others();
  gate.count_down();
  CHECK(rig.steps(kBatches) == all_steps(kBatches));
}

TEST_CASE("a read that takes for ever holds up its own batch alone") {
  constexpr uint64_t kBatches = 10, kSlow = 2;
  Rig rig(kBatches, 2, [](uint64_t) {});
  rig.fetcher.hold(kSlow);
  rig.fill_all();
  rig.wait_for_the_others();
  CHECK(rig.pool.waiting() == 0);
  rig.fetcher.let_go(kSlow);
  CHECK(rig.steps(kBatches) == all_steps(kBatches));
  for (uint64_t sample = 0; sample < kBatches * kBatch; sample++)
    CHECK(rig.value(sample) == static_cast<int64_t>(10 * sample));
}

TEST_CASE("with fewer threads than the pool has, a straggler takes one of them, and no other comes for it") {
  constexpr uint64_t kBatches = 6, kSlow = 3;
  std::latch gate(1);
  std::atomic<unsigned> running{0}, peak{0};
  Rig rig(kBatches, 4, [&](uint64_t sample) {
    const unsigned now = ++running;
    for (unsigned seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) {
    }
    if (sample == kSlow) gate.wait();
    running--;
  });
  rig.pool.set_concurrency(2);
  rig.fill_all();
  rig.wait_for_the_others();
  gate.count_down();
  CHECK(rig.steps(kBatches) == all_steps(kBatches));
  CHECK(peak <= 2);
}

}  // namespace spdld::straggler_test
