// A workspace holds the objects that one decode thread keeps from sample to sample: decoders, tables and scratch
// memory. A node asks for the object of the type that it works with; the first call makes it. One thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "daemon/media/decode_limits.h"
#include "daemon/media/work_guard.h"
#include "daemon/media/work_times.h"

namespace spdld::media {

class Workspace {
 public:
  explicit Workspace(const DecodeLimits& limits = {}) : limits_(limits), guard_(std::make_unique<WorkGuard>(limits)) {
    limits_.guard = guard_.get();
  }

  // The thread's object of type T, which is made from the limits and has shrink(bytes_max).
  template <typename T>
  T& of() {
    const size_t place = place_of<T>();
    if (place >= kept_.size()) kept_.resize(place + 1);
    if (!kept_[place]) kept_[place] = std::make_unique<Kept<T>>(limits_);
    return static_cast<Kept<T>&>(*kept_[place]).object;
  }

  // Measures the time of the sample that is worked on, where that sample is measured.
  WorkTimer& timer() { return timer_; }
  // Bounds the work on that sample.
  WorkGuard& guard() { return *guard_; }

  // Gives back every buffer that is larger, so that one huge sample does not stay for ever. After it, no memory that a
  // node gave for the last sample may be used.
  void shrink(size_t bytes_max) {
    for (const auto& kept : kept_)
      if (kept) kept->shrink(bytes_max);
  }

 private:
  struct AnyKept {
    virtual ~AnyKept() = default;
    virtual void shrink(size_t bytes_max) = 0;
  };
  template <typename T>
  struct Kept final : AnyKept {
    explicit Kept(const DecodeLimits& limits) : object(limits) {}
    void shrink(size_t bytes_max) override { object.shrink(bytes_max); }
    T object;
  };

  static size_t next_place() {
    static std::atomic<size_t> next{0};
    return next.fetch_add(1, std::memory_order_relaxed);
  }
  template <typename T>
  static size_t place_of() {
    static const size_t place = next_place();
    return place;
  }

  DecodeLimits limits_;
  WorkTimer timer_;
  std::unique_ptr<WorkGuard> guard_;            // where decoders know it, also when the workspace moves
  std::vector<std::unique_ptr<AnyKept>> kept_;  // by type
};

}  // namespace spdld::media
