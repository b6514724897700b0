#include "daemon/base/distribution.h"

#include <algorithm>
#include <memory>

namespace spdld {

Distribution::Distribution(const Histogram::Records& records, uint64_t sum) : sum_(sum) {
  for (size_t i = 0; i < records.size(); i++) {
    if (records[i] == 0) continue;
    records_.emplace_back(static_cast<uint16_t>(i), records[i]);
    count_ += records[i];
  }
}

Distribution Distribution::of_values(const std::vector<uint64_t>& values) {
  const auto histogram = std::make_unique<Histogram>();
  for (const uint64_t value : values) histogram->record(value);
  return of(*histogram);
}

uint64_t Distribution::quantile(double q) const {
  if (count_ == 0) return 0;
  const uint64_t rank = Histogram::rank_of(q, count_);
  uint64_t passed = 0;
  for (const auto& [bucket, records] : records_) {
    passed += records;
    if (passed >= rank) return Histogram::bucket_middle(bucket);
  }
  return Histogram::bucket_middle(records_.back().first);
}

uint64_t Distribution::count_below_power(unsigned exponent) const {
  const size_t end = Histogram::bucket_of(uint64_t{1} << exponent);
  uint64_t below = 0;
  for (const auto& [bucket, records] : records_) below += bucket < end ? records : 0;
  return below;
}

Distribution Distribution::since(const Distribution& earlier) const {
  if (earlier.count_ > count_ || earlier.sum_ > sum_) return *this;
  Distribution out;
  auto before = earlier.records_.begin();
  for (const auto& [bucket, records] : records_) {
    while (before != earlier.records_.end() && before->first < bucket) ++before;
    const uint64_t old = before != earlier.records_.end() && before->first == bucket ? before->second : 0;
    if (records <= old) continue;
    out.records_.emplace_back(bucket, records - old);
    out.count_ += records - old;
  }
  out.sum_ = sum_ - earlier.sum_;
  return out;
}

void Distribution::add(const Distribution& other) {
  std::vector<std::pair<uint16_t, uint64_t>> both;
  both.reserve(records_.size() + other.records_.size());
  std::merge(records_.begin(), records_.end(), other.records_.begin(), other.records_.end(), std::back_inserter(both));
  records_.clear();
  for (const auto& [bucket, records] : both) {
    if (!records_.empty() && records_.back().first == bucket)
      records_.back().second += records;
    else
      records_.emplace_back(bucket, records);
  }
  count_ += other.count_;
  sum_ += other.sum_;
}

}  // namespace spdld
