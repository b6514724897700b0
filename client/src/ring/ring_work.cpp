// The part of a ring that has to do with a GPU's work on its slots.
#include <unistd.h>

#include "client/src/gpu/gpu_fault.h"
#include "client/src/ring/returns.h"
#include "client/src/ring/ring.h"

namespace spdld::client {

namespace {

constexpr int64_t kDetach_ms = 10'000;  // for what was put on the streams before
constexpr int64_t kCopy_ms = 10'000;
constexpr int64_t kOrphanedCopy_ms = 1'000;  // for a copy that was under way when its daemon ended
constexpr int64_t kCopyLook_ms = 1;
constexpr int64_t kLook_ms = 100;  // after which work under way is asked whether it lives

}  // namespace

void Ring::give_back(LeaseList lease) {
  const std::shared_ptr<Ring> ring = lease.front().ring;
  if (ring->taker_.load(std::memory_order_relaxed) != ::gettid())
    ring->returned_elsewhere_.store(true, std::memory_order_relaxed);
  if (ring->work_) {
    Returns::of_process().bring_home(std::move(lease));
    return;
  }
  {
    const std::lock_guard lock(ring->mutex_);
    ring->set_free(lease.front().slot);
  }
  ring->release(lease.front().slot, lease.front().generation);
}

CallOutcome Ring::make_wait(uint32_t slot, cuda::abi::Stream stream) {
  cuda::Event* copied = slots_->copied(slot);
  if (!copied || copied->query() == cuda::abi::kSuccess) return {};
  if (connection_->has_ended()) return wait_for_copy(slot);  // a stream might wait for ever
  cuda::abi::Result code = cuda::abi::kSuccess;
  if (work_->is_capturing(stream, code)) {
    return failure(SPDLD_UNSUPPORTED,
                   "a stream that is being captured cannot wait for a batch's copy: call spdld_batch_wait before");
  }
  if (code == cuda::abi::kSuccess) code = copied->make_wait(stream);
  if (code == cuda::abi::kSuccess) return {};
  return work_failure(work_->context().driver(), code, "a stream cannot be made to wait for the copy of a batch");
}

// The driver has no bounded wait for an event, and what a dead process recorded may never complete. So the event is
// asked again and again, and no stream of this process comes to wait for it.
CallOutcome Ring::wait_for_copy(uint32_t slot) const {
  const cuda::Event* copied = slots_->copied(slot);
  const Deadline end = Deadline::after_ms(kCopy_ms);
  Deadline orphaned_end = Deadline::never();
  for (;;) {  // each turn waits, at most until the deadline
    const cuda::abi::Result code = copied ? copied->query() : cuda::abi::kSuccess;
    if (code == cuda::abi::kSuccess) return {};
    if (code != cuda::abi::kNotReady)
      return work_failure(work_->context().driver(), code, "the copy of a batch failed");
    if (orphaned_end.is_never() && connection_->has_ended()) orphaned_end = Deadline::after_ms(kOrphanedCopy_ms);
    if (orphaned_end.passed()) {
      return failure(SPDLD_FAILED,
                     "the daemon has ended before the copy of a batch to the GPU was done: drop the batch, and seek "
                     "its place to get it again");
    }
    if (end.passed())
      return failure(SPDLD_TIMEOUT, "the copy of a batch is not done in time: the daemon, or its GPU, stands still");
    wait_for(-1, 0, Deadline::after_ms(kCopyLook_ms));
  }
}

CallOutcome Ring::trouble() {
  if (!work_) return {};
  work_lives();
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void Ring::note_returning(uint32_t slot) {
  const std::lock_guard lock(mutex_);
  holds_[slot].state.change(State::kUnderWay);
  holds_[slot].look_at = Deadline::after_ms(kLook_ms);
}

void Ring::note_put_off(uint32_t slot) {
  const std::lock_guard lock(mutex_);
  holds_[slot].state.change(State::kPutOff);
}

void Ring::finish(uint32_t slot, uint64_t generation) noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      if (detached_) return;
      set_free(slot);
    }
    release(slot, generation);
  } catch (...) {  // out of memory, or a bug: the daemon is not told, and the slot is missed until the loader's end
  }
}

void Ring::settle(uint32_t slot, uint64_t generation) {
  {
    const std::lock_guard lock(mutex_);
    const Hold& hold = holds_[slot];
    const bool ended = hold.state != State::kUnderWay && hold.state != State::kLost;
    if (ended || hold.generation != generation) return;  // finish did it
  }
  if (!slots_->close(slot)) return;  // the lease stays, for as long as the memory is open here
  {
    const std::lock_guard lock(mutex_);
    set_free(slot);
  }
  release(slot, generation);
}

void Ring::lose(const Lease& lease, cuda::abi::Result code) {
  work_->wait_for(lease.streams);
  note_lost(lease.slot, code);
}

void Ring::note_lost(uint32_t slot, cuda::abi::Result code) {
  CallOutcome failed;
  if (code != cuda::abi::kDeinitialized) {  // else the process ends, which is nobody's trouble
    const char* what = code == cuda::abi::kInvalidHandle
                           ? "the GPU's work on a batch cannot be followed: a stream of the batch was destroyed before "
                             "the batch was given back"
                           : "the GPU's work on a batch cannot be followed";
    failed = work_failure(work_->context().driver(), code, what);
  }
  const std::lock_guard lock(mutex_);
  if (holds_[slot].state == State::kUnderWay) holds_[slot].state.change(State::kLost);  // else it came back meanwhile
  if (trouble_.ok()) trouble_ = std::move(failed);
}

bool Ring::is_detached() const {
  const std::lock_guard lock(mutex_);
  return detached_;
}

// After an error on the GPU the driver calls no function of ours: without this look, next would wait for ever.
bool Ring::work_lives() {
  std::vector<uint32_t> waiting;
  bool lives = false;
  {
    const std::lock_guard lock(mutex_);
    for (uint32_t slot = 0; slot < holds_.size(); ++slot) {
      Hold& hold = holds_[slot];
      if (hold.state != State::kUnderWay) continue;
      lives = true;
      if (!hold.look_at.passed()) continue;
      hold.look_at = Deadline::after_ms(kLook_ms);
      waiting.push_back(slot);
    }
  }
  for (const uint32_t slot : waiting) {
    const cuda::abi::Result code = work_->look(slot);
    if (code == cuda::abi::kSuccess || code == cuda::abi::kNotReady) continue;
    note_lost(slot, code);
    lives = false;
  }
  return lives;
}

void Ring::wait_for_streams() {
  const Deadline end = Deadline::after_ms(kDetach_ms);
  while (!Returns::of_process().wait_for(*this, end.or_earlier(Deadline::after_ms(kLook_ms)))) {
    if (end.passed() || !work_lives()) break;
  }
  Returns::of_process().settle_done();
}

}  // namespace spdld::client
