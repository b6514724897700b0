#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "client/cli/bench/bench.h"

namespace spdld::bench_report_test {

using namespace spdld::cli;

namespace {
constexpr Page kWide{false, 200};
}  // namespace

namespace {

BenchPlan plan(uint32_t world_size) {
  BenchPlan plan;
  plan.pipeline = std::string("p");  // g++ 12 warns wrongly of a text that is assigned here
  plan.world_size = world_size;
  return plan;
}

BenchBatch batch(uint32_t rank, double at_s, double wait_s, uint32_t images) {
  return {.at_s = at_s, .wait_s = wait_s, .rank = rank, .images = images, .substituted = 0, .masked = 0};
}

}  // namespace

TEST_CASE("the rate is over all that came after the first batch") {
  BenchReport report = summarise(plan(1), {batch(0, 1, 1, 64), batch(0, 2, 0.5, 64), batch(0, 3, 0.25, 32)});
  add_cpu(report, 0.24, 0.08);
  CHECK(report.images == 160);
  CHECK(report.batches == 3);
  CHECK(report.seconds == Approx(3));
  CHECK(report.images_per_s == Approx(96 / 2.0));
  CHECK(report.first_batch_s == Approx(1));
  CHECK(report.wait_s == Approx(0.75));  // the first batch's wait is told apart
  CHECK(report.cpu_ms_per_image == Approx(320.0 / 160));
}

TEST_CASE("of several ranks the first batch is the slowest one's") {
  const auto report = summarise(
      plan(2), {batch(1, 0.5, 0.5, 10), batch(0, 0.75, 0.75, 10), batch(1, 1.0, 0.25, 10), batch(0, 1.5, 0.5, 10)});
  CHECK(report.first_batch_s == Approx(0.75));
  CHECK(report.images_per_s == Approx(30));
  CHECK(report.wait_s == Approx(0.75));
}

TEST_CASE("a single batch has a rate as well") {
  const auto report = summarise(plan(1), {batch(0, 2, 2, 64)});
  CHECK(report.images_per_s == Approx(32));
  CHECK(report.wait_p99_us == 0);
}

TEST_CASE("no batch at all is no division by zero") {
  BenchReport report = summarise(plan(1), {});
  add_cpu(report, 1, 1);
  CHECK(report.images_per_s == 0);
  CHECK(report.cpu_ms_per_image == 0);
}

TEST_CASE("median and p99 are of the waits, by nearest rank") {
  std::vector<BenchBatch> batches = {batch(0, 0.1, 0.1, 1)};
  for (int i = 1; i <= 101; i++) batches.push_back(batch(0, 0.1 + i, i * 1e-6, 1));
  const auto report = summarise(plan(1), batches);
  CHECK(report.wait_median_us == Approx(51));
  CHECK(report.wait_p99_us == Approx(100));
}

TEST_CASE("bad content is counted and shown") {
  BenchBatch bad = batch(0, 1, 1, 8);
  bad.substituted = 2;
  bad.masked = 1;
  const auto report = summarise(plan(1), {bad, bad});
  CHECK(report.substituted == 4);
  CHECK(report.masked == 2);
  CHECK(report_text(report, kWide).find("4 samples substituted, 2 masked") != std::string::npos);
  const auto json = nlohmann::json::parse(report_json(report));
  CHECK(json.at("substituted") == 4);
  CHECK(json.at("images") == 16);
}

}  // namespace spdld::bench_report_test
