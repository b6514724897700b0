// The requests to a store that answers them from memory, by a thread of its own. A request that can't be answered yet
// waits for something of the store's, which then resumes it.
//
// The readings and all that they wait for are under one mutex, which is the store's.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/store/store.h"

namespace spdld::store::streams {

// A store's own reading adds where it reads.
struct Reading {
  Request* request = nullptr;
  Read* read = nullptr;  // null: another kind of request, which ends with `status`
  uint64_t start_ns = 0;
  Status status = Done{};
  bool waits = false;
};

template <typename Own>
class Readings {
 public:
  using Lock = std::unique_lock<std::mutex>;
  // Goes on with a reading whose status is good. True: it is at its end. False: it waits (`waits` is set), and may be
  // resumed before this returns. Called on the own thread under the mutex, which it may unlock for a while.
  using Serve = std::function<bool(Own&, Lock&)>;

  explicit Readings(std::mutex& mutex) : mutex_(mutex) {}

  // Once the store is whole.
  void start(Serve serve) {
    serve_ = std::move(serve);
    thread_ = std::thread([this] { deliver(); });
  }

  // Ends the request with this error, on the own thread. Any thread, without the mutex.
  void refuse(Request& request, Error error) {
    auto reading = std::make_unique<Own>();
    reading->request = &request;
    reading->status = std::move(error);
    const std::scoped_lock lock(mutex_);
    add(std::move(reading));
  }

  // All others are called under the mutex, by any thread.
  void add(std::unique_ptr<Own> reading) {
    Request* const request = reading->request;
    request->status = Done{};
    request->attempts = 0;
    reading->start_ns = monotonic_ns();
    if (is_ended_) reading->status = Error{Trouble::kStopping, {}};
    Own& added = *reading;
    readings_[request] = std::move(reading);
    resume(added);
  }
  void resume(Own& reading) {
    reading.waits = false;
    ready_.push_back(&reading);
    wake_.notify_one();
  }
  // Ends a request with kStopping. Returns its reading where it waited: the store is to forget that. Else null.
  Own* cancel(Request& request) {
    const auto found = readings_.find(&request);
    if (found == readings_.end()) return nullptr;
    Own& reading = *found->second;
    reading.status = Error{Trouble::kStopping, {}};
    if (!reading.waits) return nullptr;  // it is ready, or goes on now
    resume(reading);
    return &reading;
  }

  // Ends all requests with kStopping, also requests that come later. join() follows, without the mutex.
  void end_all() {
    is_ended_ = true;
    ready_.clear();
    for (auto& [request, reading] : readings_) {
      reading->status = Error{Trouble::kStopping, {}};
      reading->waits = false;
      ready_.push_back(reading.get());
    }
    wake_.notify_one();
  }
  void join() { thread_.join(); }

 private:
  void deliver() {
    Lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return is_ended_ || !ready_.empty(); });
      if (ready_.empty()) return;
      Own& reading = *ready_.front();
      ready_.pop_front();
      if (!reading.status || serve_(reading, lock)) finish(reading, lock);
    }
  }

  void finish(Own& reading, Lock& lock) {
    Request& request = *reading.request;
    request.status = std::move(reading.status);
    request.attempts = 1;
    request.duration_ns = monotonic_ns() - reading.start_ns;
    readings_.erase(&request);
    lock.unlock();
    request.observer->on_done(request);
    lock.lock();
  }

  std::mutex& mutex_;
  Serve serve_;
  std::condition_variable wake_;
  bool is_ended_ = false;  // under the mutex, as the following
  std::unordered_map<Request*, std::unique_ptr<Own>> readings_;
  std::deque<Own*> ready_;  // that can go on
  std::thread thread_;
};

}  // namespace spdld::store::streams
