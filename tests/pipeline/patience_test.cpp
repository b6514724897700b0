// How long a stream waits for a source that is down and for memory that is short. The clock is the test's own, and one
// task serves all samples.
#include <atomic>

#include "tests/pipeline/rig.h"

namespace spdld::patience_test {

using namespace spdld::test;

namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

class Clock {
 public:
  Clock() { now_ns_ = kSecondNs; }
  static uint64_t now_ns() { return now_ns_; }
  static void pass(uint64_t seconds) { now_ns_ += seconds * kSecondNs; }

 private:
  static inline std::atomic<uint64_t> now_ns_{kSecondNs};
};

Given patient() {
  Given given;
  given.batch_size = 1, given.slots = 1, given.shuffle = false;
  given.patience.now_ns = Clock::now_ns;
  return given;
}

class PatientRig {
 public:
  PatientRig() : rig(patient()) {}

  bool waits_for_source() const { return rig.pipeline->statistics().waiting_out_faults.value() == 1; }
  bool waits_for_memory() const { return rig.pipeline->statistics().waiting_for_memory.value() == 1; }
  // Until the sample waits, or the stream has failed.
  template <typename Waits>
  void settle(const Waits& waits) {
    while (!waits() && !has_failed()) std::this_thread::yield();
  }
  void settle_for_source() {
    settle([this] { return waits_for_source(); });
  }
  void settle_for_memory() {
    settle([this] { return waits_for_memory(); });
  }
  bool has_failed() {
    bool failed = false;
    rig.wait([&] {
      failed = !rig.failure.empty();
      return true;
    });
    return failed;
  }
  void run_short(uint64_t sample, int times) const {
    dynamic_cast<const FakeListing&>(rig.pipeline->listing()).run_short(sample, times);
  }

  Clock clock;
  Rig rig;
};

}  // namespace

TEST_CASE("two short outages far apart are not one long outage") {
  PatientRig one;
  one.rig.fetcher.set_down(true);
  one.rig.fill_all();
  for (uint64_t step = 0; step < 4; step++) {
    one.settle_for_source();
    Clock::pass(299);
    one.rig.stream->tick();  // still down
    one.settle_for_source();
    REQUIRE_FALSE(one.has_failed());
    one.rig.fetcher.set_down(false);
    one.rig.stream->tick();
    one.rig.wait([&] { return one.rig.ready.size() == 1; });
    Clock::pass(1000);
    one.rig.fetcher.set_down(true);
    CHECK(one.rig.take().ids == std::vector<int64_t>{static_cast<int64_t>(step)});
  }
  CHECK(one.rig.pipeline->statistics().substituted.value() == 0);
}

TEST_CASE("an outage is over when the source answers, also where the answer is bad content") {
  PatientRig one;
  const uint64_t samples = one.rig.pipeline->samples();
  one.rig.fetcher.make_unsupported(0);
  for (uint64_t sample = 1; sample < samples; sample++) one.rig.fetcher.hold(sample);
  one.rig.fetcher.set_down(true);
  one.rig.fill_all();
  one.settle_for_source();
  Clock::pass(299);
  one.rig.fetcher.set_down(false);
  one.rig.stream->tick();
  one.settle([&] { return one.rig.pipeline->statistics().substituted.value() == 1; });
  one.rig.fetcher.set_down(true);  // before the substitute is read: another outage
  for (uint64_t sample = 1; sample < samples; sample++) one.rig.fetcher.let_go(sample);
  one.settle_for_source();
  Clock::pass(200);
  one.rig.stream->tick();
  one.settle_for_source();
  REQUIRE_FALSE(one.has_failed());
  one.rig.fetcher.set_down(false);
  one.rig.stream->tick();
  CHECK(one.rig.take().ids != std::vector<int64_t>{0});
}

TEST_CASE("a wait for the source that a seek ended is no part of a later wait") {
  PatientRig one;
  one.rig.fetcher.set_down(true);
  one.rig.fill_all();
  one.settle_for_source();
  one.rig.stream->seek(1, {0, 3});
  one.rig.stream->tick();
  one.rig.wait([&] { return one.rig.abandoned == 1; });
  Clock::pass(1000);
  one.rig.fill_all();
  one.settle_for_source();
  REQUIRE_FALSE(one.has_failed());
  one.rig.fetcher.set_down(false);
  one.rig.stream->tick();
  CHECK(one.rig.take().ids == std::vector<int64_t>{3});
}

TEST_CASE("an outage that lasts ends the stream when its time is over, and not before") {
  PatientRig one;
  one.rig.fetcher.set_down(true);
  one.rig.fill_all();
  for (int i = 0; i < 3; i++) {
    one.settle_for_source();
    REQUIRE_FALSE(one.has_failed());
    Clock::pass(100);
    one.rig.stream->tick();
  }
  one.rig.wait([&] { return !one.rig.failure.empty(); });
  CHECK_THAT(one.rig.failure, Catch::Contains("within 300 s") && Catch::Contains("the store is down"));
}

TEST_CASE("two short shortages of memory far apart are not one long shortage") {
  PatientRig one;
  one.run_short(0, 2);
  one.rig.fill_all();
  for (uint64_t step = 0; step < 4; step++) {
    one.settle_for_memory();
    Clock::pass(29);
    one.rig.stream->tick();  // still short
    one.settle_for_memory();
    REQUIRE_FALSE(one.has_failed());
    one.rig.stream->tick();
    one.rig.wait([&] { return one.rig.ready.size() == 1; });
    Clock::pass(1000);
    one.run_short(step + 1, 2);
    CHECK(one.rig.take().ids == std::vector<int64_t>{static_cast<int64_t>(step)});
  }
}

TEST_CASE("a wait for the source is no wait for memory, and the other way round") {
  PatientRig one;
  one.run_short(0, 1);
  one.rig.fill_all();
  one.settle_for_memory();
  one.rig.fetcher.set_down(true);
  one.rig.stream->tick();
  one.settle_for_source();
  Clock::pass(200);  // more than a sample may wait for memory
  one.run_short(0, 2);
  one.rig.fetcher.set_down(false);
  one.rig.stream->tick();
  one.settle_for_memory();
  REQUIRE_FALSE(one.has_failed());
  Clock::pass(20);
  one.rig.stream->tick();
  one.settle_for_memory();
  REQUIRE_FALSE(one.has_failed());
  one.rig.fetcher.set_down(true);
  one.rig.stream->tick();
  one.settle_for_source();
  Clock::pass(200);  // the source has recovered meanwhile: this is another outage
  one.rig.stream->tick();
  one.settle_for_source();
  REQUIRE_FALSE(one.has_failed());
  one.rig.fetcher.set_down(false);
  one.rig.stream->tick();
  CHECK(one.rig.take().ids == std::vector<int64_t>{0});
}

}  // namespace spdld::patience_test
