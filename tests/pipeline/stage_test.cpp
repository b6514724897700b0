// The stages of a pipeline, each by itself: who is told what, and on which thread work is done.
#include <atomic>

#include "daemon/base/system/cpu.h"
#include "tests/pipeline/rig.h"

namespace spdld::stage_test {

using namespace spdld::test;
using pipeline::Caller;
using pipeline::Passage;
using pipeline::Stage;
using pipeline::StageOutcome;

namespace {

// One passage, and the walker that is told of it.
class Walked final : public Passage::Walker {
 public:
  explicit Walked(const std::shared_ptr<ByteBudget>& budget = nullptr)
      : budget_(budget),
        pipeline_(make_spec({}), make_listing({}), 0.0,
                  pipeline::Resources{.pool = pool_, .fetcher = fetcher, .contexts = contexts_, .cache = cache_}),
        layout_(pipeline_.plan().tensors(), 1, 1 << 20),
        slot_(layout_.slot_bytes(), memory::Access::kWritable) {
    passage.walker = this;
    passage.listing = &pipeline_.listing();
    passage.layout = &layout_;
    passage.slot = slot_.fill_address();
    passage.sample = 7;
    passage.budget = budget_.get();
    for (const auto& use : pipeline_.plan().fetched()) passage.fields.push_back({.field = use.field});
  }

  const pipeline::Stages& stages() const { return pipeline_.stages(); }
  Stage& fetch() { return *pipeline_.stages().at(0); }
  Stage& decode() { return *pipeline_.stages().at(1); }
  StageOutcome wait_for_outcome() {
    while (!told_.exchange(false)) std::this_thread::yield();
    return outcome_;
  }
  int64_t first_value() const {
    int64_t value = 0;
    std::memcpy(&value, layout_.sample_at(slot_.fill_address(), 0, 0), sizeof value);
    return value;
  }

  FakeFetcher fetcher{1};
  Passage passage;
  std::atomic<int> waits{0};
  std::atomic<bool> wanted{true};

 private:
  void on_wait(Passage&) override { waits++; }
  bool is_wanted(const Passage&) const override { return wanted; }
  void on_outcome(Passage&, StageOutcome outcome) override {
    outcome_ = outcome;
    told_ = true;
  }

  const std::shared_ptr<ByteBudget> budget_;
  FairPool pool_{1};
  std::vector<pipeline::DecodeContext> contexts_{pool_.runners()};
  cache::Cache cache_{cache::Settings{}};
  pipeline::Pipeline pipeline_;
  batch::Layout layout_;
  memory::HostSlot slot_;
  StageOutcome outcome_ = StageOutcome::kUnderWay;
  std::atomic<bool> told_{false};
};

}  // namespace

TEST_CASE("the way of a sample is a list of stages with names") {
  Walked walked;
  REQUIRE(walked.stages().size() == 2);
  CHECK(walked.fetch().name() == "fetch");
  CHECK(walked.decode().name() == "decode");
  for (const auto& stage : walked.stages()) CHECK(stage->concurrency() == 1);
}

TEST_CASE("a fetch that must wait is told before and after") {
  Walked walked;
  walked.fetcher.hold(7);
  Caller caller;
  CHECK(walked.fetch().start(walked.passage, caller) == StageOutcome::kUnderWay);
  CHECK(walked.waits == 1);
  walked.fetcher.let_go(7);
  CHECK(walked.wait_for_outcome() == StageOutcome::kDone);
  CHECK(walked.fetch().statistics().samples.value() == 1);
  CHECK(walked.fetch().statistics().bytes.value() == 2);  // "70"
}

TEST_CASE("bytes at hand are read by a pool thread itself, and by no other thread") {
  Walked walked;
  walked.fetcher.set_at_hand(0);
  Caller pool(0, monotonic_ns());
  CHECK(walked.fetch().start(walked.passage, pool) == StageOutcome::kDone);
  CHECK(walked.waits == 0);
  Caller elsewhere;
  CHECK(walked.fetch().start(walked.passage, elsewhere) == StageOutcome::kUnderWay);
  CHECK(walked.wait_for_outcome() == StageOutcome::kDone);
  // What was damaged is asked for in full.
  walked.passage.is_again = true;
  CHECK(walked.fetch().start(walked.passage, pool) == StageOutcome::kUnderWay);
  CHECK_FALSE(walked.passage.is_again);
  CHECK(walked.wait_for_outcome() == StageOutcome::kDone);
}

TEST_CASE("a fetch that fails says why, and is counted") {
  Walked walked;
  walked.fetcher.set_down(true);
  Caller caller;
  CHECK(walked.fetch().start(walked.passage, caller) == StageOutcome::kUnderWay);
  CHECK(walked.wait_for_outcome() == StageOutcome::kFailed);
  CHECK(walked.passage.error.trouble == Trouble::kTransient);
  CHECK(walked.fetch().statistics().failures.value() == 1);
  CHECK(walked.fetch().statistics().samples.value() == 0);
}

TEST_CASE("decoding wants a turn of a pool thread that is not over") {
  Walked walked;
  walked.fetcher.set_at_hand(0);
  Caller elsewhere, pool(0, monotonic_ns()), late(0, monotonic_ns());
  REQUIRE(walked.fetch().start(walked.passage, pool) == StageOutcome::kDone);
  CHECK(walked.decode().start(walked.passage, elsewhere) == StageOutcome::kWantsTurn);
  late.set_now(late.now_ns() + Caller::kTurnNs);
  CHECK(walked.decode().start(walked.passage, late) == StageOutcome::kWantsTurn);
  Caller turn(0, monotonic_ns());  // the fetch may have used up the turn before
  const uint64_t before_ns = turn.now_ns();
  CHECK(walked.decode().start(walked.passage, turn) == StageOutcome::kDone);
  CHECK(turn.now_ns() > before_ns);  // the next sample's time begins here
  CHECK(walked.first_value() == 70);
  CHECK(walked.decode().statistics().samples.value() == 1);
}

TEST_CASE("content that can't be decoded fails in its stage") {
  Walked walked;
  walked.fetcher.set_at_hand(0);
  walked.fetcher.make_bad(7);
  Caller pool(0, monotonic_ns());
  REQUIRE(walked.fetch().start(walked.passage, pool) == StageOutcome::kDone);
  Caller turn(0, monotonic_ns());  // the fetch may have used up the turn before
  CHECK(walked.decode().start(walked.passage, turn) == StageOutcome::kFailed);
  CHECK(walked.passage.error.trouble == Trouble::kContent);
  CHECK(walked.decode().statistics().failures.value() == 1);
}

TEST_CASE("a passage that ends gives its bytes back") {
  const auto budget = std::make_shared<ByteBudget>(100);
  Walked walked(budget);
  walked.fetcher.set_bytes_of_each(60);
  Caller caller;
  REQUIRE(walked.fetch().start(walked.passage, caller) == StageOutcome::kUnderWay);
  CHECK(walked.wait_for_outcome() == StageOutcome::kDone);
  CHECK(budget->bytes() == 60);
  for (const auto& stage : walked.stages()) stage->let_go(walked.passage, Stage::Keep::kNothing);
  CHECK(budget->bytes() == 0);
  CHECK(walked.passage.bytes.front().capacity() == 0);
}

}  // namespace spdld::stage_test
