// The rates of figures that are given by hand: each share has its own numerator and denominator.
#include "daemon/metrics/rates.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/metrics/stages.h"

namespace spdld::rates_test {

using namespace spdld::metrics;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Two seconds, so that a share of the time is no number of seconds.
struct Case {
  Window window;
  PipelineFigures pipeline;

  Case() {
    window.seconds = 2;
    pipeline.samples = 400;
    pipeline.stages = {test::reading({.busy_ns = 2 * kSecond, .lanes = 5, .lanes_max = 6}),
                       test::decoding({.busy_ns = 3 * kSecond, .lanes = 4, .lanes_max = 8})};
    window.figures.decode_busy_ns = 4 * kSecond;
  }
  Rates rates() const { return rates_of_parts(window, pipeline); }
};

RingFigures ring_of(const std::vector<double>& waited_s, double full_s = 0) {
  RingFigures ring{.batches = 10, .full_ns = static_cast<uint64_t>(full_s * 1e9)};
  for (const double seconds : waited_s) ring.readers.push_back({.waited_ns = static_cast<uint64_t>(seconds * 1e9)});
  return ring;
}

}  // namespace

TEST_CASE("the reader that waited longest counts, wherever it stands among several readers") {
  const auto [first, second] = GENERATE(table<std::vector<double>, std::vector<double>>(
      {{{1.0, 0.2}, {0.1}}, {{0.2, 1.0}, {0.1}}, {{0.2}, {0.1, 1.0}}, {{1.0}, {0.2, 0.1}}}));
  Case one;
  one.pipeline.rings = {ring_of(first, 0.5), ring_of(second, 0.25)};
  CHECK(one.rates().waiting == Approx(0.5));
  CHECK(one.rates().full == Approx(0.25));
  one.pipeline.rings = {ring_of(first, 0.25), ring_of(second, 0.5)};
  CHECK(one.rates().full == Approx(0.25));
  CHECK(one.rates().now == Approx(200));
  CHECK(one.rates().trainer == Approx(400));  // it waits for half of the time
}

TEST_CASE("a reader that has told nothing has waited all the time, unless a batch lies ready or none is being filled") {
  Case one;
  RingFigures ring = ring_of({0.2});
  ring.batches = 0, ring.filling = 1;
  one.pipeline.rings = {ring};
  CHECK(one.rates().waiting == 1);
  CHECK(one.rates().trainer == 0);  // not known
  one.pipeline.rings[0].ready = 1;
  CHECK(one.rates().waiting == Approx(0.1));
  one.pipeline.rings[0].ready = one.pipeline.rings[0].filling = 0;
  CHECK(one.rates().waiting == Approx(0.1));
  one.pipeline.rings[0].filling = 1, one.pipeline.rings[0].readers.clear();
  CHECK(one.rates().waiting == 0);
}

TEST_CASE("each share is of what its sentence says") {
  Case one;
  one.window.figures.roles = {{.role = "fetch", .core_wait_ns = kSecond},
                              {.role = "decode", .core_wait_ns = 2 * kSecond},
                              {.role = "control", .core_wait_ns = 50 * kSecond}};
  one.window.figures.throttled_ns = kSecond / 2;
  one.window.figures.gpus = {{.copy_busy_ns = kSecond}, {.copy_busy_ns = kSecond / 4}};
  const Rates rates = one.rates();
  const StageRates &reads = rates.stages.at(0), &threads = rates.stages.at(1);
  CHECK(reads.use == Approx(2.0 / (5 * 2)));          // busy, of the lanes' time
  CHECK(reads.core_wait == Approx(1.0 / (5 * 2)));    // of the lanes' time
  CHECK(threads.core_wait == Approx(2.0 / (4 + 2)));  // of the time that threads worked or waited for a core
  CHECK(threads.use == Approx((4.0 + 2) / (4 * 2)));  // that time, of the lanes'
  CHECK(threads.own_part == Approx(3.0 / 4));         // of the time of all pipelines
  CHECK(reads.own_part == 1);
  CHECK(rates.throttled == Approx(0.25));
  CHECK(rates.copy_use == Approx(0.5));  // of the busiest GPU
  CHECK(reads.sample_s == Approx(2.0 / 400));
  CHECK(threads.sample_s == Approx(3.0 / 400));
  CHECK(rates.lanes() == std::vector<double>{5, 4 * 0.75});
  CHECK(rates.lanes_max() == std::vector<double>{6, 8 * 0.75});
}

TEST_CASE("the busiest stage is found, and of several the last one") {
  StageFigures figures;
  const auto busiest = [&](const std::vector<double>& uses) {
    Rates rates;
    for (const double use : uses) rates.stages.push_back({.stage = &figures, .use = use});
    return &rates.busiest() - rates.stages.data();
  };
  CHECK(busiest({0.2}) == 0);
  CHECK(busiest({0.3, 0.2, 0.1}) == 0);
  CHECK(busiest({0.2, 0.3, 0.3}) == 2);
  CHECK(busiest({0.2, 0.4, 0.3}) == 1);
}

TEST_CASE("shares stay below one, and nothing is divided by nothing") {
  Case one;
  one.window.figures.throttled_ns = 5 * kSecond;
  one.pipeline.stages[1].busy_ns = 9 * kSecond;
  one.pipeline.stages[0].busy_ns = one.window.figures.decode_busy_ns = 90 * kSecond;
  one.window.figures.roles = {{.role = "fetch", .core_wait_ns = 100 * kSecond}};
  CHECK(one.rates().throttled == 1);
  CHECK(one.rates().stages[0].use == 1);
  CHECK(one.rates().stages[1].use == 1);
  CHECK(one.rates().stages[0].core_wait == 1);
  CHECK(one.rates().stages[1].own_part == Approx(0.1));
  const Rates nothing = rates_of_parts({}, {});
  CHECK(nothing.now == 0);
  CHECK(nothing.trainer == 0);
  CHECK(nothing.stages.empty());
  CHECK(nothing.with({}) == 0);
}

TEST_CASE("the slowest part sets the rate, and parts that are not known set none") {
  Rates rates{.now = 50, .trainer = 300};
  rates.stages = {{.sample_s = 0.02}, {.sample_s = 0.01}};
  CHECK(rates.with({4, 4}) == Approx(200));   // 4 lanes that read
  CHECK(rates.with({40, 2}) == Approx(200));  // 2 threads that decode
  CHECK(rates.with({40, 40}) == Approx(300));
  CHECK(rates.with({0, 0}) == Approx(300));
  CHECK(rates.speedup({4, 4}) == Approx(4));
  CHECK(rates.speedup({0.1, 4}) == 1);
  rates.trainer = 0;
  CHECK(rates.with({40, 40}) == Approx(2000));
}

}  // namespace spdld::rates_test
