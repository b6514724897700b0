// The time in which a stream had nothing to do, since every slot of its ring was ready or held. Of such time a stream
// may use a part for work that only later epochs gain by: the trainer had batches all the while. A batch that is begun
// while another one is under way ends it, since the trainer may be waiting then.
//
// Half of the time counts, up to kMostNs. The last work may take more than there is: then nothing is begun until
// further time has made up for it. The stream tells of its slots, under its lock; any thread asks and spends.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace spdld::pipeline {

class SpareTime {
 public:
  static constexpr int64_t kMostNs = 100'000'000;

  // Every slot is ready or held.
  void on_full(uint64_t now_ns) { full_since_ns_ = now_ns; }
  // A batch is begun; `is_alone`: no other is under way.
  void on_batch(uint64_t now_ns, bool is_alone) {
    const uint64_t since_ns = std::exchange(full_since_ns_, 0);
    if (!is_alone) return limit_to(0);
    if (since_ns == 0 || now_ns <= since_ns) return;
    left_ns_.fetch_add(static_cast<int64_t>((now_ns - since_ns) / 2), std::memory_order_relaxed);
    limit_to(kMostNs);
  }
  bool has_some() const { return left_ns_.load(std::memory_order_relaxed) > 0; }
  void spend(uint64_t ns) { left_ns_.fetch_sub(static_cast<int64_t>(ns), std::memory_order_relaxed); }

 private:
  void limit_to(int64_t most_ns) {
    int64_t left_ns = left_ns_.load(std::memory_order_relaxed);
    while (left_ns > most_ns && !left_ns_.compare_exchange_weak(left_ns, most_ns, std::memory_order_relaxed)) {
    }
  }

  uint64_t full_since_ns_ = 0;  // 0: some slot is being filled
  std::atomic<int64_t> left_ns_{0};
};

}  // namespace spdld::pipeline
