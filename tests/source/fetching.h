// How tests ask a fetcher for fields and wait for them.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "daemon/source/fetching/fetcher.h"

namespace spdld::test {

class Waiter final : public source::FetchObserver {
 public:
  void on_fetched(source::FetchRequest&) override {
    const std::scoped_lock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool wait(uint64_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t count_ = 0;
};

// All bytes of the fields of these names.
inline std::vector<source::FieldFetch> wanted(const source::Listing& listing, const std::vector<std::string>& names) {
  std::vector<source::FieldFetch> all(names.size());
  for (size_t i = 0; i < names.size(); ++i) REQUIRE(listing.find_field(names[i], &all[i].field) != nullptr);
  return all;
}

inline std::string text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }
inline std::string text(const ByteBuffer& bytes) { return {bytes.bytes().begin(), bytes.bytes().end()}; }

inline source::FetchRequest request_for(const source::Listing& listing, uint64_t sample,
                                        const std::vector<source::FieldFetch>& fields) {
  source::FetchRequest request;
  request.listing = &listing;
  request.sample = sample;
  request.fields = fields;
  return request;
}

// Fetched, and waited for.
inline void fetch_now(source::Fetcher& fetcher, source::FetchRequest& request) {
  Waiter waiter;
  request.observer = &waiter;
  fetcher.fetch(request);
  REQUIRE(waiter.wait(1));
}

}  // namespace spdld::test
