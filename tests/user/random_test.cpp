// A crew to which everything happens at any moment: right values, no memory that stays, and an end.
#include <algorithm>
#include <catch2/catch.hpp>
#include <mutex>
#include <random>
#include <string>

#include "tests/user/crew_rig.h"

namespace spdld::random_test {

using namespace spdld;
using namespace spdld::test;
using proto::crew::Task;

namespace {

// Workers die, ask for room, refuse or drop a sample, or hang for a moment, at random.
class Whims {
 public:
  explicit Whims(unsigned seed) : random_(seed) {}
  Made operator()(const Task& task, const std::vector<uint8_t>& input) {
    const std::lock_guard lock(mutex_);
    const auto way = random_() % 200;
    if (way == 0) return {.way = Made::Way::kDies};
    if (way == 1) return {.way = Made::Way::kHangs};
    if (way == 2) return bad("not today");
    if (way == 3) return {.way = Made::Way::kSays};  // of a call that never was
    if (way < 12) return drops(task, way);
    const size_t zeros = way < 40 ? random_() % 60'000 : 0;
    return gives(std::string(zeros, '0') + std::string(input.begin(), input.end()));
  }
  Made::Way of_bunch(const std::vector<Task>& bunch) {
    const std::lock_guard lock(mutex_);
    const auto way = random_() % 50;
    if (way == 0) return Made::Way::kDies;
    if (way == 1) return Made::Way::kHangs;
    // Of a sample that was alone it is a lie, now and then.
    const bool may_be_again = bunch.front().is_alone == 0 || random_() % 20 == 0;
    return way < 8 && may_be_again ? Made::Way::kAgain : Made::Way::kGives;
  }

 private:
  std::mutex mutex_;
  std::mt19937 random_;
};

// All slots are filled again behind a seek.
void seek(Rig& rig, uint32_t run) {
  rig.stream->seek(run, {});
  REQUIRE(soon([&] {
    rig.stream->tick();
    bool is_back = false;
    rig.wait([&] {
      is_back = rig.ready.size() + rig.abandoned == rig.slots.size() || !rig.failure.empty();
      if (is_back) rig.ready.clear(), rig.abandoned = 0;
      return true;
    });
    return is_back;
  }));
  rig.fill_all();
}

void take_one(Rig& rig) {
  bool is_there = false;
  REQUIRE(soon([&] {
    rig.stream->tick();
    rig.wait([&] {
      is_there = !rig.ready.empty() || !rig.failure.empty();
      return true;
    });
    return is_there;
  }));
  REQUIRE(rig.failure == "");
  const Received batch = rig.take();
  CHECK(batch.values == tenfold(batch.ids));
}

}  // namespace

TEST_CASE("whatever happens whenever, batches are right, and nothing stays", "[scratch]") {
  const unsigned seed = GENERATE(1u, 2u, 3u, 4u);
  INFO("seed " << seed);
  std::mt19937 random(seed);
  Given given;
  given.samples = 200, given.epochs = 0;
  if (seed % 2 == 0) given.on_drop = config::OnDrop::kShorter;
  given.python.call_limit_s = 0.1, given.python.scratch_bytes = 1 << 20;
  const bool in_bunches = GENERATE(false, true);
  const uint32_t in_flight = GENERATE(0u, 4u);
  const auto op = in_bunches ? bunched("t:again", "bytes", 5) : python("t:again", "bytes");
  given.outputs = {{"value", "text", {op, {"parse-int", {}, {}}}, {}},
                   {"label", "text", {python("t:again", "bytes"), {"parse-int", {}, {}}}, {}}};
  const auto whims = std::make_shared<Whims>(seed);
  Bunches bunches{.most = in_bunches ? size_t{5} : 0, .in_flight = in_flight};
  bunches.begun = [whims](const std::vector<Task>& bunch) { return whims->of_bunch(bunch); };
  CrewRig crew(given, {.function = [whims](const Task& task,
                                           const std::vector<uint8_t>& input) { return (*whims)(task, input); },
                       .workers = 3,
                       .bunches = bunches});
  crew.rig->fill_all();
  for (uint32_t i = 1; i <= 40; i++) {
    const auto what = random() % 12;
    if (what == 0) crew.kill_process();
    if (what == 1) seek(*crew.rig, i);
    if (what == 2) {
      crew.leave();
      crew.control.run([&] { crew.seat.reset(); });
      crew.come();
    }
    if (what > 1) take_one(*crew.rig);
  }
  crew.rig->stream->stop();
  CHECK(soon([&] {
    crew.rig->stream->tick();
    bool is_quiet = false;
    crew.rig->wait([&] {
      is_quiet = crew.rig->quiet;
      return true;
    });
    return is_quiet;
  }));
  CHECK(crew.stage().waiting() == 0);
  CHECK(soon([&] { return crew.scratch->taken_bytes() == 0; }));
}

}  // namespace spdld::random_test
