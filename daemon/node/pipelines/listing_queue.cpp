#include "daemon/node/pipelines/listing_queue.h"

#include <algorithm>
#include <utility>

#include "daemon/base/system/cpu.h"

namespace spdld::node {

ListingQueue::ListingQueue(unsigned threads, size_t per_user_max, std::function<bool(uid_t)> is_owner)
    : is_owner_(std::move(is_owner)), per_user_max_(per_user_max), limited_max_(threads - 1) {
  for (unsigned i = 0; i < threads; i++)
    threads_.emplace_back([this, i](const std::stop_token& stop) {
      name_thread("listing", i);
      work(stop);
    });
}

ListingQueue::~ListingQueue() { stop(); }

void ListingQueue::stop() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();  // joins
}

void ListingQueue::add(uid_t uid, Listing listing) {
  {
    const std::scoped_lock lock(mutex_);
    User& user = users_[uid];
    if (user.waiting.empty()) turns_.push_back(uid);
    user.waiting.push_back(std::move(listing));
  }
  wake_.notify_one();
}

void ListingQueue::set_per_user_max(size_t per_user_max) {
  {
    const std::scoped_lock lock(mutex_);
    per_user_max_ = per_user_max;
  }
  wake_.notify_all();
}

size_t ListingQueue::waiting() const {
  const std::scoped_lock lock(mutex_);
  size_t count = 0;
  for (const auto& [uid, user] : users_) count += user.waiting.size();
  return count;
}

bool ListingQueue::may_run(uid_t uid, const User& user) const {
  return is_owner_(uid) || (user.running < per_user_max_ && limited_running_ < limited_max_);
}

// Owners first, and then the user whose turn is next.
std::deque<uid_t>::iterator ListingQueue::next_turn() {
  const auto owner = std::find_if(turns_.begin(), turns_.end(), is_owner_);
  if (owner != turns_.end()) return owner;
  return std::find_if(turns_.begin(), turns_.end(), [this](uid_t uid) { return may_run(uid, users_.at(uid)); });
}

void ListingQueue::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto turn = turns_.end();
    const bool found = wake_.wait(lock, stop, [&] { return (turn = next_turn()) != turns_.end(); });
    if (!found || stop.stop_requested()) return;
    const uid_t uid = *turn;
    turns_.erase(turn);
    User& user = users_.at(uid);
    Listing listing = std::move(user.waiting.front());
    user.waiting.pop_front();
    if (!user.waiting.empty()) turns_.push_back(uid);
    const size_t limited = is_owner_(uid) ? 0 : 1;
    user.running++;
    limited_running_ += limited;
    lock.unlock();
    listing(stop);
    listing = {};
    lock.lock();
    limited_running_ -= limited;
    if (--user.running == 0 && user.waiting.empty()) users_.erase(uid);
    // One listing more may run now, which this thread looks for itself, so that it wakes no other.
  }
}

}  // namespace spdld::node
