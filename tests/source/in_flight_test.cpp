// The bytes of samples between their fetch and their decoding stay under their bound, and every sample comes.
#include "daemon/base/byte_budget.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"

namespace spdld::in_flight_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;

namespace {

constexpr uint64_t kKiB = 1024;

// As many pictures of these sizes, in KiB.
struct Photos {
  explicit Photos(const std::vector<uint64_t>& sizes) {
    for (size_t i = 0; i < sizes.size(); i++)
      temp.file("c/" + std::to_string(1000 + i) + ".jpg",
                std::string(sizes[i] * kKiB, static_cast<char>('a' + i % 26)));
    listing = open("image-folder", temp.path().string());
    fields = wanted(*listing, {"image"});
    for (uint64_t i = 0; i < sizes.size(); i++) requests.push_back(request_for(*listing, i, fields));
  }
  TempFolder temp;
  std::unique_ptr<Listing> listing;
  std::vector<FieldFetch> fields;
  std::deque<FetchRequest> requests;
};

// The decode threads: each looks at what was read, and gives the bytes back.
class Decoders final : public FetchObserver {
 public:
  explicit Decoders(ByteBudget& in_flight, unsigned threads = 2) : in_flight_(in_flight) {
    for (unsigned i = 0; i < threads; i++) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  void on_fetched(FetchRequest& request) override {
    const std::scoped_lock lock(mutex_);
    fetched_.push_back(&request);
    changed_.notify_one();
  }
  void hold(bool is_held) {
    const std::scoped_lock lock(mutex_);
    is_held_ = is_held;
    changed_.notify_all();
  }
  bool wait(size_t count) {
    std::unique_lock lock(mutex_);
    return done_.wait_for(lock, std::chrono::seconds(60), [&] { return decoded == count; });
  }
  size_t decoded = 0, failed = 0;  // to be read after wait()
  uint64_t bytes_most = 0;         // in flight

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !is_held_ && !fetched_.empty(); })) {
      FetchRequest& request = *fetched_.front();
      fetched_.pop_front();
      bytes_most = std::max(bytes_most, in_flight_.bytes());
      failed += !request.ok || request.bytes[0].size() == 0;
      lock.unlock();
      request.bytes[0].shrink(0);
      in_flight_.give_back(request);
      lock.lock();
      decoded++;
      done_.notify_all();
    }
  }

  ByteBudget& in_flight_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable done_;
  std::deque<FetchRequest*> fetched_;
  bool is_held_ = false;
  std::vector<std::jthread> threads_;  // last: they use the rest
};

void fetch_all(Photos& photos, LocalFetcher& fetcher, FetchObserver& observer, ByteBudget& in_flight) {
  for (auto& request : photos.requests) {
    request.observer = &observer;
    request.budget = &in_flight;
    fetcher.fetch(request);
  }
}

// Has all of them fetched and decoded.
void decode_all(Photos& photos, ByteBudget& in_flight, Decoders& decoders, unsigned fetch_threads) {
  LocalFetcher fetcher(fetch_threads);
  fetch_all(photos, fetcher, decoders, in_flight);
  REQUIRE(decoders.wait(photos.requests.size()));
}

}  // namespace

TEST_CASE("all samples come, and their bytes stay under the bound") {
  Photos photos(std::vector<uint64_t>(200, 100));
  ByteBudget in_flight(400 * kKiB);
  Decoders decoders(in_flight);
  decoders.hold(true);
  LocalFetcher fetcher(8);
  fetch_all(photos, fetcher, decoders, in_flight);
  while (in_flight.waits() == 0) std::this_thread::yield();  // the bound has room for three
  decoders.hold(false);
  REQUIRE(decoders.wait(photos.requests.size()));
  CHECK(decoders.failed == 0);
  CHECK(decoders.bytes_most <= 400 * kKiB);
  CHECK(in_flight.bytes() == 0);
}

TEST_CASE("a sample that is larger than the bound is read alone") {
  std::vector<uint64_t> sizes(60, 30);
  sizes[10] = sizes[11] = sizes[40] = 1000;
  Photos photos(sizes);
  ByteBudget in_flight(100 * kKiB);
  Decoders decoders(in_flight);
  decode_all(photos, in_flight, decoders, 4);
  CHECK(decoders.failed == 0);
  CHECK(decoders.bytes_most == ByteBuffer::room_for(1000 * kKiB));
  CHECK(in_flight.bytes() == 0);
}

TEST_CASE("a large sample that waits is not passed by small ones") {
  Photos photos({10, 80, 10, 10});
  auto& requests = photos.requests;
  ByteBudget in_flight(100 * kKiB);
  Waiter first, large, later;
  LocalFetcher fetcher(1);
  const auto fetch = [&](FetchRequest& request, Waiter& waiter) {
    request.budget = &in_flight;
    request.observer = &waiter;
    fetcher.fetch(request);
  };
  fetch(requests[0], first);
  REQUIRE(first.wait(1));
  fetch(requests[1], large);
  fetch(requests[2], later);
  while (in_flight.waits() < 2) std::this_thread::yield();
  CHECK(in_flight.bytes() == ByteBuffer::room_for(10 * kKiB));
  requests[3].budget = &in_flight;
  CHECK_FALSE(fetcher.fetch_at_hand(requests[3]));  // nor where its bytes are in memory
  in_flight.give_back(requests[0]);
  REQUIRE(large.wait(1));
  CHECK(in_flight.bytes() == ByteBuffer::room_for(80 * kKiB));
  in_flight.give_back(requests[1]);
  REQUIRE(later.wait(1));
  in_flight.give_back(requests[2]);
  in_flight.give_back(requests[3]);
  CHECK(in_flight.bytes() == 0);
}

TEST_CASE("a higher bound lets waiting samples go on at once") {
  Photos photos({50, 50});
  ByteBudget in_flight(80 * kKiB);
  Waiter waiter;
  LocalFetcher fetcher(1);
  fetch_all(photos, fetcher, waiter, in_flight);
  REQUIRE(waiter.wait(1));
  while (in_flight.waits() < 1) std::this_thread::yield();
  in_flight.set_bytes_max(200 * kKiB);
  REQUIRE(waiter.wait(2));
  CHECK(in_flight.bytes() == 2 * ByteBuffer::room_for(50 * kKiB));
}

}  // namespace spdld::in_flight_test
