#include "daemon/metrics/history.h"

#include <catch2/catch.hpp>

#include "daemon/metrics/verdict.h"

using namespace spdld;
using namespace spdld::metrics;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

NodeFigures at(uint64_t ns, uint64_t samples) {
  NodeFigures node;
  node.at_ns = ns;
  PipelineFigures pipeline{.name = "a", .number = 7};
  pipeline.samples = samples;
  pipeline.in_flight_bytes = samples * 2;
  pipeline.stages = {{.name = "fetch", .samples = samples, .lanes = 4}};
  node.pipelines = {pipeline};
  return node;
}

}  // namespace

TEST_CASE("a distribution is the histogram's records; differences and sums are exact") {
  Histogram histogram;
  for (uint64_t i = 0; i < 1000; i++) histogram.record(i * i);
  const auto before = Distribution::of(histogram);
  Histogram::Records records{};
  histogram.add_to(records);
  CHECK(before.count() == 1000);
  CHECK(before.sum() == histogram.sum());
  for (const double q : {0.0, 0.01, 0.5, 0.9, 0.999, 1.0})
    CHECK(before.quantile(q) == Histogram::quantile_of(records, q));
  for (int i = 0; i < 10; i++) histogram.record(1 << 20);
  const auto now = Distribution::of(histogram);
  const auto since = now.since(before);
  CHECK(since.count() == 10);
  CHECK(since.sum() == 10ull << 20);
  CHECK(since.quantile(0.5) >= (1 << 20));
  auto sum = before;
  sum.add(since);
  CHECK(sum.count() == now.count());
  CHECK(sum.quantile(0.995) == now.quantile(0.995));
  CHECK(before.since(now).count() == before.count());  // a histogram that began anew
  CHECK(Distribution().quantile(0.5) == 0);
  CHECK(Distribution().mean() == 0);
}

TEST_CASE("counts below a power of two are exact") {
  std::vector<uint64_t> values;
  for (uint64_t i = 0; i < 40; i++) {
    values.push_back((uint64_t{1} << i) - 1);
    values.push_back(uint64_t{1} << i);
  }
  const auto all = Distribution::of_values(values);
  for (unsigned exponent = 0; exponent < 40; exponent++) CHECK(all.count_below_power(exponent) == 2 * exponent + 1);
}

TEST_CASE("windows end now and are as long as their names while there are figures") {
  History history;
  CHECK(history.wants(1));
  CHECK(history.window(at(kSecond, 5), 1).seconds == 0);
  CHECK(history.window(at(kSecond, 5), 1).figures.pipelines.front().samples == 0);
  for (uint64_t s = 0; s <= 200; s++) history.keep(at(s * kSecond, s * 100));
  CHECK(!history.wants(200 * kSecond + kSecond / 2));
  CHECK(history.wants(201 * kSecond));
  const auto now = at(200 * kSecond + kSecond / 2, 20'050);
  for (const uint32_t seconds : History::kWindowsS) {
    const Window window = history.window(now, seconds);
    CHECK(window.seconds == Approx(seconds + 0.5));
    const PipelineFigures& pipeline = window.figures.pipelines.front();
    CHECK(pipeline.samples == static_cast<uint64_t>(window.seconds * 100));
    CHECK(pipeline.stages.front().samples == pipeline.samples);
    CHECK(pipeline.stages.front().lanes == 4);         // a level
    CHECK(pipeline.in_flight_bytes == 20'050ull * 2);  // another level
  }
}

TEST_CASE("figures that come at longer times than a second make no window shorter than its name") {
  History history;
  for (uint64_t i = 0; i <= 100; i++) {
    const uint64_t now_ns = i * kSecond * 11 / 10;
    history.keep(at(now_ns, i));
    if (now_ns >= 60 * kSecond) CHECK(history.window(at(now_ns, i), 60).seconds >= 60);
  }
}

TEST_CASE("a young history gives the time that there is; the figures do not pile up") {
  History history;
  history.keep(at(5 * kSecond, 10));
  history.keep(at(6 * kSecond, 30));
  const Window window = history.window(at(8 * kSecond, 40), 60);
  CHECK(window.seconds == 3);
  CHECK(window.figures.pipelines.front().samples == 30);
  for (uint64_t i = 0; i < 100'000; i++) history.keep(at(8 * kSecond + i, 40));  // figures that come too often
  CHECK(history.window(at(9 * kSecond, 41), 60).seconds <= 1);
}

TEST_CASE(
    "a window knows for which share of its time trainers waited and rings were full, also of rings that are hidden "
    "later") {
  const auto with_ring = [](uint64_t ns, uint64_t waited_ns, uint64_t full_ns) {
    NodeFigures node = at(ns, ns / 1'000'000);
    RingFigures ring{.group = "job", .batches = ns / 1'000'000, .full_ns = full_ns};
    ring.readers = {{.name = "me", .group = "job", .pid = 12, .waited_ns = waited_ns}};
    node.pipelines.front().rings = {ring};
    return node;
  };
  History history;
  history.keep(with_ring(kSecond, 0, 0));
  const Window window = history.window(with_ring(5 * kSecond, kSecond, 3 * kSecond), 10);
  CHECK(window.figures.pipelines.front().waiting == Approx(0.25));
  CHECK(window.figures.pipelines.front().full == Approx(0.75));
  CHECK(window.figures.pipelines.front().waiting == judge(window, window.figures.pipelines.front()).waiting);
}

TEST_CASE("parts that were not there before began at nothing; counters that fell have begun anew") {
  NodeFigures before = at(kSecond, 100), now = at(2 * kSecond, 30);
  now.pipelines.front().stages.push_back({.name = "decode", .samples = 12});
  CHECK(since(now, before).pipelines.front().samples == 30);
  CHECK(since(now, before).pipelines.front().stages.back().samples == 12);
  now.pipelines.front().number = 8;  // another pipeline of the same name
  now.pipelines.front().samples = 150;
  CHECK(since(now, before).pipelines.front().samples == 150);
}
