// How often every sample comes, over all ranks and epochs of runs of random shapes, whose processes are killed.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/integration/killed_run.h"
#include "tests/support/makers/photos.h"

namespace spdld::promise_test {

using namespace spdld;
using namespace spdld::test;

namespace {

constexpr int kRuns = SPDLD_SANITIZED ? 6 : 30;
constexpr int kCycles = 3;  // of each

// What batch.last promises of an epoch of N samples in global batches of G.
struct End {
  const char* last;
  bool rounds_up;   // an epoch's steps
  bool all_filled;  // its batches
};
constexpr End kEnds[] = {{"short", true, false}, {"drop", false, true}, {"pad", true, true}};

struct Shape {
  uint64_t samples, batch_size, world_size, epochs;
  End end;
  PhotoSpec spec;

  uint64_t global_size() const { return batch_size * world_size; }
  uint64_t steps() const { return (samples + (end.rounds_up ? global_size() - 1 : 0)) / global_size(); }
  uint64_t handed_out() const { return end.all_filled ? steps() * global_size() : samples; }  // in an epoch
  uint64_t times_min() const { return handed_out() / samples; }
  uint64_t times_max() const { return (handed_out() + samples - 1) / samples; }
};

Shape random_shape(std::mt19937_64& random) {
  Shape shape;
  shape.batch_size = 1 + below(random, 6);
  shape.world_size = 1 + below(random, 4);
  shape.end = kEnds[below(random, std::size(kEnds))];
  shape.samples = (shape.end.rounds_up ? 1 : shape.global_size()) + below(random, 60);
  shape.epochs = 1 + below(random, 4);
  const char* const caches[] = {"auto", "off", "encoded", "indexed", "packed", "decoded"};
  shape.spec.batch_size = static_cast<int>(shape.batch_size), shape.spec.epochs = static_cast<int>(shape.epochs);
  shape.spec.last = shape.end.last, shape.spec.cache = caches[below(random, std::size(caches))];
  shape.spec.seed = static_cast<int>(below(random, 1'000'000));
  shape.spec.prefetch_depth = static_cast<int>(1 + below(random, 5));
  shape.spec.extra_order = below(random, 4) ? "" : "shuffle = false";
  return shape;
}

std::string text_of(const Shape& shape) {
  std::ostringstream text;
  text << shape.samples << " samples, " << shape.world_size << " ranks, " << shape.epochs << " epochs; "
       << shape.spec.toml("photos");
  return text.str();
}

void check_promise(const Shape& shape, const KilledRun& run) {
  std::vector<std::vector<uint64_t>> times(shape.epochs, std::vector<uint64_t>(shape.samples));
  for (uint32_t rank = 0; rank < shape.world_size; rank++) {
    const KilledRun::History& history = run.history(rank);
    REQUIRE(history.size() == shape.epochs * shape.steps());
    REQUIRE(history.rbegin()->first + 1 == history.size());  // from 0 on, without a gap
    for (const auto& [step, seen] : history) {
      REQUIRE(seen.ids.size() <= shape.batch_size);
      if (shape.end.all_filled) REQUIRE(seen.ids.size() == shape.batch_size);
      for (const int64_t id : seen.ids) times.at(seen.epoch).at(static_cast<uint64_t>(id))++;
    }
  }
  for (const auto& of_epoch : times) {
    uint64_t sum = 0;
    for (const uint64_t count : of_epoch) {
      REQUIRE(count >= shape.times_min());
      REQUIRE(count <= shape.times_max());
      sum += count;
    }
    REQUIRE(sum == shape.handed_out());
  }
}

}  // namespace

TEST_CASE("every sample comes as often as promised, over all ranks and epochs, whatever is killed") {
  const uint64_t seed = Catch::rngSeed() + 602;
  std::mt19937_64 random(seed);
  DaemonProcess daemon;
  for (int number = 0; number < kRuns; number++) {
    const Shape shape = random_shape(random);
    INFO("run " << number << " of seed " << seed << " (--rng-seed " << Catch::rngSeed() << "): " << text_of(shape));
    const auto photos = daemon.dir() / ("photos-" + std::to_string(number));
    make_photos(photos, static_cast<int>(shape.samples), 2, 20, 14);
    KilledRun run(daemon, {shape.spec.toml(photos), static_cast<uint32_t>(shape.world_size), shape.steps()}, random);
    for (int cycles = 0; cycles < kCycles && !run.over(); cycles++) run.cycle();
    run.go_on_to_end();
    check_promise(shape, run);
  }
}

}  // namespace spdld::promise_test
