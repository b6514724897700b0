// The memory that a decode thread takes for the sample that it works on: decoded pictures and sounds, what libraries
// take, the scratch of operations. An object asks for memory before it takes it, by what a header tells. Each thread
// has some memory of its own, so that ordinary samples ask nobody; what a sample needs beyond it is lent, by the
// pipeline's budget. Where there is no room, the work on the sample ends, and begins anew once there is.
//
// A thread keeps memory from sample to sample. SampleMemory counts the most that it may have kept, so that what the
// thread keeps has a bound as well (Workspace::end_sample). One thread.
#pragma once

#include <cstdint>
#include <limits>

#include "daemon/base/result.h"

namespace spdld::media {

class SampleMemory {
 public:
  static constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

  class Lender {
   public:
    // Lends the sample `bytes` in all. False: there is no room now.
    virtual bool lend(uint64_t bytes) = 0;

   protected:
    ~Lender() = default;
  };

  // The thread may take `own_bytes` without a lender, and may keep as much.
  explicit SampleMemory(uint64_t own_bytes = kAll) : own_bytes_(own_bytes) {}
  SampleMemory(const SampleMemory&) = delete;
  SampleMemory& operator=(const SampleMemory&) = delete;

  // The next sample begins, to which `lent_bytes` are lent already. Without a lender there is no bound.
  void begin(Lender* lender, uint64_t lent_bytes) {
    ++sample_;
    needed_bytes_ = 0;
    lender_ = lender;
    room_bytes_ = lender == nullptr || own_bytes_ == kAll ? kAll : own_bytes_ + lent_bytes;
    lacks_room_ = false;
  }
  // Nobody has lent what is needed: whatever came of the work since, it is to begin anew.
  bool lacks_room() const { return lacks_room_; }
  uint64_t needed_bytes() const { return needed_bytes_; }
  // To be lent, in all.
  uint64_t lent_bytes() const { return needed_bytes_ > own_bytes_ ? needed_bytes_ - own_bytes_ : 0; }
  uint64_t own_bytes() const { return own_bytes_; }
  uint64_t kept_bytes() const { return kept_bytes_; }  // at most

 private:
  friend class MemoryPart;
  bool take(uint64_t bytes) {
    needed_bytes_ += bytes;
    return needed_bytes_ <= room_bytes_ || borrow();
  }
  bool borrow() {
    if (!lacks_room_ && lender_->lend(lent_bytes())) {
      room_bytes_ = needed_bytes_;
      return true;
    }
    lacks_room_ = true;
    return false;
  }

  const uint64_t own_bytes_;
  Lender* lender_ = nullptr;
  uint64_t room_bytes_ = kAll, needed_bytes_ = 0, kept_bytes_ = 0;
  uint64_t sample_ = 0;
  bool lacks_room_ = false;
};

// The part of it that one object takes, such as a decoder. The object asks before it allocates.
class MemoryPart {
 public:
  // nullptr: nobody counts.
  explicit MemoryPart(SampleMemory* memory) : memory_(memory) {}
  ~MemoryPart() {
    if (memory_ != nullptr) memory_->kept_bytes_ -= most_bytes_;
  }
  MemoryPart(const MemoryPart&) = delete;
  MemoryPart& operator=(const MemoryPart&) = delete;

  // The object needs `bytes` more for the sample. False: there is no room for them now.
  bool add(uint64_t bytes) {
    if (memory_ == nullptr) return true;
    begin();
    return take(bytes);
  }
  // The object needs `bytes` in all for the sample, with what it has asked for already.
  bool grow_to(uint64_t bytes) {
    if (memory_ == nullptr) return true;
    begin();
    return bytes <= bytes_ || take(bytes - bytes_);
  }
  // The object has given back all but `bytes`.
  void shrink_to(uint64_t bytes) {
    if (memory_ == nullptr || bytes >= most_bytes_) return;
    memory_->kept_bytes_ -= most_bytes_ - bytes;
    most_bytes_ = bytes;
  }

 private:
  void begin() {
    if (sample_ == memory_->sample_) return;
    sample_ = memory_->sample_;
    bytes_ = 0;
  }
  bool take(uint64_t bytes) {
    bytes_ += bytes;
    if (bytes_ > most_bytes_) {
      memory_->kept_bytes_ += bytes_ - most_bytes_;
      most_bytes_ = bytes_;
    }
    return memory_->take(bytes);
  }

  SampleMemory* const memory_;
  uint64_t sample_ = 0;  // that bytes_ belong to
  uint64_t bytes_ = 0;
  uint64_t most_bytes_ = 0;  // for any sample
};

// The error of work that ends for want of room. Nobody reads it: the work begins anew.
inline Error no_room() { return {Trouble::kMemory, {}}; }

}  // namespace spdld::media
