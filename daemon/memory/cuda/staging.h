// Pinned host memory in which batches are made before they are copied to one GPU. Buffers are registered once and lent
// to every ring of that GPU in turn, but only to rings of one owner, since bytes of the last batch may still be in a
// buffer. A ring that finds no buffer waits in line: strictly first come, first served, whatever the sizes. Where
// `bytes_max` is reached, idle buffers of other kinds make room.
//
// Buffers are made and dropped on the set-up thread (tick), since registering may take long; any thread may call the
// other functions, which are short. Callbacks are called without a lock held; they must not call back into this object.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/base/result.h"
#include "proto/cuda/objects.h"

namespace spdld::memory {

// The batches that a buffer is for: their size and owner.
struct StagingKind {
  uint64_t bytes = 0;  // a multiple of cuda::kDeviceGranularity
  uint32_t owner = 0;
  auto operator<=>(const StagingKind&) const = default;
};

// Memory for huge pages, registered with one context. Zero at first. It is no cuda::RegisteredHost, since pages that
// the driver won't let go of must stay mapped: new pages at their address would be taken for registered.
class StagingBuffer {
 public:
  // `node`: the NUMA node where the pages should lie; -1: any. Throws cuda::Fault.
  StagingBuffer(cuda::ContextRef context, const StagingKind& kind, int node = -1);
  ~StagingBuffer();
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;

  const StagingKind& kind() const { return kind_; }
  uint8_t* address() const { return address_; }

 private:
  cuda::abi::Result register_pages();
  cuda::abi::Result unregister_pages();

  const cuda::ContextRef context_;
  const StagingKind kind_;
  void* mapping_ = nullptr;
  uint8_t* address_ = nullptr;  // in the mapping, where a huge page may begin
};
using StagingBufferPtr = std::unique_ptr<StagingBuffer>;

class Staging : public std::enable_shared_from_this<Staging> {
 public:
  using Clock = std::chrono::steady_clock;
  using Room = std::function<void()>;

  // One ring's place in the line, and the buffers granted to it. Destroying it leaves the line; its granted buffers go
  // to the next ring.
  class User {
   public:
    User(std::shared_ptr<Staging> staging, const StagingKind& kind) : staging_(std::move(staging)), kind_(kind) {}
    ~User() { staging_->leave(*this); }
    User(const User&) = delete;
    User& operator=(const User&) = delete;

    // nullptr: no buffer is free now, and `room` is called once when a buffer was set aside for this ring (or when the
    // ring must hear an error). `slot` identifies the waiting slot: a second call replaces its `room`. A buffer that is
    // set aside and not fetched within kGrant goes to other waiting rings.
    Result<StagingBufferPtr> take(const void* slot, const Room& room) { return staging_->take(*this, slot, room); }
    void forget(const void* slot) { staging_->forget(slot); }
    // The error where no buffer of this kind can ever be had.
    std::optional<Error> refusal() const { return staging_->refusal(*this); }

   private:
    friend class Staging;
    const std::shared_ptr<Staging> staging_;
    const StagingKind kind_;
    std::optional<Error> refusal_;  // guarded by the staging's mutex
  };

  // `wake` is called where tick() is to be called. `node`: the NUMA node of the buffers; -1: any.
  Staging(cuda::ContextRef context, uint64_t bytes_max, std::function<void()> wake, int node = -1);

  void give_back(StagingBufferPtr buffer);

  struct Levels {
    uint64_t bytes = 0, used_bytes = 0;
  };
  Levels levels() const;

  // All rings that wait or come later get this error. The first call counts.
  void close(const Error& reason);

  // The rest: set-up thread.

  // Makes sure that one buffer of this kind is there, or will come back. Throws cuda::Fault.
  void ensure(const StagingKind& kind);
  // Makes buffers that rings wait for, and takes back buffers that were not fetched. Returns when to call it again at
  // the latest. Throws cuda::Fault where the context is lost.
  std::optional<Clock::time_point> tick();
  // Called after close() and, where the context is lost, after its reset: frees buffers that are not in use. A buffer
  // in use is freed when it is given back.
  void drop();

 private:
  static constexpr std::chrono::milliseconds kGrant{250};
  struct Waiter {
    User* user;
    const void* slot;
    Room room;
  };
  struct Grant {
    User* user;
    StagingBufferPtr buffer;
    Clock::time_point since;
  };

  Result<StagingBufferPtr> take(User& user, const void* slot, const Room& room);
  void forget(const void* slot);
  void leave(User& user);
  std::optional<Error> refusal(const User& user) const;

  // Below, until the state: under mutex_.
  StagingBufferPtr pick_idle(const StagingKind& kind);
  void wait_in_line(User& user, const void* slot, const Room& room);
  [[nodiscard]] std::vector<Room> serve();  // grants in the order of the line; returns functions to call afterwards
  uint64_t ceiling_for(const StagingKind& kind) const;
  bool can_make(const StagingKind& kind) const;
  [[nodiscard]] bool needs_tick();
  std::vector<StagingBufferPtr> make_room(const StagingKind& kind);  // buffers to drop
  [[nodiscard]] std::vector<Room> refuse(const StagingKind& kind, const Error& reason);
  void expire(Clock::time_point now);

  void tell(const std::vector<Room>& rooms, bool wake) const;
  void make(const StagingKind& kind);  // set-up thread, room was made; throws cuda::Fault

  const cuda::ContextRef context_;
  const uint64_t bytes_max_;
  const std::function<void()> wake_;
  const int node_;

  mutable std::mutex mutex_;
  std::deque<Waiter> waiters_;
  std::deque<StagingBufferPtr> idle_;  // longest idle first
  std::deque<Grant> grants_;
  std::map<StagingKind, uint32_t> made_;  // how many there are
  uint64_t bytes_ = 0, used_bytes_ = 0;   // of all buffers; of buffers in slots
  uint64_t ceiling_bytes_;                // bytes_max_, or less where less could be pinned
  bool expiry_is_watched_ = false;        // tick() was asked for, or will come by itself
  std::optional<Error> closed_;
  bool dropped_ = false;
};

}  // namespace spdld::memory
