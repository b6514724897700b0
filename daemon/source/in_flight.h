// The bytes that one user's samples take in memory between their fetch and the end of their decoding. All pipelines
// that the user sent have one bound together, so that large files do not take the node's memory from others.
//
// A read asks for its bytes before it allocates them. Where there is no room, its request is parked here, and goes
// through its fetcher again once earlier samples are decoded; nothing is lost or refused. A sample that alone is larger
// than the bound is read when nothing else is in flight. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "daemon/source/fetcher.h"

namespace spdld::source {

class BytesInFlight {
 public:
  explicit BytesInFlight(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  BytesInFlight(const BytesInFlight&) = delete;
  BytesInFlight& operator=(const BytesInFlight&) = delete;

  // Has the request hold `bytes` in all (never fewer than it holds already). False: there is no room now, or others
  // wait for room; it holds what it held.
  bool hold(FetchRequest& request, uint64_t bytes);
  // Gives back what the request holds, and has it fetched again by `fetcher` once there is room for `bytes`, which it
  // then holds. That may be before this returns: the request is not the caller's any more.
  void park(FetchRequest& request, uint64_t bytes, Fetcher& fetcher);
  void give_back(FetchRequest& request);

  void set_bytes_max(uint64_t bytes_max);
  uint64_t bytes_max() const { return bytes_max_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // How often a request had to wait.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }

 private:
  struct Parked {
    FetchRequest* request;
    uint64_t bytes;
    Fetcher* fetcher;
  };
  bool take(uint64_t bytes);
  void serve();

  std::atomic<uint64_t> bytes_max_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> waits_{0};
  std::atomic<size_t> parked_count_{0};
  std::mutex mutex_;
  std::deque<Parked> parked_;  // under the mutex
};

}  // namespace spdld::source
