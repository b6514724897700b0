// Runs listings on a few threads: users in turn, a bounded number of one user at once, and one thread that only the
// owners' (the daemon's own user's and root's) listings take, so that they never stand behind other users'. The
// destructor asks listings under way to stop, waits for them, and drops listings that wait.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace spdld::node {

class ListingQueue {
 public:
  using Listing = std::function<void(const std::stop_token&)>;

  // `threads`: two at least. `is_owner` may be called on any thread.
  ListingQueue(unsigned threads, size_t per_user_max, std::function<bool(uid_t)> is_owner);
  ~ListingQueue();
  ListingQueue(const ListingQueue&) = delete;
  ListingQueue& operator=(const ListingQueue&) = delete;

  // Any thread, as for the following. Callers bound how many of a user wait.
  void add(uid_t uid, Listing listing);
  void set_per_user_max(size_t per_user_max);
  size_t waiting() const;
  void stop();  // as the destructor

 private:
  struct User {
    std::deque<Listing> waiting;
    size_t running = 0;
  };
  void work(const std::stop_token& stop);
  bool may_run(uid_t uid, const User& user) const;
  std::deque<uid_t>::iterator next_turn();

  const std::function<bool(uid_t)> is_owner_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<uid_t, User> users_;  // under the lock, as the following
  std::deque<uid_t> turns_;      // users with a waiting listing, each once
  size_t per_user_max_;
  size_t limited_running_ = 0, limited_max_;  // of users who are not owners
  std::vector<std::jthread> threads_;
};

}  // namespace spdld::node
