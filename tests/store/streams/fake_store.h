// A store of texts for tests, which counts what it is asked for. It answers on a thread of its own.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "daemon/store/store.h"

namespace spdld::test {

class FakeStore final : public store::Store {
 public:
  explicit FakeStore(std::map<std::string, std::string> objects)
      : objects_(std::move(objects)), thread_([this] { answer(); }) {}
  ~FakeStore() override {
    {
      const std::scoped_lock lock(mutex_);
      is_ending_ = true;
      is_held_ = false;
    }
    wake_.notify_all();
    thread_.join();
  }

  void read(store::Read& read) override {
    const std::scoped_lock lock(mutex_);
    ++requests_;
    asked_.push_back(&read);
    wake_.notify_all();
  }
  void stat(store::Stat& stat) override {
    const auto found = objects_.find(stat.object);
    if (found == objects_.end())
      stat.status = Error{Trouble::kContent, stat.object + " does not exist."};
    else
      stat.identity = {found->second.size(), 7};
    stat.observer->on_done(stat);
  }
  void list(store::List&) override {}
  void cancel(store::Request& request) override {
    const std::scoped_lock lock(mutex_);
    if (std::find(asked_.begin(), asked_.end(), &request) == asked_.end()) return;
    request.status = Error{Trouble::kStopping, {}};
    is_held_ = false;
    wake_.notify_all();
  }
  std::string uri_of(std::string_view object) const override { return "fake://" + std::string(object); }
  unsigned concurrency() const override { return 8; }

  // While it is held, nothing is answered.
  void hold(bool is_held) {
    const std::scoped_lock lock(mutex_);
    is_held_ = is_held;
    wake_.notify_all();
  }
  void fail_next(Trouble trouble) {
    const std::scoped_lock lock(mutex_);
    fails_.push_back(trouble);
  }
  uint64_t requests() const { return with_lock(requests_); }
  uint64_t bytes() const { return with_lock(bytes_); }
  const std::string& at(const std::string& name) const { return objects_.at(name); }

 private:
  uint64_t with_lock(const uint64_t& number) const {
    const std::scoped_lock lock(mutex_);
    return number;
  }

  void answer() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return (!asked_.empty() && !is_held_) || (is_ending_ && asked_.empty()); });
      if (asked_.empty()) return;
      store::Read& read = *asked_.front();
      asked_.pop_front();
      if (read.status && !fails_.empty()) {
        read.status = Error{fails_.front(), read.object + " failed."};
        fails_.pop_front();
      }
      if (read.status) {
        const std::string& object = objects_.at(read.object);
        bytes_ += std::min<uint64_t>(read.bytes, object.size() - read.offset);
        for (const store::Read::Piece& piece : read.pieces)
          std::memcpy(piece.to, object.data() + piece.offset, piece.bytes);
      }
      lock.unlock();
      read.observer->on_done(read);
      lock.lock();
    }
  }

  const std::map<std::string, std::string> objects_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<store::Read*> asked_;  // under the mutex, as the following
  std::deque<Trouble> fails_;
  uint64_t requests_ = 0, bytes_ = 0;
  bool is_held_ = false, is_ending_ = false;
  std::thread thread_;
};

// Text that differs from place to place.
inline std::string noise(size_t bytes, uint64_t seed) {
  std::string text(bytes, '\0');
  uint64_t state = seed * 2654435761u + 1;
  for (char& c : text) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(state >> 56);
  }
  return text;
}

}  // namespace spdld::test
