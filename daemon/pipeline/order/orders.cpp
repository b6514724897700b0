#include "daemon/pipeline/order/orders.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace spdld::pipeline {

class Orders::Making final : public FairTask {
 public:
  explicit Making(Orders& orders) : orders_(orders) {}
  void run(unsigned /*thread*/) override { orders_.make_first(); }

 private:
  Orders& orders_;
};

Orders::Orders(const sampler::Order& order, uint64_t epochs, FairPool& pool, FairPool::Lane& lane)
    : order_(order), epochs_(epochs), pool_(pool), lane_(lane), making_(std::make_unique<Making>(*this)) {}

Orders::~Orders() = default;

Orders::Found Orders::find(uint64_t epoch, Reader& reader) {
  if (!order_.begins_slowly()) return std::make_shared<sampler::EpochOrder>(order_, epoch);
  const std::lock_guard lock(mutex_);
  Found found = kept(epoch);
  const bool was_idle = wanted_.empty(), goes_on = epochs_ == 0 || epoch + 1 < epochs_;
  if (!found) want(epoch, &reader);
  if (goes_on && !kept(epoch + 1)) want(epoch + 1, nullptr);
  if (was_idle && !wanted_.empty()) pool_.submit(lane_, *making_);
  return found;
}

Orders::Found Orders::look(uint64_t epoch) {
  if (!order_.begins_slowly()) return std::make_shared<sampler::EpochOrder>(order_, epoch);
  const std::lock_guard lock(mutex_);
  Found found = kept(epoch);
  const bool was_idle = wanted_.empty();
  if (!found) want(epoch, nullptr);
  if (was_idle && !wanted_.empty()) pool_.submit(lane_, *making_);
  return found;
}

Orders::Found Orders::kept(uint64_t epoch) const {
  const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const Found& kept) { return kept->epoch() == epoch; });
  return at == kept_.end() ? nullptr : *at;
}

void Orders::want(uint64_t epoch, Reader* reader) {
  const auto is_ahead = [](const Wanted& wanted) { return wanted.readers.empty(); };
  const auto at =
      std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& wanted) { return wanted.epoch == epoch; });
  if (at != wanted_.end() && (reader == nullptr || at == wanted_.begin() || !is_ahead(*at))) {
    if (reader != nullptr) at->readers.push_back(reader);
    return;
  }
  if (at != wanted_.end()) wanted_.erase(at);  // it was to be made ahead, and comes before those now
  if (reader == nullptr) {
    // More than are kept would only push one another out.
    if (wanted_.size() < kKeptMax) wanted_.push_back({epoch, {}});
    return;
  }
  const auto behind_first = wanted_.begin() + (wanted_.empty() ? 0 : 1);
  wanted_.insert(std::find_if(behind_first, wanted_.end(), is_ahead), {epoch, {reader}});
}

void Orders::make_first() {
  uint64_t epoch = 0;
  {
    const std::lock_guard lock(mutex_);
    epoch = wanted_.front().epoch;
  }
  Status made = Done{};
  Found order;
  try {
    order = std::make_shared<sampler::EpochOrder>(order_, epoch);
  } catch (const std::bad_alloc&) {
    made = Error{Trouble::kMemory, "there is not enough memory for the order of epoch " + std::to_string(epoch)};
  } catch (const std::exception& e) {
    made = Error{Trouble::kInternal, "the order of epoch " + std::to_string(epoch) + " can't be made: " + e.what()};
  }
  std::vector<Reader*> readers;
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    if (order) kept_.push_back(order);
    if (kept_.size() > kKeptMax) kept_.pop_front();
    readers = std::move(wanted_.front().readers);
    wanted_.pop_front();
    more = !wanted_.empty();
  }
  for (Reader* reader : readers) reader->on_order(made);
  if (more) pool_.submit(lane_, *making_);
}

}  // namespace spdld::pipeline
