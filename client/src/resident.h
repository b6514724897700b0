// The loaders of a process that name no group share a bound on the memory that they take. When a process attaches a
// loader beyond kAtOnceMax, the idle loader that was used longest ago rests: it gives its memory back, and takes memory
// again, at its place, when it is used next. A loader that a program has forgotten, in a notebook's history or in the
// frame of a traceback, then costs nothing, and a loader that was not forgotten misses nothing.
#pragma once

#include <cstdint>
#include <mutex>

#include "client/src/loader.h"

namespace spdld::client {

class Resident {
 public:
  static constexpr size_t kAtOnceMax = 4;

  explicit Resident(LoaderSettings settings) : loader_(std::move(settings)) {}
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;
  ~Resident();

  // Attaches as Loader does. Where the daemon has no memory left, this process's other loaders give theirs back first.
  CallOutcome attach(Deadline deadline, spdld_progress progress, void* progress_user);
  // Whether another loader of this process is the same rank of the same group, as the daemon knows them.
  bool has_namesake() const;

  // The caller's turn with the loader, which stays as it is meanwhile.
  class Use {
   public:
    explicit Use(Resident& resident);
    Loader* operator->() const { return &resident_.loader_; }

   private:
    Resident& resident_;
    const std::lock_guard<std::mutex> turn_;
  };
  Use use() { return Use(*this); }
  // A program that waits for the descriptor would not hear that it ended, so such a loader keeps its memory.
  int poll_fd();

 private:
  struct List;
  // At most `kept` other loaders that may rest keep their memory: the loaders used last, and any loader that is in use.
  // True: one loader gave its memory back.
  bool rest_others(size_t kept) const;
  bool rest_if_idle();

  std::mutex turn_;
  uint64_t used_ = 0;       // the process's count of uses at this loader's last use; under turn_
  bool is_polled_ = false;  // under turn_
  bool is_listed_ = false;
  Loader loader_;  // under turn_
};

}  // namespace spdld::client
