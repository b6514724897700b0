// An object that each process has once. A forked child gets an object of its own, since a thread that the child does
// not have may have locked its parent's.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>

namespace spdld::client {

// Any thread. The object is never destroyed, since calls may come while the process exits.
template <typename Object>
Object& of_this_process() {
  struct Made {
    const pid_t owner = ::getpid();
    Object object;
  };
  static std::atomic<Made*> current{nullptr};
  Made* made = current.load(std::memory_order_acquire);
  while (!made || made->owner != ::getpid()) {
    auto fresh = std::make_unique<Made>();
    if (current.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) made = fresh.release();
  }
  return made->object;
}

}  // namespace spdld::client
