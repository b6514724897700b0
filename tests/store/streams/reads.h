// How tests read from stores: many reads at once, each waited for and compared.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "daemon/store/store.h"

namespace spdld::test {

class Reads final : public store::Request::Observer {
 public:
  explicit Reads(store::Store& store) : store_(store) {}
  ~Reads() { wait_for(0); }

  struct One {
    store::Read read;
    std::string got;
    std::string_view wanted;
  };
  // Asks for a range, which should bring `wanted`.
  One& begin(const std::string& object, uint64_t offset, std::string_view wanted) {
    One& one = all_.emplace_back();
    one.wanted = wanted;
    one.got.resize(wanted.size());
    one.read.object = object;
    one.read.offset = offset;
    one.read.bytes = wanted.size();
    one.read.pieces = {{offset, wanted.size(), reinterpret_cast<uint8_t*>(one.got.data())}};
    ask(one);
    return one;
  }
  void ask(One& one) {
    one.read.observer = this;
    {
      const std::scoped_lock lock(mutex_);
      ++under_way_;
    }
    store_.read(one.read);
  }
  // Until at most so many are under way.
  void wait_for(size_t under_way) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return under_way_ <= under_way; });
  }
  // Waits for all. How many ended as they should.
  size_t good() {
    wait_for(0);
    size_t count = 0;
    for (const One& one : all_) count += one.read.status && one.got == one.wanted ? 1 : 0;
    return count;
  }

 private:
  void on_done(store::Request&) override {
    const std::scoped_lock lock(mutex_);
    --under_way_;
    changed_.notify_all();
  }

  store::Store& store_;
  std::deque<One> all_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t under_way_ = 0;
};

}  // namespace spdld::test
