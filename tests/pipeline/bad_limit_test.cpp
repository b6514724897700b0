// How many bad samples a ring may have before it fails, and where exactly it does.
#include "daemon/pipeline/order/bad_limit.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

namespace spdld::bad_limit_test {

using namespace spdld;
using pipeline::BadLimit;

namespace {

struct Counted {
  explicit Counted(uint64_t samples, std::optional<double> bad_max = {},
                   config::OnBad on_bad = config::OnBad::kSubstitute, uint64_t ranks = 1, uint64_t batch_size = 10)
      : spec(make(bad_max, on_bad, batch_size)),
        sharding(samples, spec.batch, 0, ranks),
        limit(spec, sharding, samples) {}

  static config::PipelineSpec make(std::optional<double> bad_max, config::OnBad on_bad, uint64_t batch_size) {
    config::PipelineSpec spec;
    spec.on_bad = on_bad;
    spec.bad_max = bad_max;
    spec.batch.size = batch_size;
    return spec;
  }

  // A batch of so many bad samples; the sentence where that is too many.
  std::string take(sampler::Position position, size_t bad, const std::string& reason = "rubbish", uint32_t run = 0) {
    batch::Batch batch;
    batch.position = position;
    batch.run = run;
    batch.slice.count = spec.batch.size;
    for (size_t i = bad; i-- > 0;) {  // as threads finish: in no order
      const auto index = static_cast<uint32_t>(i);
      (spec.on_bad == config::OnBad::kMask ? batch.masked : batch.substituted).push_back(index);
      batch.flaws.push_back({index, batch::FlawKind::kDamaged, i, "s" + std::to_string(i), reason});
    }
    const Status within = limit.note(batch);
    if (within) return {};
    CHECK(within.error().trouble == Trouble::kContent);
    return within.error().message;
  }
  // The step in which it fails, when each batch of the epoch has so many bad samples.
  std::optional<uint64_t> failing_step(uint64_t epoch, size_t bad, uint64_t first = 0, uint32_t run = 0) {
    for (uint64_t step = first; step < sharding.steps(); ++step)
      if (!take({epoch, step}, bad, "rubbish", run).empty()) return step;
    return std::nullopt;
  }

  config::PipelineSpec spec;
  sampler::Sharding sharding;
  BadLimit limit;
};

}  // namespace

TEST_CASE("by default a hundredth of an epoch may be bad, and 32 samples at least") {
  CHECK(Counted(100).failing_step(0, 4) == 8);  // 36 are more than 32
  CHECK_FALSE(Counted(80).failing_step(0, 4).has_value());
  CHECK_FALSE(Counted(10'000).failing_step(0, 0).has_value());
  CHECK(Counted(10'000).failing_step(0, 1) == 100);                                    // the 101st
  CHECK(Counted(10'000, {}, config::OnBad::kSubstitute, 2).failing_step(0, 1) == 50);  // of what this rank takes
}

TEST_CASE("bad_max is kept to the sample, as a number and as a part") {
  CHECK(Counted(100, 0).failing_step(0, 1) == 0);
  CHECK(Counted(100, 5).failing_step(0, 1) == 5);
  CHECK(Counted(100, 0.05).failing_step(0, 1) == 5);
  CHECK(Counted(100, 0.99).failing_step(0, 10) == 9);  // 100 are more than 99
  CHECK_FALSE(Counted(100, 1e15).failing_step(0, 10).has_value());
}

TEST_CASE("each epoch is counted anew, and so is what comes after a seek") {
  Counted counted(100, 5);
  for (uint64_t epoch = 0; epoch < 50; ++epoch) {  // of endless ones
    for (uint64_t step = 0; step < 5; ++step) CHECK(counted.take({epoch, step}, 1).empty());
  }
  CHECK(counted.take({50, 0}, 5).empty());
  CHECK(counted.take({50, 1}, 5, "rubbish", 1).empty());  // another run
  CHECK_FALSE(counted.take({50, 2}, 1, "rubbish", 1).empty());
}

TEST_CASE("within an epoch the part is of what is left of it") {
  Counted counted(10'000);
  CHECK(counted.failing_step(3, 1, 500) == 550);  // 50 of the 5,000 samples from there
  Counted late(10'000);
  CHECK_FALSE(late.failing_step(0, 1, 990).has_value());  // 10 of 100, for which the floor holds
}

TEST_CASE("a run that goes on in the same place fails in the same place") {
  for (int run = 0; run < 3; ++run) {
    Counted counted(1000, 0.02);
    CHECK(counted.failing_step(1, 1, 40) == 52);
  }
}

TEST_CASE("masked samples count where bad_max says so") {
  CHECK_FALSE(Counted(100, {}, config::OnBad::kMask).failing_step(0, 10).has_value());
  CHECK(Counted(100, 20, config::OnBad::kMask).failing_step(0, 10) == 2);
}

TEST_CASE("the sentence has the numbers and the first different reasons, in the order of the samples") {
  Counted counted(100, 3);
  CHECK(counted.take({0, 0}, 2, "first").empty());
  CHECK(counted.take({0, 1}, 1, "second").empty());
  const std::string text = counted.take({0, 2}, 1, "third");
  CHECK_THAT(text, Catch::Contains("4 of the 30 samples") && Catch::Contains("epoch 0") && Catch::Contains("step 2") &&
                       Catch::Contains("allows 3 (s0: first; s0: second; s0: third)") &&
                       Catch::Contains("order.exclude"));
}

TEST_CASE("a pushed order, whose epochs have no known end, goes by the data set's samples") {
  config::PipelineSpec spec;
  spec.batch.size = 10;
  const sampler::Sharding sharding = sampler::Sharding(10'000, spec.batch, 0, 1).without_steps();
  BadLimit limit(spec, sharding, 10'000);
  batch::Batch batch;
  batch.slice.count = 10;
  batch.substituted = {1};
  uint64_t step = 0;
  for (; step < 1000; ++step) {
    batch.position = {0, step};
    if (!limit.note(batch)) break;
  }
  CHECK(step == 100);
}

}  // namespace spdld::bad_limit_test
