// The leases of all rings that are on their way back behind a GPU's work. No thread of the library waits for that work:
// the driver calls a function when the work is done, which sends RELEASE. That function may call nothing of CUDA, and
// so may drop no object that does. Such objects are kept for the next call of the library, whichever it is.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "client/src/calls/deadline.h"
#include "client/src/calls/outcome.h"
#include "client/src/ring/lease.h"

namespace spdld::client {

// Any thread of the caller.
class Returns {
 public:
  static Returns& of_process();
  Returns() = default;
  Returns(const Returns&) = delete;
  Returns& operator=(const Returns&) = delete;

  // Every call of the library calls this: it ends leases that the driver's functions left over, and tries again the
  // leases that were put off. Cheap when there are none. In a forked child it does nothing: all leases are the
  // parent's.
  void attend();

  // Takes a lease whose batch is gone, of a ring that follows streams. Waits for the lease's work only after the ring's
  // detach.
  void bring_home(LeaseList lease);
  // Waits until none of the ring's leases is under way. False: some still are at the deadline.
  bool wait_for(const Ring& ring, Deadline deadline);
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
