#include "daemon/base/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace spdld {

// Values below 8 have a bucket each; above, bucket 8 * (e - 2) + m holds the values whose highest bit is bit e and
// whose next three bits are m.
size_t Histogram::bucket_of(uint64_t value) {
  constexpr uint64_t per_power = 1u << kSubBits;
  if (value < per_power) return value;
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kSubBits;
  return (uint64_t{shift} << kSubBits) + (value >> shift);  // value >> shift is 8 .. 15
}

uint64_t Histogram::bucket_middle(size_t bucket) {
  constexpr uint64_t per_power = 1u << kSubBits;
  if (bucket < per_power) return bucket;
  const uint64_t shift = (bucket >> kSubBits) - 1;
  const uint64_t low = ((bucket & (per_power - 1)) + per_power) << shift;
  return low + ((uint64_t{1} << shift) >> 1);
}

void Histogram::add_to(Records& records) const {
  for (size_t i = 0; i < kBuckets; ++i) records[i] += buckets_[i].load(std::memory_order_relaxed);
}

uint64_t Histogram::quantile_of(const Records& records, double q) {
  const uint64_t count = std::accumulate(records.begin(), records.end(), uint64_t{0});
  if (count == 0) return 0;
  const uint64_t rank = rank_of(q, count);
  uint64_t passed = 0;
  size_t bucket = 0;
  while (passed + records[bucket] < rank) passed += records[bucket++];  // ends: rank <= count
  return bucket_middle(bucket);
}

uint64_t Histogram::rank_of(double q, uint64_t count) {
  const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count));
  return std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count);
}

size_t stripe_of_thread() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t stripe = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
  return stripe;
}

uint64_t StripedHistogram::sum() const {
  uint64_t sum = 0;
  for (const Stripe& stripe : stripes_) sum += stripe.histogram.sum();
  return sum;
}

void StripedHistogram::add_to(Histogram::Records& records) const {
  for (const Stripe& stripe : stripes_) stripe.histogram.add_to(records);
}

}  // namespace spdld
