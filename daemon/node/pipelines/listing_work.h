// One listing that is under way: since when, what its memory is charged to, and why it is to end before its time. The
// control thread looks after it, and a listing thread does it. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

#include "daemon/base/system/memory_charge.h"

namespace spdld::node {

class ListingWork {
 public:
  enum class End : uint8_t { kNone, kUnwanted, kTime };

  explicit ListingWork(std::shared_ptr<MemoryAccount> account)
      : charge_(std::make_shared<MemoryCharge>(std::move(account))) {}

  void begin(uint64_t now_ns) { begun_ns_.store(now_ns, std::memory_order_relaxed); }
  // How long it has been done; 0: it waits for its turn.
  uint64_t age_ns(uint64_t now_ns) const {
    const uint64_t begun_ns = begun_ns_.load(std::memory_order_relaxed);
    return begun_ns == 0 || now_ns < begun_ns ? 0 : now_ns - begun_ns;
  }

  // The first reason counts.
  void end_early(End why) {
    End none = End::kNone;
    if (end_.compare_exchange_strong(none, why)) stop_.request_stop();
  }
  End end() const { return end_.load(); }
  void stop() { stop_.request_stop(); }  // with the daemon
  std::stop_token token() const { return stop_.get_token(); }

  const std::shared_ptr<MemoryCharge>& charge() const { return charge_; }

 private:
  std::stop_source stop_;
  std::atomic<End> end_{End::kNone};
  std::atomic<uint64_t> begun_ns_{0};
  const std::shared_ptr<MemoryCharge> charge_;
};

}  // namespace spdld::node
