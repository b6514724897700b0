// A fake daemon in a process of its own, whose slots are the fake driver's: importers must be other processes than the
// one that made the memory. Made before this process loads the driver.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/fake_daemon.h"

namespace spdld::test {

// What the daemon saw, in memory that its process shares.
struct GpuCounts {
  uint64_t attaches = 0, batches = 0, releases = 0, wrong_releases = 0, detaches = 0, kept_leases = 0,
           open_sessions = 0;
  uint64_t hellos = 0, gpus = 0, fd_gpus = 0, transport = 0, ready_early = 0, local_rank = 0;
  char device[16] = {};
  uint8_t first_gpu[16] = {};
};

class GpuDaemon {
 public:
  // `script.memory` says how slots are shown; cuda_* ones are exported unless script.tamper_device makes them up.
  GpuDaemon(const FakeCuda& cuda, const std::string& socket, FakeScript script);
  GpuDaemon(const GpuDaemon&) = delete;
  GpuDaemon& operator=(const GpuDaemon&) = delete;
  ~GpuDaemon();  // SIGKILL

  pid_t pid() const { return pid_; }
  void kill();
  // Any process that has this object by fork.
  GpuCounts counts() const;
  // False: not within ten seconds.
  bool wait_until(const std::function<bool(const GpuCounts&)>& reached) const;

 private:
  struct Shared;
  [[noreturn]] void run(const FakeCuda& cuda, const std::string& socket, FakeScript script);
  Shared* shared_;
  pid_t pid_ = -1;
  const pid_t owner_;
};

}  // namespace spdld::test
