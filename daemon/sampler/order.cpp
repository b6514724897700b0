#include "daemon/sampler/order.h"

#include <algorithm>
#include <utility>

namespace spdld::sampler {

using config::Shuffle;

namespace {

// How often a weighted substitute is drawn again where it is the bad sample itself, which may have most of the weight;
// then it is any other sample.
constexpr int kDrawsMax = 16;

// So many substitutes are of the bad sample's own bucket. If they are bad as well, the bucket may hold nothing else.
constexpr uint32_t kFromBucketMax = 4;

}  // namespace

Order::Order(const Rule& rule, Subset subset, std::span<const uint64_t> archive_starts)
    : rule_(rule), subset_(std::move(subset)), epoch_samples_(subset_.size() * rule.repeats) {
  if (rule_.shuffle != Shuffle::kWindow || size() == 0) return;
  archive_starts_.push_back(0);
  for (const uint64_t id : archive_starts) {
    const uint64_t number = subset_.below(id);
    if (number != archive_starts_.back() && number < subset_.size()) archive_starts_.push_back(number);
  }
}

Order::Order(uint64_t seed, Subset subset, Weighting weighting)
    : rule_{Shuffle::kGlobal, seed}, subset_(std::move(subset)), epoch_samples_(weighting.epoch_samples) {
  if (weighting.replacement)
    table_.emplace(weighting.weights);
  else
    weights_ = std::move(weighting.weights);
}

Order::Order(const Rule& rule, Subset subset, std::shared_ptr<const Buckets> buckets)
    : rule_(rule), subset_(std::move(subset)), epoch_samples_(subset_.size()), buckets_(std::move(buckets)) {}

// Version 1. kGlobal: the permutation's keys are the draw named "order" of (seed, epoch), sample 0. kWindow: the keys
// of the archives' permutation are the draw named "archives" of (seed, epoch), sample 0; the keys of block b are the
// draw named "window" of (seed, epoch), sample b. By cost: the keys of bucket b's permutation are the draw named
// "bucket" of (seed, epoch), sample b. Weighted with replacement: the draw at position p is that named "weighted" of
// (seed, epoch), sample p; without: see weighted_order(), u is the first 64 bits of the draw named "weighted order" of
// (seed, epoch) and the sample's number.
EpochOrder::EpochOrder(const Order& order, uint64_t epoch) : order_(order), epoch_(epoch) {
  const uint64_t seed = order.rule_.seed;
  if (order.size() == 0 || order.table_) return;
  if (order.begins_slowly()) {
    drawn_ = weighted_order(order.weights_, order.size(), seed, epoch);
    return;
  }
  if (order.buckets_) {
    const size_t buckets = order.rule_.shuffle == Shuffle::kGlobal ? order.buckets_->list().size() : 0;
    for (size_t b = 0; b < buckets; ++b)
      in_buckets_.emplace_back(order.buckets_->list()[b].size, Draw(seed, epoch, b, draw_key("bucket")));
    return;
  }
  if (order.rule_.shuffle == Shuffle::kGlobal)
    permutation_.emplace(order.subset_.size(), Draw(seed, epoch, 0, draw_key("order")));
  if (order.rule_.shuffle != Shuffle::kWindow) return;
  const uint64_t archives = order.archive_starts_.size();
  const Permutation permutation(archives, Draw(seed, epoch, 0, draw_key("archives")));
  ends_.reserve(archives);
  starts_.reserve(archives);
  uint64_t end = 0;
  for (uint64_t i = 0; i < archives; ++i) {
    const uint64_t archive = permutation(i);
    ends_.push_back(end += archive_samples(archive));
    starts_.push_back(order.archive_starts_[archive]);
  }
}

uint64_t EpochOrder::archive_samples(uint64_t archive) const {
  const auto& starts = order_.archive_starts_;
  return (archive + 1 < starts.size() ? starts[archive + 1] : order_.subset_.size()) - starts[archive];
}

uint64_t EpochOrder::operator()(uint64_t position) const { return order_.subset_[number_at(position)]; }

uint64_t EpochOrder::number_at(uint64_t position) const { return number_of_turn(position / order_.rule_.repeats); }

uint64_t EpochOrder::number_of_turn(uint64_t position) const {
  if (!drawn_.empty()) return drawn_[position];
  if (order_.table_) {
    Draw draw(order_.rule_.seed, epoch_, position, draw_key("weighted"));
    return (*order_.table_)(draw);
  }
  if (order_.buckets_) return order_.buckets_->number_at(place_in_bucket(position));
  if (permutation_) return (*permutation_)(position);
  return ends_.empty() ? position : number_in_window(position);
}

uint64_t EpochOrder::number_in_window(uint64_t position) const {
  const uint64_t window = order_.rule_.window, block = position / window, first = block * window;
  const Permutation within(std::min(window, order_.subset_.size() - first),
                           Draw(order_.rule_.seed, epoch_, block, draw_key("window")));
  return number_in_archives(first + within(position - first));
}

// `place`: in the archives, one behind the other.
uint64_t EpochOrder::number_in_archives(uint64_t place) const {
  const auto archive = static_cast<uint64_t>(std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin());
  const uint64_t begin = archive == 0 ? 0 : ends_[archive - 1];
  return starts_[archive] + (place - begin);
}

std::optional<uint64_t> EpochOrder::ahead(uint64_t position, uint64_t distance) const {
  const Shuffle shuffle = order_.rule_.shuffle;
  const bool reads_archives = (shuffle == Shuffle::kWindow || shuffle == Shuffle::kOff) && !order_.buckets_;
  if (!reads_archives || order_.table_ || !drawn_.empty() || position >= order_.size()) return {};
  if (distance >= order_.size() - position) return {};
  const uint64_t place = (position + distance) / order_.rule_.repeats;
  return order_.subset_[shuffle == Shuffle::kWindow ? number_in_archives(place) : place];
}

uint64_t EpochOrder::place_in_bucket(uint64_t position) const {
  if (in_buckets_.empty()) return position;
  const size_t bucket = order_.buckets_->bucket_at(position);
  const uint64_t first = order_.buckets_->list()[bucket].first;
  return first + in_buckets_[bucket](position - first);
}

// Where a sample comes more than once, it is mix_bits(mix_bits(epoch) + position), or + the number of the repeat: a
// bijection of that. So passes of one epoch never meet, and passes of two epochs meet with a chance of 2^-64. The first
// of the repeats has the pass of a sample that is not repeated.
uint64_t EpochOrder::pass(uint64_t position) const {
  if (order_.table_) return mix_bits(mix_bits(epoch_) + position);
  const uint64_t repeat = position % order_.rule_.repeats;
  return repeat == 0 ? epoch_ : mix_bits(mix_bits(epoch_) + repeat);
}

uint64_t EpochOrder::substitute(uint64_t position, uint32_t attempt) const {
  const uint64_t bad = number_at(position);
  if (order_.subset_.size() < 2) return order_.subset_[bad];
  Draw draw(order_.rule_.seed, epoch_, position, draw_key("substitute") + attempt);
  if (order_.buckets_ && attempt > kFromBucketMax) {
    const Buckets& buckets = *order_.buckets_;
    const uint64_t end = buckets.end_of_fitting(buckets.list()[buckets.bucket_at(position)]);
    if (end > 1) return order_.subset_[order_.buckets_->number_at(draw.below_but(end, place_in_bucket(position)))];
  }
  return order_.subset_[order_.buckets_ ? other_in_bucket(position, draw) : other_number(bad, draw)];
}

uint64_t EpochOrder::other_number(uint64_t bad, Draw draw) const {
  for (int i = 0; order_.table_ && i < kDrawsMax; ++i)
    if (const uint64_t other = (*order_.table_)(draw); other != bad) return other;
  return draw.below_but(order_.subset_.size(), bad);
}

// Buckets lie in rising order of cost: up to a bucket's end, no row costs more than its edge.
uint64_t EpochOrder::other_in_bucket(uint64_t position, Draw draw) const {
  const Buckets& buckets = *order_.buckets_;
  const Buckets::Bucket& own = buckets.list()[buckets.bucket_at(position)];
  const uint64_t first = own.size > 1 ? own.first : 0, place = place_in_bucket(position);
  const uint64_t end = own.size > 1 ? own.end() : buckets.end_of_fitting(own);
  if (end - first < 2) return buckets.number_at(place);
  return buckets.number_at(first + draw.below_but(end - first, place - first));
}

}  // namespace spdld::sampler
