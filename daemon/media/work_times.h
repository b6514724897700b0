// Where the time of a sample goes: the time of each operation of an output, measured for one sample in kTimedEvery, so
// that measuring costs nothing. A Lap is put around a piece of work; the time of a lap within a lap counts for the
// inner one alone.
//
// WorkTimes belongs to an output, and any thread adds to it without a lock. A WorkTimer belongs to one sample's run, on
// its decode thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "daemon/base/statistics.h"
#include "daemon/base/system/cpu.h"

namespace spdld::media {

inline constexpr uint32_t kTimedEvery = 64;

class WorkTimes {
 public:
  static constexpr size_t kNamesMax = 24;  // further names are added up as the last one

  void add_sample() { samples_.add(); }
  // `name`: a text that lives for ever.
  void add(std::string_view name, uint64_t ns) {
    for (size_t i = 0; i < kNamesMax; i++) {
      NamedTime& time = times_[i];
      const char* taken = nullptr;
      // The first thread that comes takes a free part. A name has one length, since it has one address.
      const bool is_mine = time.name.load(std::memory_order_acquire) == name.data() ||
                           time.name.compare_exchange_strong(taken, name.data(), std::memory_order_acq_rel) ||
                           taken == name.data() || i + 1 == kNamesMax;
      if (!is_mine) continue;
      time.bytes.store(name.size(), std::memory_order_relaxed);
      return time.ns.add(ns);
    }
  }

  uint64_t samples() const { return samples_.value(); }
  // Calls seen(name, ns) for each name. Equal names that lie in two places may come twice.
  template <typename Seen>
  void for_each(Seen seen) const {
    for (const NamedTime& time : times_) {
      const char* const name = time.name.load(std::memory_order_acquire);
      const size_t bytes = time.bytes.load(std::memory_order_relaxed);
      if (name != nullptr && bytes > 0) seen(std::string_view(name, bytes), time.ns.value());
    }
  }

 private:
  struct NamedTime {
    std::atomic<const char*> name{nullptr};
    std::atomic<size_t> bytes{0};
    Counter ns;
  };
  Counter samples_;
  std::array<NamedTime, kNamesMax> times_;
};

class WorkTimer {
 public:
  // From now on laps count for `times`; null: nothing is measured.
  void set(WorkTimes* times) {
    times_ = times;
    inner_ns_ = 0;
  }
  bool is_on() const { return kHasStatistics && times_ != nullptr; }

 private:
  friend class Lap;
  WorkTimes* times_ = nullptr;
  uint64_t inner_ns_ = 0;  // of the laps that have ended within the lap that is under way
};

class Lap {
 public:
  Lap(WorkTimer& timer, std::string_view name) : timer_(timer) {
    if (!timer_.is_on()) return;
    name_ = name;
    outer_ns_ = std::exchange(timer_.inner_ns_, 0);
    start_ns_ = monotonic_ns();
  }
  ~Lap() {
    if (start_ns_ == 0) return;
    const uint64_t ns = monotonic_ns() - start_ns_;
    timer_.times_->add(name_, ns - timer_.inner_ns_);
    timer_.inner_ns_ = outer_ns_ + ns;
  }
  Lap(const Lap&) = delete;
  Lap& operator=(const Lap&) = delete;

 private:
  WorkTimer& timer_;
  std::string_view name_;
  uint64_t start_ns_ = 0, outer_ns_ = 0;
};

}  // namespace spdld::media
