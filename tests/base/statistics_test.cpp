#include "daemon/base/statistics.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "daemon/base/distribution.h"

namespace spdld::statistics_test {

using namespace spdld;

TEST_CASE("every value lies near the middle of its bucket, and buckets follow one another") {
  CHECK(Histogram::bucket_of(0) == 0);
  CHECK(Histogram::bucket_of(7) == 7);
  CHECK(Histogram::bucket_of(8) == 8);
  CHECK(Histogram::bucket_of(15) == 15);
  CHECK(Histogram::bucket_of(16) == 16);
  CHECK(Histogram::bucket_of(17) == 16);
  CHECK(Histogram::bucket_of(18) == 17);
  CHECK(Histogram::bucket_of(std::numeric_limits<uint64_t>::max()) == Histogram::kBuckets - 1);

  for (size_t bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
    REQUIRE(Histogram::bucket_of(Histogram::bucket_middle(bucket)) == bucket);
  }
  for (uint64_t value = 1; value < (uint64_t{1} << 62); value += value / 37 + 1) {
    const double middle = static_cast<double>(Histogram::bucket_middle(Histogram::bucket_of(value)));
    REQUIRE(std::abs(middle - static_cast<double>(value)) <= 0.0625 * static_cast<double>(value));
    REQUIRE(Histogram::bucket_of(value) <= Histogram::bucket_of(value + 1));
  }
}

TEST_CASE("an empty histogram gives zeros") {
  const auto records = Distribution::of(Histogram());
  CHECK(records.count() == 0);
  CHECK(records.mean() == 0.0);
  CHECK(records.quantile(0.5) == 0);
}

TEST_CASE("quantiles are right within 6.25 percent") {
  const auto histogram = std::make_unique<Histogram>();
  for (uint64_t value = 1; value <= 10000; ++value) histogram->record(value);
  const auto records = Distribution::of(*histogram);
  CHECK(records.count() == 10000);
  CHECK(records.sum() == 50005000);
  CHECK(records.mean() == Approx(5000.5));
  CHECK(records.quantile(0) == 1);
  for (const double q : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    CHECK(static_cast<double>(records.quantile(q)) == Approx(q * 10000).epsilon(0.0626));
  }
}

TEST_CASE("a quantile of few records is one of them") {
  Histogram histogram;
  histogram.record(3);
  histogram.record(5);
  const auto records = Distribution::of(histogram);
  CHECK(records.quantile(0.5) == 3);
  CHECK(records.quantile(0.51) == 5);
  CHECK(records.quantile(1.0) == 5);
}

TEST_CASE("threads add without losing anything") {
  const auto histogram = std::make_unique<Histogram>();
  Counter counter;
  Gauge gauge;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (uint64_t i = 0; i < 10000; ++i) {
          counter.add(2);
          histogram->record(i);
          gauge.add(1);
          gauge.add(-1);
        }
      });
    }
  }
  CHECK(counter.value() == 80000);
  CHECK(Distribution::of(*histogram).count() == 40000);
  CHECK(histogram->sum() == 4u * 9999 * 5000);
  CHECK(gauge.value() == 0);
  CHECK(gauge.peak() >= 1);
  CHECK(gauge.peak() <= 4);
}

TEST_CASE("striped counters and histograms add up what all threads have counted") {
  StripedCounter counter;
  const auto striped = std::make_unique<StripedHistogram>();
  const auto plain = std::make_unique<Histogram>();
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < 2 * kStripes + 1; ++t) {
      threads.emplace_back([&] {
        for (uint64_t i = 0; i < 1000; ++i) {
          counter.add(3);
          striped->record(i * i);
          plain->record(i * i);
        }
      });
    }
  }
  CHECK(counter.value() == 3000 * (2 * kStripes + 1));
  CHECK(striped->sum() == plain->sum());
  const auto of_stripes = Distribution::of(*striped), of_plain = Distribution::of(*plain);
  CHECK(of_stripes.count() == of_plain.count());
  CHECK(of_stripes.mean() == of_plain.mean());
  for (const double q : {0.0, 0.25, 0.5, 0.99, 1.0}) CHECK(of_stripes.quantile(q) == of_plain.quantile(q));
  CHECK(Distribution::of(StripedHistogram()).quantile(0.5) == 0);
}

TEST_CASE("a gauge remembers its peak") {
  Gauge gauge;
  gauge.add(5);
  gauge.add(-3);
  gauge.add(1);
  CHECK(gauge.value() == 3);
  CHECK(gauge.peak() == 5);
}

}  // namespace spdld::statistics_test
