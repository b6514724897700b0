// The records of a histogram at one moment, small enough to be kept for each second: only buckets with records count.
// Plain values; one thread at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/base/statistics.h"

namespace spdld {

class Distribution {
 public:
  Distribution() = default;
  template <typename AnyHistogram>
  static Distribution of(const AnyHistogram& histogram) {
    Histogram::Records records{};
    histogram.add_to(records);
    return Distribution(records, histogram.sum());
  }
  // Of these values, for tests and simulations.
  static Distribution of_values(const std::vector<uint64_t>& values);

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  double mean() const { return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  // The value at or below which the share `q` (0 .. 1) of the records lies, within 6.25 %; 0 without records.
  uint64_t quantile(double q) const;
  // How many records are below 2^exponent, exactly.
  uint64_t count_below_power(unsigned exponent) const;

  // The records that were added since `earlier`. A histogram that has begun anew gives all of its records.
  Distribution since(const Distribution& earlier) const;
  void add(const Distribution& other);

 private:
  Distribution(const Histogram::Records& records, uint64_t sum);

  std::vector<std::pair<uint16_t, uint64_t>> records_;  // bucket and its records, in rising order; no empty bucket
  uint64_t count_ = 0, sum_ = 0;
};

}  // namespace spdld
