// Holds the work on one sample to its bounds while it is under way. Code that may work for long on a sample tells its
// guard of each piece before it does the piece: of a band of rows, a frame, a packet. Every few milliseconds the guard
// looks whether somebody still waits for the sample and whether the sample has had all its CPU time, and gives others a
// turn on the thread. One thread.
//
// Between two looks a piece costs a subtraction, so that small samples never look.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"

namespace spdld::media {

// The code that has a sample worked on.
class WorkOwner {
 public:
  // Whether somebody still waits for the sample. Once false, it stays so.
  virtual bool is_wanted() const = 0;
  // Work of others may have the thread for a while. May block: no lock may be held that others need.
  virtual void give_way() = 0;

 protected:
  ~WorkOwner() = default;
};

// The work on a sample does not go on. Thrown through operations, which keep nothing but memory; the decode stage turns
// the exception into the sample's error.
class WorkEnded final : public std::exception {
 public:
  explicit WorkEnded(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

class WorkGuard {
 public:
  static constexpr uint64_t kBetweenLooksNs = 2'000'000;

  explicit WorkGuard(const DecodeLimits& limits) : cpu_ns_(limits.cpu_ns), cpu_ms_max_(limits.cpu_ms_max) {}
  WorkGuard(const WorkGuard&) = delete;
  WorkGuard& operator=(const WorkGuard&) = delete;

  // Of the samples from now on; borrowed. null: they are wanted, and no one else waits for the thread.
  void set_owner(WorkOwner* owner) { owner_ = owner; }
  // The next sample begins. Before the first one, nothing is bounded.
  void begin() {
    is_begun_ = true;
    left_ns_ = kBetweenLooksNs;
    start_ns_ = 0;
  }
  // From now on the work is that of this operation; a text that lives for ever.
  void doing(std::string_view operation) { operation_ = operation; }

  // The next piece will take about so long; twice or half of it does not matter. Throws WorkEnded: kContent, the
  // sample's CPU time is over; kStopping, nobody wants the sample any more.
  void spend(uint64_t ns) {
    if (ns <= left_ns_) {
      left_ns_ -= ns;
    } else {
      look();
    }
  }
  // The sizes tell of the work that comes now: the work takes at least so long on any machine. Throws WorkEnded at once
  // where that is more than the sample may have.
  void expect(uint64_t least_ns) const {
    if (is_begun_ && cpu_ms_max_ != 0 && least_ns > cpu_ms_max_ * 1'000'000) throw WorkEnded(too_much("would take"));
  }
  // For decoders, which have clocks and sentences of their own, at a look at their clock. False: nobody wants the
  // sample any more.
  bool goes_on() {
    if (owner_ == nullptr) return true;
    owner_->give_way();
    return owner_->is_wanted();
  }

 private:
  void look() {
    left_ns_ = kBetweenLooksNs;
    if (!is_begun_) return;
    if (!goes_on()) throw WorkEnded({Trouble::kStopping, "nobody waits for the sample any more"});
    if (cpu_ms_max_ == 0) return;
    const uint64_t now_ns = cpu_ns_();
    if (start_ns_ == 0) start_ns_ = now_ns;
    if (now_ns - start_ns_ > cpu_ms_max_ * 1'000'000) throw WorkEnded(too_much("takes"));
  }
  Error too_much(const char* takes) const {
    return {Trouble::kContent, std::string(operation_) + " " + takes + " more CPU time than the operator's limit of " +
                                   std::to_string(cpu_ms_max_) +
                                   " ms for a sample (limits.sample_ms_max): let the operation work on less"};
  }

  uint64_t (*const cpu_ns_)();
  const uint64_t cpu_ms_max_;
  WorkOwner* owner_ = nullptr;
  bool is_begun_ = false;
  uint64_t left_ns_ = kBetweenLooksNs;  // of work that is told, until the next look
  uint64_t start_ns_ = 0;               // of the thread's CPU time, at the sample's first look; 0: not looked at yet
  std::string_view operation_ = "an operation";
};

// Tells a guard, where there is one, of work on `count` values. A core works on `in_a_ns` values in a nanosecond.
inline void spend(WorkGuard* guard, uint64_t count, uint64_t in_a_ns) {
  if (guard != nullptr) guard->spend(count / in_a_ns);
}

}  // namespace spdld::media
