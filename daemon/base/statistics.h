// The statistics seam: counters and histograms that any thread may add to without a lock and any thread may read while
// others add (a read is a near-simultaneous snapshot, not an atomic one). No allocation after construction.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace spdld {

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
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0}, peak_{0};
};

// Log-linear buckets: 8 for each power of two, so that a quantile is right within 6.25 %. Covers 0 .. 2^63.
class Histogram {
 public:
  static constexpr unsigned kSubBits = 3;
  static constexpr size_t kBuckets = (64 - kSubBits) * (1u << kSubBits) + (1u << kSubBits);

  void record(uint64_t value) {
    buckets_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  uint64_t count() const;
  uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }
  double mean() const;
  // The value at or below which the share `q` (0..1) of the records lies; 0 without records.
  uint64_t quantile(double q) const;

  static size_t bucket_of(uint64_t value);
  static uint64_t bucket_middle(size_t bucket);

 private:
  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> sum_{0};
};

}  // namespace spdld
