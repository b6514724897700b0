#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "tests/pipeline/rig.h"

namespace spdld::stream_test {

using namespace spdld;
using test::Given;
using test::Received;
using test::Rig;
using test::tenfold;

TEST_CASE("an epoch gives every sample once, in step order, each with its own value") {
  Given given;
  given.samples = 103, given.batch_size = 8, given.epochs = 3, given.threads = GENERATE(1u, 4u);
  Rig rig(given);
  rig.fill_all();
  for (uint64_t epoch = 0; epoch < 3; epoch++) {
    std::set<int64_t> seen;
    for (uint64_t step = 0; step < 13; step++) {
      const Received got = rig.take();
      REQUIRE(got.batch.position == sampler::Position{epoch, step});
      REQUIRE(got.batch.slice.count == (step < 12 ? 8u : 7u));
      REQUIRE(got.values == tenfold(got.ids));
      seen.insert(got.ids.begin(), got.ids.end());
    }
    CHECK(seen.size() == 103);
  }
  batch::Slot& slot = rig.slots[0];
  CHECK_FALSE(rig.stream->fill(slot));  // the last epoch has ended
}

TEST_CASE("a straggler delays its own batch alone, and what comes after stays in order") {
  Given given;
  given.shuffle = false;
  Rig rig(given);
  rig.fetcher.hold(1);
  rig.fill_all();
  // The samples of the two later batches are fetched and decoded although the first is not whole.
  while (rig.pipeline->stages().back()->statistics().samples.value() < 11) std::this_thread::yield();
  rig.wait([&] { return rig.ready.empty(); });
  rig.fetcher.let_go(1);
  for (uint64_t step = 0; step < 5; step++) CHECK(rig.take().batch.position.step == step);
}

TEST_CASE("bad content is substituted by the same samples every time, and logged with its name") {
  std::vector<std::vector<int64_t>> runs;
  for (unsigned threads : {1u, 3u}) {
    Given given;
    given.threads = threads;
    Rig rig(given);
    for (uint64_t bad : {3, 11}) rig.fetcher.make_bad(bad);
    rig.fetcher.make_unsupported(4);
    rig.fill_all();
    std::vector<int64_t> ids;
    std::set<uint64_t> flaws;
    uint32_t substituted = 0;
    for (int step = 0; step < 5; step++) {
      const Received got = rig.take();
      CHECK(got.values == tenfold(got.ids));
      ids.insert(ids.end(), got.ids.begin(), got.ids.end());
      substituted += got.batch.substituted.size();
      CHECK(got.batch.flaws.size() == got.batch.substituted.size());
      for (const batch::Flaw& flaw : got.batch.flaws) {
        flaws.insert(flaw.sample);
        CHECK(flaw.name == "sample-" + std::to_string(flaw.sample));
        CHECK((flaw.kind == batch::FlawKind::kUnsupported) == (flaw.sample == 4));
      }
    }
    CHECK(std::set<int64_t>(ids.begin(), ids.end()).count(3) == 0);
    CHECK(substituted == 3);
    CHECK(rig.pipeline->statistics().substituted.value() == 3);
    CHECK(flaws == std::set<uint64_t>{3, 4, 11});
    const auto& statistics = rig.pipeline->statistics();
    CHECK(statistics.unsupported.value() >= 1);  // more where it was itself drawn as a substitute
    CHECK(statistics.damaged.value() >= 2);
    CHECK(statistics.damaged.value() + statistics.unsupported.value() == rig.pipeline->errors().total());
    const auto errors = rig.pipeline->errors().entries();
    REQUIRE(errors.size() == 3);
    for (const auto& error : errors) {  // in the order in which the threads met them
      CHECK((error.kind == batch::FlawKind::kUnsupported) == (error.sample == 4));
      CHECK(error.name == "sample-" + std::to_string(error.sample));
      if (error.sample != 4) CHECK(error.reason.find("rubbish") != std::string::npos);
    }
    runs.push_back(ids);
  }
  CHECK(runs[0] == runs[1]);
}

TEST_CASE("masked samples are zero, marked, and keep their id") {
  Given given;
  given.on_bad = config::OnBad::kMask;
  given.shuffle = false;
  Rig rig(given);
  rig.fetcher.make_bad(2);
  rig.fill_all();
  const Received got = rig.take();
  CHECK(got.values == std::vector<int64_t>{0, 10, 0, 30});
  CHECK(got.ids == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(got.mask == std::vector<uint8_t>{1, 1, 0, 1});
  CHECK(got.batch.masked.size() == 1);
}

TEST_CASE("on_bad = fail ends the stream with a sentence that names the sample") {
  Given given;
  given.on_bad = config::OnBad::kFail;
  given.shuffle = false;
  Rig rig(given);
  rig.fetcher.make_bad(6);
  rig.fill_all();
  rig.wait([&] { return !rig.failure.empty(); });
  CHECK_THAT(rig.failure, Catch::Contains("sample-6") && Catch::Contains("rubbish"));
  CHECK_FALSE(rig.stream->fill(rig.slots[0]));
}

TEST_CASE("a data set that is bad throughout fails instead of looking for ever") {
  Given given;
  Rig rig(given);
  for (uint64_t i = 0; i < given.samples; i++) rig.fetcher.make_bad(i);
  rig.fill_all();
  rig.wait([&] { return !rig.failure.empty(); });
  CHECK_THAT(rig.failure, Catch::Contains("substitutes"));
}

TEST_CASE("a store that is down is waited for, not substituted") {
  Given given;
  given.shuffle = false;
  Rig rig(given);
  rig.fetcher.set_down(true);
  rig.fill_all();
  while (rig.pipeline->statistics().waiting_out_faults.value() < 12) std::this_thread::yield();
  rig.stream->tick();  // still down
  while (rig.pipeline->statistics().waiting_out_faults.value() < 12) std::this_thread::yield();
  rig.fetcher.set_down(false);
  rig.stream->tick();
  for (uint64_t step = 0; step < 5; step++) {
    const Received got = rig.take();
    CHECK(got.ids.front() == static_cast<int64_t>(4 * step));
    CHECK(got.batch.substituted.size() == 0);
  }
  CHECK(rig.pipeline->statistics().waiting_out_faults.value() == 0);
  CHECK(rig.pipeline->statistics().asked_again.value() == 0);
}

TEST_CASE("a sample that is asked for again waits out its fault until the source has answered") {
  Given given;
  given.shuffle = false;
  Rig rig(given);
  const auto& statistics = rig.pipeline->statistics();
  rig.fetcher.set_down(true);
  rig.fill_all();
  while (statistics.waiting_out_faults.value() < 12) std::this_thread::yield();
  rig.fetcher.hold(0);  // the store takes its time with this one
  rig.fetcher.set_down(false);
  rig.stream->tick();
  while (statistics.waiting_out_faults.value() + statistics.asked_again.value() > 1) std::this_thread::yield();
  CHECK(statistics.asked_again.value() == 1);
  rig.fetcher.let_go(0);
  rig.take();
  CHECK(statistics.asked_again.value() == 0);
}

TEST_CASE("memory that is short for a while is waited for as such, and ends nothing") {
  Given given;
  given.shuffle = false, given.short_of_memory_at = 5;
  Rig rig(given);
  rig.fill_all();
  const auto& statistics = rig.pipeline->statistics();
  while (statistics.waiting_for_memory.value() < 1) std::this_thread::yield();
  CHECK(statistics.waiting_out_faults.value() == 0);  // it is not the source's trouble
  rig.stream->tick();                                 // it is short twice
  while (statistics.memory_waits.value() < 2 || statistics.waiting_for_memory.value() < 1) std::this_thread::yield();
  rig.stream->tick();
  for (uint64_t step = 0; step < 5; step++) CHECK(rig.take().ids.front() == static_cast<int64_t>(4 * step));
  CHECK(statistics.substituted.value() == 0);
  CHECK(statistics.memory_waits.value() == 2);
  CHECK(statistics.waiting_for_memory.value() == 0);
}

TEST_CASE("memory that stays short ends the stream with a sentence about memory") {
  Given given;
  given.shuffle = false, given.short_of_memory_at = 5, given.patience.memory_ns_max = 1;
  Rig rig(given);
  rig.fill_all();
  while (rig.pipeline->statistics().waiting_for_memory.value() < 1) std::this_thread::yield();
  rig.stream->tick();
  rig.wait([&] { return !rig.failure.empty(); });
  CHECK_THAT(rig.failure, Catch::Contains("short of memory") && Catch::Contains("sample-5"));
  CHECK_THAT(rig.failure, !Catch::Contains("source"));
  CHECK(rig.pipeline->statistics().substituted.value() == 0);
  CHECK(rig.pipeline->errors().total() == 0);
}

TEST_CASE("stopping while a store is down leaves nothing behind") {
  Given given;
  Rig rig(given);
  rig.fetcher.set_down(true);
  rig.fill_all();
  while (rig.pipeline->statistics().waiting_out_faults.value() < 12) std::this_thread::yield();
}  // ~Rig waits for on_quiet

TEST_CASE("a seek abandons what is being filled and goes on elsewhere, under a new run") {
  Given given;
  given.samples = 1000, given.epochs = 0, given.shuffle = false, given.slots = 4;
  Rig rig(given);
  rig.fill_all();
  for (uint32_t run = 1; run <= 50; run++) {
    rig.stream->seek(run, {run, 3 * run});
    // Each slot comes back exactly once: with a batch of before, or abandoned.
    rig.wait([&] { return rig.ready.size() + rig.abandoned == rig.slots.size(); });
    rig.wait([&] {
      for (const auto& batch : rig.ready) CHECK(batch.run == run - 1);
      rig.ready.clear(), rig.abandoned = 0;
      return true;
    });
    rig.fill_all();
    if (run % 2) continue;  // some seeks come while the slots are being filled, some after a batch
    const Received got = rig.take(false);
    CHECK(got.batch.run == run);
    CHECK(got.batch.position == sampler::Position{run, 3 * run});
    CHECK(got.ids.front() == static_cast<int64_t>(12 * run));
    rig.wait([&] {
      rig.abandoned++;  // the slot that take() kept
      return true;
    });
  }
}

TEST_CASE("what is abandoned holds up nothing that comes after it") {
  Given given;
  given.shuffle = false;
  Rig rig(given);
  rig.fetcher.hold(1);
  rig.stream->fill(rig.slots[0]);  // stays with a task that does not end
  rig.stream->seek(1, {0, 2});
  rig.stream->fill(rig.slots[1]);
  const Received got = rig.take(false);
  CHECK(got.batch.run == 1);
  CHECK(got.batch.position == sampler::Position{0, 2});
  rig.fetcher.let_go(1);
  rig.wait([&] { return rig.abandoned == 1; });
}

TEST_CASE("what is fetched ahead is bounded by the window, not by the slots") {
  Given given;
  given.samples = 4000, given.batch_size = 1000, given.slots = 4;
  Rig rig(given);
  rig.fill_all();
  for (int step = 0; step < 4; step++) rig.take();
  CHECK(rig.fetcher.outstanding_peak() <= 16 + 4 * given.threads);
}

TEST_CASE("a rank that a short last step leaves without samples gets an empty batch") {
  Given given;
  given.samples = 1, given.batch_size = 4;
  Rig rig(given);
  rig.fill_all();
  CHECK(rig.take().batch.slice.count == 1);
  const config::BatchSpec two{.size = 4, .global_size = 0, .last = config::LastBatch::kShort};
  const sampler::Sharding second(1, two, 0, 2), first(1, two, 1, 2);
  CHECK(first.slice({0, 0}).count + second.slice({0, 0}).count == 1);
}

}  // namespace spdld::stream_test
