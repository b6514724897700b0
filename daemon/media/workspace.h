// A workspace holds the objects that one decode thread keeps from sample to sample: decoders, tables and scratch
// memory. A node asks for the object of the type that it works with; the first call makes it. One thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/media/decode_limits.h"
#include "daemon/media/sample_memory.h"
#include "daemon/media/work_guard.h"
#include "daemon/media/work_times.h"

namespace spdld::media {

class Workspace {
 public:
  // `own_bytes`: as SampleMemory has it.
  explicit Workspace(const DecodeLimits& limits = {}, uint64_t own_bytes = SampleMemory::kAll)
      : memory_(std::make_unique<SampleMemory>(own_bytes)),
        limits_(limits),
        guard_(std::make_unique<WorkGuard>(limits)) {
    limits_.memory = memory_.get();
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

  const DecodeLimits& limits() const { return limits_; }
  // Counts what the sample takes.
  SampleMemory& memory() { return *memory_; }

  // Gives back every buffer that is larger, so that one huge sample does not stay for ever. After it, no memory that a
  // node gave for the last sample may be used.
  void shrink(size_t bytes_max) {
    for (const auto& kept : kept_)
      if (kept) kept->shrink(bytes_max);
  }
  // Gives back all objects, where they may hold more than the thread may keep. Many kinds of content in turn fill one
  // buffer after the other. Returns whether they are gone.
  bool end_sample() {
    if (memory_->kept_bytes() <= memory_->own_bytes()) return false;
    for (auto& kept : kept_) kept.reset();
    return true;
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

  std::unique_ptr<SampleMemory> memory_;  // stays in its place, and outlives the objects
  DecodeLimits limits_;
  WorkTimer timer_;
  std::unique_ptr<WorkGuard> guard_;            // where decoders know it, also when the workspace moves
  std::vector<std::unique_ptr<AnyKept>> kept_;  // by type
};

}  // namespace spdld::media
