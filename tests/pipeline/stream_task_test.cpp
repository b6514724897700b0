#include "daemon/pipeline/stream_task.h"

#include <catch2/catch.hpp>
#include <vector>

#include "daemon/memory/host/host_slot.h"

namespace spdld::stream_task_test {

using pipeline::Cursor;
using pipeline::OpenBatch;
using pipeline::Progress;
using pipeline::Waiting;

namespace {

// Steps whose samples have the numbers of their places, and come from source 0 and 1 in turn.
class CountingSteps final : public pipeline::Steps {
 public:
  bool has_next() const override { return true; }
  Step take_next() override { return {}; }
  void read(const Step&, uint64_t first, std::span<Sample> samples) override {
    for (Sample& sample : samples) sample = {.id = first, .source = static_cast<uint32_t>(first % 2)}, ++first;
  }
  uint64_t substitute(const Step&, uint64_t index, uint32_t) override { return index; }
  void go_to(sampler::Position) override {}
  Status push(const sampler::PushedSteps&) override { return Done{}; }
};

struct Opened {
  explicit Opened(uint64_t samples) {
    slot.memory = std::make_unique<memory::HostSlot>(4096, memory::Access::kWritable);
    batch::Batch batch{&slot, 0, {}, {0, samples, 0}};
    batch.of_source.assign(2, 0);
    open.open(batch, {}, 0);
  }
  batch::Slot slot;
  OpenBatch open;
};

// Takes so many samples and finishes all of them at once, in `took_ns`.
void finish_all(Cursor& cursor, uint64_t took_ns) {
  CountingSteps steps;
  cursor.begin(steps, 1);
  do cursor.count_source();
  while (cursor.step_on());
  cursor.pace(1 + took_ns);
}

}  // namespace

TEST_CASE("a task takes twice as many cheap samples each time, and one alone behind a sample that waits") {
  Opened opened(100'000);
  Cursor cursor(1);
  REQUIRE(cursor.take_of(opened.open, 1));
  CHECK(cursor.taken() == 1);
  for (const uint64_t taken : {2, 4, 8, 16, 32, 32}) {
    finish_all(cursor, 20'000);
    REQUIRE(cursor.take_more(1));
    CHECK(cursor.taken() == taken);
  }
  finish_all(cursor, 30'000);  // neither cheap nor dear
  REQUIRE(cursor.take_more(1));
  CHECK(cursor.taken() == 32);
  finish_all(cursor, 50'000);
  REQUIRE(cursor.take_more(1));
  CHECK(cursor.taken() == 16);
  cursor.slow_down();
  REQUIRE(cursor.take_more(1));
  CHECK(cursor.taken() == 1);
}

TEST_CASE("samples that had to wait for a turn tell nothing of their cost") {
  Opened opened(100);
  Cursor cursor(1);
  CountingSteps steps;
  REQUIRE(cursor.take_of(opened.open, 1));
  cursor.begin(steps, 1);
  cursor.forget_start();
  cursor.step_on();
  cursor.pace(2);
  REQUIRE(cursor.take_more(1));
  CHECK(cursor.taken() == 1);
}

TEST_CASE("a task that leaves its batch tells of each sample once, by its source") {
  Opened opened(7);
  Cursor cursor(2);
  CountingSteps steps;
  REQUIRE(cursor.take_of(opened.open, 1));
  finish_all(cursor, 0);
  REQUIRE(cursor.take_more(1));
  REQUIRE(cursor.taken() == 2);
  cursor.begin(steps, 1);
  CHECK(cursor.sample().id == 1);
  CHECK(cursor.index() == 1);
  CHECK(cursor.rest() == 1);
  cursor.count_source();
  cursor.give_back_rest();  // sample 2 is another task's now
  CHECK(cursor.rest() == 0);
  CHECK_FALSE(cursor.step_on());
  cursor.leave();
  CHECK(opened.open.batch.of_source == std::vector<uint32_t>{1, 1});
  CHECK_FALSE(opened.open.is_whole());
  REQUIRE(opened.open.has_returned());
  cursor.slow_down();
  std::vector<uint64_t> others;
  while (cursor.take_of(opened.open, 1)) {
    cursor.begin(steps, 1);
    others.push_back(cursor.sample().id);
    finish_all(cursor, 50'000);
    cursor.leave();
  }
  CHECK(others == std::vector<uint64_t>{2, 3, 4, 5, 6});
  CHECK(opened.open.batch.of_source == std::vector<uint32_t>{4, 3});
  CHECK(opened.open.is_whole());
}

TEST_CASE("samples of an abandoned batch that a task has taken count as finished when it leaves") {
  Opened opened(100);
  Cursor cursor(1);
  CountingSteps steps;
  REQUIRE(cursor.take_of(opened.open, 1));
  finish_all(cursor, 0);
  REQUIRE(cursor.take_more(1));
  cursor.begin(steps, 1);
  CHECK(opened.open.abandon() == 97);
  CHECK_FALSE(opened.open.is_whole());
  cursor.leave();
  CHECK(opened.open.is_whole());
}

TEST_CASE("a place gets eight substitutes for bad content, and more for samples that are too long") {
  Progress progress;
  progress.begin_sample();
  for (uint32_t i = 1; i <= Progress::kAttemptsMax; ++i) {
    progress.go_on();
    CHECK(progress.substitute(true));
    CHECK(progress.attempt() == i);
    CHECK(progress.stage() == 0);
  }
  CHECK(progress.substitute(false));
  CHECK_FALSE(progress.substitute(true));
  progress.begin_sample();
  for (uint32_t i = 1; i <= Progress::kLeftOutMax; ++i) CHECK(progress.substitute(false));
  CHECK_FALSE(progress.substitute(false));
}

TEST_CASE("each wait of a sample is measured from its own beginning") {
  Waiting waiting;
  CHECK(waiting.wait(false, 100) == 0);
  CHECK(waiting.wait(false, 130) == 30);
  CHECK(waiting.wait(true, 140) == 0);
  CHECK(waiting.wait(true, 150) == 10);
  CHECK(waiting.wait(false, 160) == 60);  // the fault goes on, and there was memory to ask again
  CHECK(waiting.wait(true, 170) == 0);
  waiting.note_answer();
  CHECK(waiting.wait(false, 180) == 0);
  waiting.begin_sample();
  CHECK(waiting.wait(true, 190) == 0);
  CHECK(waiting.wait(false, 200) == 0);
}

TEST_CASE("a sample counts once among those whose source is asked again") {
  Waiting waiting;
  CHECK_FALSE(waiting.note_asked_again(false));
  CHECK(waiting.note_asked_again(true));
  CHECK_FALSE(waiting.note_asked_again(true));
  CHECK(waiting.note_asked_again(false));
}

}  // namespace spdld::stream_task_test
