#include "daemon/node/pipelines/listing_queue.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace spdld::listing_queue_test {

using node::ListingQueue;

namespace {

constexpr uid_t kOwner = 0, kAlice = 1001, kBob = 1002;

// Listings that take until the test ends them, by name.
class Listings {
 public:
  ~Listings() { end_all(); }
  ListingQueue::Listing job(const std::string& name) {
    return [this, name](const std::stop_token&) {
      std::unique_lock lock(mutex_);
      begun_.push_back(name);
      wake_.notify_all();
      wake_.wait(lock, [&] { return all_end_ || std::erase(to_end_, name) > 0; });
      ended_++;
      wake_.notify_all();
    };
  }
  void end(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    to_end_.push_back(name);
    wake_.notify_all();
  }
  void end_all() {
    const std::scoped_lock lock(mutex_);
    all_end_ = true;
    wake_.notify_all();
  }
  // In the order in which they began, once there are so many.
  std::vector<std::string> begun(size_t count) {
    std::unique_lock lock(mutex_);
    REQUIRE(wake_.wait_for(lock, std::chrono::seconds(60), [&] { return begun_.size() >= count; }));
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::string> begun_, to_end_;
  size_t ended_ = 0;
  bool all_end_ = false;
};

// Ends them before the queue waits for its threads.
struct EndAll {
  Listings& listings;
  ~EndAll() { listings.end_all(); }
};

bool is_owner(uid_t uid) { return uid == kOwner; }

}  // namespace

TEST_CASE("one user's listings leave room for another user's, and for the owner's") {
  Listings listings;
  ListingQueue queue(4, 2, is_owner);
  const EndAll at_end{listings};
  for (int i = 0; i < 10; i++) queue.add(kAlice, listings.job("a" + std::to_string(i)));
  CHECK(listings.begun(2).size() == 2);
  queue.add(kBob, listings.job("b0"));
  queue.add(kBob, listings.job("b1"));
  CHECK(listings.begun(3).back() == "b0");
  queue.add(kOwner, listings.job("o0"));  // on the thread that nobody else has
  const auto begun = listings.begun(4);
  CHECK(begun.back() == "o0");
  CHECK(begun.size() == 4);
  CHECK(queue.waiting() == 9);
}

TEST_CASE("users take turns, and the owner comes first") {
  Listings listings;
  ListingQueue queue(2, 1, is_owner);
  const EndAll at_end{listings};
  queue.add(kOwner, listings.job("o0"));
  CHECK(listings.begun(1).back() == "o0");
  queue.add(kAlice, listings.job("a0"));
  CHECK(listings.begun(2).back() == "a0");
  for (const char* name : {"a1", "a2", "a3"}) queue.add(kAlice, listings.job(name));
  for (const char* name : {"b0", "b1"}) queue.add(kBob, listings.job(name));
  queue.add(kOwner, listings.job("o1"));
  listings.end("a0");
  CHECK(listings.begun(3).back() == "o1");
  listings.end("o0");  // its thread takes the one limited listing that may run
  size_t begun = 3;
  for (const std::string next : {"a1", "b0", "a2", "b1", "a3"}) {
    CHECK(listings.begun(++begun).back() == next);
    listings.end(next);
  }
}

TEST_CASE("another limit holds for the listings that wait, and wakes the threads that sleep") {
  Listings listings;
  std::mutex mutex;
  std::condition_variable wake;
  std::set<std::thread::id> looked;  // for a listing of Alice's
  ListingQueue queue(4, 1, [&](uid_t uid) {
    const std::scoped_lock lock(mutex);
    if (uid == kAlice) looked.insert(std::this_thread::get_id());
    wake.notify_all();
    return is_owner(uid);
  });
  const EndAll at_end{listings};
  for (const char* name : {"o0", "o1", "o2", "o3"}) queue.add(kOwner, listings.job(name));
  CHECK(listings.begun(4).size() == 4);
  for (const char* name : {"a0", "a1", "a2"}) queue.add(kAlice, listings.job(name));
  for (const char* name : {"o0", "o1", "o2", "o3"}) listings.end(name);
  CHECK(listings.begun(5).back() == "a0");
  {
    std::unique_lock lock(mutex);
    REQUIRE(wake.wait_for(lock, std::chrono::seconds(60), [&] { return looked.size() == 4; }));
  }
  CHECK(queue.waiting() == 2);  // takes the lock that the last thread to look gives back as it goes to sleep
  queue.set_per_user_max(3);
  CHECK(listings.begun(7).size() == 7);
}

TEST_CASE("the end stops what runs and drops what waits") {
  bool stopped = false;
  {
    ListingQueue queue(2, 1, is_owner);
    std::mutex mutex;
    std::condition_variable_any wake;
    bool begun = false;
    queue.add(kAlice, [&](const std::stop_token& stop) {
      std::unique_lock lock(mutex);
      begun = true;
      wake.notify_all();
      wake.wait(lock, stop, [] { return false; });
      stopped = stop.stop_requested();
    });
    queue.add(kAlice, [](const std::stop_token&) { FAIL("this one should not run"); });
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return begun; });
    }
    queue.stop();
  }
  CHECK(stopped);
}

}  // namespace spdld::listing_queue_test
