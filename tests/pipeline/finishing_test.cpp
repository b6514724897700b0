// The work on a batch whose samples are all there: who does it, and what comes in its middle.
#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "tests/pipeline/rig.h"

namespace spdld::finishing_test {

using namespace spdld;
using test::Given;
using test::Received;
using test::Rig;

namespace {

// Holds batches back, by step, until they are let go; runs short of memory, or fails.
class Finishes final : public pipeline::Finisher {
 public:
  Status finish(const batch::Batch& batch, uint8_t*) override {
    std::unique_lock lock(mutex_);
    const uint64_t step = batch.position.step;
    begun_.push_back(step);
    changed_.notify_all();
    changed_.wait(lock, [&] { return !held_.contains(step); });
    if (step == short_at_ && shortages_ > 0) {
      shortages_--;
      throw std::bad_alloc();
    }
    if (step == fails_at_) return Error{Trouble::kInternal, "the moon is full"};
    return Done{};
  }
  void hold(uint64_t step) {
    const std::lock_guard lock(mutex_);
    held_.insert(step);
  }
  void let_go(uint64_t step) {
    const std::lock_guard lock(mutex_);
    held_.erase(step);
    changed_.notify_all();
  }
  void run_short(uint64_t step, int times) {
    const std::lock_guard lock(mutex_);
    short_at_ = step, shortages_ = times;
  }
  void fail_at(uint64_t step) {
    const std::lock_guard lock(mutex_);
    fails_at_ = step;
  }
  void await(uint64_t step, size_t times = 1) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(30), [&] {
      return std::count(begun_.begin(), begun_.end(), step) >= static_cast<int64_t>(times);
    }));
  }
  size_t begun() {
    const std::lock_guard lock(mutex_);
    return begun_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<uint64_t> held_;
  std::vector<uint64_t> begun_;
  uint64_t short_at_ = UINT64_MAX, fails_at_ = UINT64_MAX;
  int shortages_ = 0;
};

// A rig with such a finisher, in order.
struct Made {
  explicit Made(Given given = {}) {
    given.shuffle = false;
    given.finisher = [this] {
      auto made = std::make_unique<Finishes>();
      finisher = made.get();
      return made;
    };
    rig.emplace(given);
  }
  Finishes* finisher = nullptr;
  std::optional<Rig> rig;
};

}  // namespace

TEST_CASE("each batch is finished once, and comes in step order whichever is finished first") {
  Made made;
  made.finisher->hold(0);
  made.rig->fill_all();
  for (const uint64_t step : {0u, 1u, 2u}) made.finisher->await(step);
  made.rig->wait([&] {
    CHECK(made.rig->ready.empty());
    return true;
  });
  made.finisher->let_go(0);
  for (uint64_t step = 0; step < 5; step++) CHECK(made.rig->take().batch.position.step == step);
  CHECK(made.finisher->begun() == 5);
}

TEST_CASE("a slot whose batch is being finished comes back after a seek only when that has ended") {
  Made made;
  made.finisher->hold(0);
  made.rig->fill_all();
  for (const uint64_t step : {0u, 1u, 2u}) made.finisher->await(step);
  made.rig->stream->seek(1, {0, 3});
  made.rig->wait([&] { return made.rig->abandoned == 2; });
  made.rig->stream->fill(made.rig->slots[1]);
  const Received next = made.rig->take(false);  // the others go on meanwhile
  CHECK(next.batch.position.step == 3);
  CHECK(next.batch.run == 1);
  CHECK(made.rig->abandoned == 2);
  made.finisher->let_go(0);
  made.rig->wait([&] { return made.rig->abandoned == 3; });
  CHECK(made.rig->ready.empty());
  made.rig->stream->fill(made.rig->slots[0]);
  CHECK(made.rig->take(false).batch.position.step == 4);
}

TEST_CASE("a stream that is stopped while a batch is finished is quiet only when that has ended") {
  Made made;
  made.finisher->hold(0);
  made.rig->fill_all();
  for (const uint64_t step : {0u, 1u, 2u}) made.finisher->await(step);
  made.rig->stream->stop();
  made.rig->wait([&] { return made.rig->abandoned == 2; });
  made.rig->wait([&] {
    CHECK_FALSE(made.rig->quiet);
    return true;
  });
  made.finisher->let_go(0);
  made.rig->wait([&] { return made.rig->quiet && made.rig->abandoned == 3; });
  CHECK(made.rig->ready.empty());
}

TEST_CASE("a batch that can't be finished for want of memory is finished later") {
  Made made;
  made.finisher->run_short(1, 2);
  made.rig->fill_all();
  CHECK(made.rig->take().batch.position.step == 0);
  made.finisher->await(1);
  for (uint64_t step = 1; step < 5; step++) {
    made.rig->tick_until_ready();
    CHECK(made.rig->take().batch.position.step == step);
  }
  CHECK(made.rig->pipeline->statistics().memory_waits.value() == 2);
  CHECK(made.rig->pipeline->statistics().waiting_for_memory.value() == 0);
}

TEST_CASE("a batch that waits for memory to be finished goes back after a seek, and after a stop") {
  Made made;
  made.finisher->run_short(1, 1'000'000);
  made.rig->fill_all();
  made.finisher->await(1);
  auto& waits = made.rig->pipeline->statistics().waiting_for_memory;
  while (waits.value() < 1) std::this_thread::yield();
  const bool seeks = GENERATE(true, false);
  if (seeks) {
    made.rig->stream->seek(1, {0, 3});
    while (waits.value() > 0) made.rig->stream->tick();
    made.rig->wait([&] { return made.rig->abandoned + made.rig->ready.size() == 3; });
  }
  made.rig->stream->stop();
  made.rig->wait([&] { return made.rig->quiet; });
  CHECK(waits.value() == 0);
}

TEST_CASE("memory that stays short while a batch is finished ends the stream with a sentence") {
  Given given;
  given.patience.memory_ns_max = 1;
  Made made(given);
  made.finisher->run_short(1, 1'000'000);
  made.rig->fill_all();
  const auto has_failed = [&] {
    bool failed = false;
    made.rig->wait([&] { return failed = !made.rig->failure.empty(), true; });
    return failed;
  };
  for (int i = 0; i < 100'000 && !has_failed(); i++) {
    made.rig->stream->tick();
    std::this_thread::yield();
  }
  CHECK_THAT(made.rig->failure, Catch::Contains("batch of step 1") && Catch::Contains("memory"));
}

TEST_CASE("a batch whose finishing fails ends the stream with the error") {
  Made made;
  made.finisher->fail_at(1);
  made.rig->fill_all();
  made.rig->wait([&] { return !made.rig->failure.empty(); });
  CHECK(made.rig->failure == "the moon is full");
  CHECK_FALSE(made.rig->stream->fill(made.rig->slots[0]));
}

TEST_CASE("a layout in which samples differ in length is cleared, and put together before a batch is told") {
  Given given;
  given.further = {{"tokens", config::DType::kInt64, {16}, 128, 0, batch::Role::kRows, {}, batch::Padding{}}};
  Rig rig(given);
  for (auto& slot : rig.slots) slot.contents.lengths = {1, 2, 3, 4, 5, 6};  // an earlier batch's
  rig.fill_all();
  for (int step = 0; step < 5; step++) {
    const Received got = rig.take(false);
    const auto& contents = got.batch.slot->contents;
    REQUIRE(contents.views.size() == 4);
    CHECK(contents.lengths == std::vector<uint32_t>{0, 0, 0, 0});
    CHECK(got.values == test::tenfold(got.ids));
    rig.stream->fill(*got.batch.slot);
  }
}

}  // namespace spdld::finishing_test
