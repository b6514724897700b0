// The statistics seam: counters and histograms that any thread may add to without a lock and any thread may read while
// others add (a read is a near-simultaneous snapshot, not an atomic one). No allocation after construction.
//
// The striped kinds are for what many threads count for every small sample: threads add in memory of their own, so that
// no cache line wanders between the cores. A read of a striped kind adds the stripes up.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

// A build with SPDLD_STATISTICS=0 shows what they cost (bench/statistics_cost.py): it records nothing for each sample.
#ifndef SPDLD_STATISTICS
#define SPDLD_STATISTICS 1
#endif

namespace spdld {

inline constexpr bool kHasStatistics = SPDLD_STATISTICS != 0;

class Counter {
 public:
  void add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// A level that goes up and down (occupancy), with its highest value so far.
class Gauge {
 public:
  void add(int64_t n) {
    const int64_t now = value_.fetch_add(n, std::memory_order_relaxed) + n;
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }
  // As a count: threads add and take off without order, and a moment's value may be below 0.
  uint64_t level() const { return static_cast<uint64_t>(std::max<int64_t>(value(), 0)); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0}, peak_{0};
};

// Records are read as a Distribution (distribution.h). Log-linear buckets: 8 for each power of two, so that a quantile
// is right within 6.25 %. Covers 0 .. 2^63.
class Histogram {
 public:
  static constexpr unsigned kSubBits = 3;
  static constexpr size_t kBuckets = (64 - kSubBits) * (1u << kSubBits) + (1u << kSubBits);

  void record(uint64_t value) {
    if constexpr (!kHasStatistics) return;
    buckets_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }

  static size_t bucket_of(uint64_t value);
  static uint64_t bucket_middle(size_t bucket);

  using Records = std::array<uint64_t, kBuckets>;  // by bucket
  void add_to(Records& records) const;
  // The value at or below which the share `q` (0..1) of the records lies; 0 without records.
  static uint64_t quantile_of(const Records& records, double q);
  // Which of `count` records, in rising order and from 1 on, that value is. Precondition: there are some.
  static uint64_t rank_of(double q, uint64_t count);

 private:
  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> sum_{0};
};

inline constexpr size_t kStripes = 16;
inline constexpr size_t kStripeAlignment = 128;  // two cache lines: processors fetch lines in pairs
// The calling thread's. Threads take turns; beyond kStripes threads some share a stripe, which is slower and as right.
size_t stripe_of_thread();

class StripedCounter {
 public:
  void add(uint64_t n = 1) {
    if constexpr (kHasStatistics) stripes_[stripe_of_thread()].counter.add(n);
  }
  uint64_t value() const {
    uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.counter.value();
    return sum;
  }

 private:
  struct alignas(kStripeAlignment) Stripe {
    Counter counter;
  };
  std::array<Stripe, kStripes> stripes_;
};

class StripedHistogram {
 public:
  void record(uint64_t value) {
    if constexpr (kHasStatistics) stripes_[stripe_of_thread()].histogram.record(value);
  }
  uint64_t sum() const;
  void add_to(Histogram::Records& records) const;

 private:
  struct alignas(kStripeAlignment) Stripe {
    Histogram histogram;
  };
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace spdld
