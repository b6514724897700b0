#include "client/src/ring/returns.h"

#include <unistd.h>

#include <cstddef>
#include <memory>

#include "client/src/gpu/gpu_fault.h"
#include "client/src/ring/ring.h"

namespace spdld::client {

Returns& Returns::of_process() {
  // Never destroyed: the driver's functions may still run while the process exits.
  alignas(Returns) static std::byte storage[sizeof(Returns)];
  static Returns* const once = std::construct_at(reinterpret_cast<Returns*>(storage));
  return *once;
}

void Returns::attend() {
  if (!pending_.load(std::memory_order_acquire) || owner_.load(std::memory_order_relaxed) != ::getpid()) return;
  LeaseList again;
  {
    const std::lock_guard lock(mutex_);
    again.swap(put_off_);
    pending_ = false;
  }
  settle_done();
  while (!again.empty()) {
    LeaseList one;
    one.splice(one.end(), again, again.begin());
    bring_home(std::move(one));
  }
}

void Returns::settle_done() {
  LeaseList done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (const Lease& lease : done) lease.ring->settle(lease.slot, lease.generation);
}  // here rings may end, with all that they had of the GPU

void Returns::launched(LeaseList& lease) {
  const std::lock_guard lock(mutex_);
  owner_ = ::getpid();
  ++lease.front().ring->under_way_;
  launched_.splice(launched_.end(), lease);
}

void Returns::bring_home(LeaseList lease) {
  Lease& one = lease.front();
  const std::shared_ptr<Ring> ring = one.ring;  // the lease may be gone as soon as it is launched
  const uint32_t slot = one.slot;
  ring->note_returning(slot);
  launched(lease);
  const StreamWork::Result result = ring->work().follow(slot, one.streams, &Returns::on_done, &one);
  if (result.followed == StreamWork::Followed::kLaunched) {
    if (ring->is_detached()) ring->wait_for_streams();
    return;
  }
  if (result.followed == StreamWork::Followed::kFailed) ring->lose(one, result.code);
  const bool put_off = result.followed == StreamWork::Followed::kCapturing;
  if (put_off) ring->note_put_off(slot);
  {
    const std::lock_guard lock(mutex_);
    --ring->under_way_;
    if (put_off) pending_ = true;
    LeaseList& target = put_off ? put_off_ : lease;
    target.splice(target.end(), launched_, one.self);
  }
  changed_.notify_all();
}

bool Returns::wait_for(const Ring& ring, Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline.at(), [&ring] { return ring.under_way_ == 0; });
}

void Returns::on_done(void* argument) noexcept {
  Lease& lease = *static_cast<Lease*>(argument);
  Returns& returns = of_process();
  lease.ring->finish(lease.slot, lease.generation);
  const std::lock_guard lock(returns.mutex_);
  --lease.ring->under_way_;
  returns.done_.splice(returns.done_.end(), returns.launched_, lease.self);
  returns.pending_.store(true, std::memory_order_release);
  returns.changed_.notify_all();
}

}  // namespace spdld::client
