// A stage that no room knows: samples pass it, and its faults are its own.
#include <atomic>
#include <set>

#include "tests/pipeline/rig.h"
#include "tests/support/grading.h"

namespace spdld::third_stage_test {

using namespace spdld::test;

namespace {

constexpr std::chrono::microseconds kWork{20};

// Fails once, and has something happen while the sample's stay there ends.
class FailingStage final : public pipeline::Stage {
 public:
  explicit FailingStage(std::function<void()> meanwhile)
      : Stage({.name = "fails", .work = "Failing", .at = "by", .lane = "thread", .faulty = "the failing stage"}),
        meanwhile_(std::move(meanwhile)) {}
  pipeline::StageOutcome start(pipeline::Passage& passage, pipeline::Caller&) override {
    if (has_failed_.exchange(true)) return pipeline::StageOutcome::kDone;
    passage.error = {Trouble::kTransient, "it fails once"};
    fails_ = &passage;
    return pipeline::StageOutcome::kFailed;
  }
  void let_go(pipeline::Passage& passage, Keep) const override {
    pipeline::Passage* expected = &passage;
    if (fails_.compare_exchange_strong(expected, nullptr)) meanwhile_();
  }
  uint64_t busy_ns() const override { return 0; }
  unsigned concurrency() const override { return 1; }

 private:
  const std::function<void()> meanwhile_;
  std::atomic<bool> has_failed_{false};
  mutable std::atomic<pipeline::Passage*> fails_{nullptr};
};

}  // namespace

TEST_CASE("a sample that fails for a while in the moment of a seek is left, and the stream goes on") {
  Rig* stream_of = nullptr;
  std::atomic<bool> is_filled{false};  // else slots would be filled behind the seek, too
  Given given{.samples = 20};
  given.more_stages = {[&](const pipeline::Pipeline&) {
    return std::make_unique<FailingStage>([&] {
      is_filled.wait(false);
      stream_of->stream->seek(1, {});
    });
  }};
  Rig rig(given);
  stream_of = &rig;
  rig.fill_all();
  is_filled = true;
  is_filled.notify_all();
  rig.tick_until([&] { return !rig.failure.empty() || rig.abandoned > 0; });
  CHECK(rig.failure == "");
  rig.tick_until([&] { return rig.ready.size() + rig.abandoned == rig.slots.size(); });
  rig.ready.clear();
  rig.fill_all();
  for (int i = 0; i < 5; i++) {
    rig.tick_until_ready();
    const Received batch = rig.take();
    CHECK(batch.values == tenfold(batch.ids));
  }
}

TEST_CASE("a third stage sees each sample when it is decoded, and the batches are the same") {
  Graders graders(3, kWork);
  std::mutex mutex;
  std::multiset<uint64_t> graded;
  Given given{.samples = 50, .batch_size = 8, .epochs = 2};
  std::vector<std::vector<int64_t>> expected;
  for (Rig plain(given); expected.size() < 14;) {
    if (expected.empty()) plain.fill_all();
    expected.push_back(plain.take().values);
  }
  given.more_stages = {grading(graders, [&](uint64_t sample) {
    const std::scoped_lock lock(mutex);
    graded.insert(sample);
    return false;
  })};
  Rig rig(given);
  REQUIRE(rig.pipeline->stages().size() == 3);
  CHECK(rig.pipeline->stages().back()->name() == "grade");
  CHECK(rig.pipeline->stages().back()->place() == 2);
  rig.fill_all();
  for (const auto& values : expected) CHECK(rig.take().values == values);
  const std::scoped_lock lock(mutex);
  CHECK(graded.size() == 100);
  for (uint64_t sample = 0; sample < 50; sample++) CHECK(graded.count(sample) == 2);
  CHECK(rig.pipeline->stages().back()->statistics().samples.value() == 100);
}

TEST_CASE("what fails in a third stage is tried again there, with what was fetched and decoded") {
  Graders graders(2, kWork);
  std::mutex mutex;
  std::set<uint64_t> failed;
  Rig rig({.samples = 20, .more_stages = {grading(graders, [&](uint64_t sample) {
                            const std::scoped_lock lock(mutex);
                            return sample % 3 == 0 && failed.insert(sample).second;
                          })}});
  rig.fill_all();
  for (int i = 0; i < 5; i++) {
    rig.tick_until_ready();
    const Received batch = rig.take();
    CHECK(batch.values == tenfold(batch.ids));
  }
  const auto& stages = rig.pipeline->stages();
  CHECK(stages[0]->statistics().samples.value() == 20);  // each once
  CHECK(stages[1]->statistics().samples.value() == 20);
  CHECK(stages[2]->statistics().samples.value() == 20);
  CHECK(stages[2]->statistics().failures.value() == 7);
  CHECK(stages[2]->statistics().waiting_out_faults.level() == 0);
  CHECK(stages[0]->statistics().waiting_out_faults.level() == 0);
  CHECK(rig.pipeline->statistics().waiting_out_faults.level() == 0);
  CHECK(rig.pipeline->statistics().asked_again.level() == 0);
}

TEST_CASE("a third stage that fails for ever is named, and counted at its own place meanwhile") {
  static std::atomic<uint64_t> now_ns{0};
  now_ns = 1;
  Graders graders(1, kWork);
  Rig rig({.samples = 4,
           .patience = {.fault_ns_max = 60'000'000'000, .now_ns = [] { return now_ns.load(); }},
           .more_stages = {grading(graders, [](uint64_t sample) { return sample == 2; })}});
  rig.fill_all();
  const auto& stages = rig.pipeline->stages();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (stages[2]->statistics().waiting_out_faults.level() == 0) {
    REQUIRE(std::chrono::steady_clock::now() < until);
    std::this_thread::yield();
  }
  CHECK(stages[2]->statistics().waiting_out_faults.level() == 1);
  CHECK(stages[0]->statistics().waiting_out_faults.level() == 0);
  CHECK(rig.pipeline->statistics().waiting_out_faults.level() == 1);
  now_ns = 61'000'000'000;
  rig.stream->tick();
  rig.wait([&] { return !rig.failure.empty(); });
  CHECK(rig.failure == "the school did not recover within 60 s: the school is closed");
}

}  // namespace spdld::third_stage_test
