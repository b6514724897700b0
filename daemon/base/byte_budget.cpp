#include "daemon/base/byte_budget.h"

#include <algorithm>
#include <utility>

namespace spdld {

ByteBudget::ByteBudget(uint64_t bytes_max, std::shared_ptr<ByteBudget> above)
    : above_(std::move(above)), bytes_max_(bytes_max) {}

bool ByteBudget::take(uint64_t bytes) {
  uint64_t now = bytes_.load();
  do {
    const uint64_t max = bytes_max();
    if (now != 0 && (now > max || bytes > max - now)) return false;
  } while (!bytes_.compare_exchange_weak(now, now + bytes));
  uint64_t peak = bytes_peak_.load(std::memory_order_relaxed);
  while (now + bytes > peak && !bytes_peak_.compare_exchange_weak(peak, now + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

void ByteBudget::let_go(uint64_t bytes) {
  bytes_.fetch_sub(bytes);
  if (waiting_count_.load() > 0) serve();
}

bool ByteBudget::hold(Holder& holder, uint64_t bytes) {
  if (bytes <= holder.held_bytes_) return true;
  const uint64_t more = bytes - holder.held_bytes_;
  for (ByteBudget* budget = this; budget; budget = budget->above_.get()) {
    // A large holder that waits would wait for ever behind small ones that pass it by.
    if (budget->waiting_count_.load() == 0 && budget->take(more)) continue;
    for (ByteBudget* below = this; below != budget; below = below->above_.get()) below->let_go(more);
    return false;
  }
  holder.held_bytes_ = bytes;
  return true;
}

void ByteBudget::wait(Holder& holder, uint64_t bytes) {
  give_back(holder);
  holder.wanted_bytes_ = bytes;
  holder.from_ = this;
  enter(holder);
}

void ByteBudget::give_back(Holder& holder) {
  const uint64_t bytes = std::exchange(holder.held_bytes_, 0);
  if (bytes == 0) return;
  for (ByteBudget* budget = this; budget; budget = budget->above_.get()) budget->let_go(bytes);
}

void ByteBudget::set_bytes_max(uint64_t bytes_max) {
  bytes_max_.store(bytes_max);
  serve();
}

void ByteBudget::enter(Holder& holder) {
  switch (take_or_queue(holder)) {
    case Entry::kTaken:
      return pass_on(holder);
    case Entry::kUnwanted:
      return let_off(holder);
    case Entry::kQueued:
      return serve();  // the last one may have let go of its bytes before this one was seen to wait
  }
}

// Under the mutex, so that a holder that becomes unwanted is seen here or in the queue.
ByteBudget::Entry ByteBudget::take_or_queue(Holder& holder) {
  const std::scoped_lock lock(mutex_);
  if (!holder.is_wanted()) return Entry::kUnwanted;
  if (waiting_.empty() && take(holder.wanted_bytes_)) return Entry::kTaken;
  waits_.fetch_add(1, std::memory_order_relaxed);
  waiting_.push_back(&holder);
  waiting_count_.store(waiting_.size());
  return Entry::kQueued;
}

void ByteBudget::drop_unwanted() {
  for (ByteBudget* budget = this; budget; budget = budget->above_.get()) {
    while (Holder* const holder = budget->next_unwanted()) budget->let_off(*holder);
    budget->serve();  // the first one in the queue may have been unwanted
  }
}

ByteBudget::Holder* ByteBudget::next_unwanted() {
  const std::scoped_lock lock(mutex_);
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [](const Holder* one) { return !one->is_wanted(); });
  if (found == waiting_.end()) return nullptr;
  Holder* const holder = *found;
  waiting_.erase(found);
  waiting_count_.store(waiting_.size());
  return holder;
}

void ByteBudget::let_off(Holder& holder) {
  for (ByteBudget* budget = holder.from_; budget != this; budget = budget->above_.get())
    budget->let_go(holder.wanted_bytes_);
  holder.on_room();
}

void ByteBudget::pass_on(Holder& holder) {
  if (above_) return above_->enter(holder);
  holder.held_bytes_ = holder.wanted_bytes_;
  holder.on_room();
}

// The first holder that waits, if it has room now.
ByteBudget::Holder* ByteBudget::next() {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty() || !take(waiting_.front()->wanted_bytes_)) return nullptr;
  Holder* const first = waiting_.front();
  waiting_.pop_front();
  waiting_count_.store(waiting_.size());
  return first;
}

void ByteBudget::serve() {
  while (Holder* const holder = next()) pass_on(*holder);
}

}  // namespace spdld
