// The leases of all rings that are on their way back behind a GPU's work. No thread of ours waits for that: the driver
// calls a function when it is done, which sends RELEASE. In there nothing of CUDA may be called, and so nothing be
// dropped that would: what is left over is kept for the next call of the library, whatever it is.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "client/src/deadline.h"
#include "client/src/lease.h"
#include "client/src/outcome.h"

namespace spdld::client {

// Any thread of the caller's.
class Returns {
 public:
  static Returns& of_process();
  Returns() = default;
  Returns(const Returns&) = delete;
  Returns& operator=(const Returns&) = delete;

  // At every call of the library: ends what the driver's functions left over, and tries again what was put off. Cheap
  // when there is nothing. In a forked child nothing is done: it is all its parent's.
  void attend();

  // Takes a lease whose batch is gone, of a ring that follows streams. Waits for its work only after the ring's detach.
  void bring_home(LeaseList lease);
  // Waits until none of the ring's leases is under way. False: not in time.
  bool wait_for(const Ring& ring, Deadline deadline);
  // Puts a mark behind the slot's copy, and waits for it. SPDLD_TIMEOUT, SPDLD_FAILED.
  Outcome wait_for_copy(const std::shared_ptr<Ring>& ring, uint32_t slot, Deadline deadline);
  void settle_done();

 private:
  static void on_done(void* argument) noexcept;  // the host function
  void launched(LeaseList& lease);

  std::mutex mutex_;
  std::condition_variable changed_;
  LeaseList launched_;  // the driver has a pointer to each
  LeaseList done_;
  LeaseList put_off_;  // one of their streams is being captured
  std::atomic<bool> pending_{false};
  std::atomic<pid_t> owner_{0};
};

}  // namespace spdld::client
