#include "daemon/sampler/order.h"

#include <algorithm>
#include <utility>

namespace spdld::sampler {

using config::Shuffle;

Order::Order(const Rule& rule, Subset subset, std::span<const uint64_t> archive_starts)
    : rule_(rule), subset_(std::move(subset)) {
  if (rule_.shuffle != Shuffle::kWindow || size() == 0) return;
  archive_starts_.push_back(0);
  for (const uint64_t id : archive_starts) {
    const uint64_t number = subset_.below(id);
    if (number != archive_starts_.back() && number < size()) archive_starts_.push_back(number);
  }
}

// Version 1. kGlobal: the permutation's keys are the draw named "order" of (seed, epoch), sample 0. kWindow: those of
// the archives' permutation are the draw named "archives" of (seed, epoch), sample 0; those of block b the draw named
// "window" of (seed, epoch), sample b.
EpochOrder::EpochOrder(const Order& order, uint64_t epoch) : order_(order), epoch_(epoch) {
  const uint64_t seed = order.rule_.seed;
  if (order.size() == 0) return;
  if (order.rule_.shuffle == Shuffle::kGlobal)
    permutation_.emplace(order.size(), Draw(seed, epoch, 0, draw_key("order")));
  if (order.rule_.shuffle != Shuffle::kWindow) return;
  const uint64_t archives = order.archive_starts_.size();
  permutation_.emplace(archives, Draw(seed, epoch, 0, draw_key("archives")));
  ends_.reserve(archives);
  uint64_t end = 0;
  for (uint64_t i = 0; i < archives; ++i) ends_.push_back(end += archive_samples((*permutation_)(i)));
}

uint64_t EpochOrder::archive_samples(uint64_t archive) const {
  const auto& starts = order_.archive_starts_;
  return (archive + 1 < starts.size() ? starts[archive + 1] : order_.size()) - starts[archive];
}

uint64_t EpochOrder::operator()(uint64_t position) const { return order_.subset_[number_at(position)]; }

uint64_t EpochOrder::number_at(uint64_t position) const {
  if (!permutation_) return position;
  return order_.rule_.shuffle == Shuffle::kGlobal ? (*permutation_)(position) : number_in_window(position);
}

uint64_t EpochOrder::number_in_window(uint64_t position) const {
  const uint64_t window = order_.rule_.window, block = position / window, first = block * window;
  const Permutation within(std::min(window, order_.size() - first),
                           Draw(order_.rule_.seed, epoch_, block, draw_key("window")));
  const uint64_t place = first + within(position - first);  // in the archives, one behind the other
  const auto archive = static_cast<uint64_t>(std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin());
  const uint64_t begin = archive == 0 ? 0 : ends_[archive - 1];
  return order_.archive_starts_[(*permutation_)(archive)] + (place - begin);
}

uint64_t EpochOrder::substitute(uint64_t position, uint32_t attempt) const {
  const uint64_t bad = number_at(position);
  if (order_.size() < 2) return order_.subset_[bad];
  Draw draw(order_.rule_.seed, epoch_, position, draw_key("substitute") + attempt);
  const uint64_t other = draw.below(order_.size() - 1);
  return order_.subset_[other < bad ? other : other + 1];
}

}  // namespace spdld::sampler
