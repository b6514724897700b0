// A test's side of the fake driver: a libcuda.so.1 (and a libnvidia-ml.so.1) over memfds, for machines without a GPU.
// It has the entries of proto/cuda/abi.h, in this process and in every process that inherits its environment; they
// share one folder of state. It really is asynchronous: a stream is a thread, copies take a while, and memory that is
// not copied yet reads as 0xC0 to 0xFF. It keeps a ledger of each process's objects, and writes down every breach of
// the rules:
//
//   Memory freed before it was closed, opened after it was freed, or freed twice.
//   Staging memory changed, unregistered or unmapped while its copy was under way.
//   A slot overwritten while an importer's stream still uses it.
//   An event, stream or context used after its end, an event recorded on a capturing stream.
//   A driver's call inside a host function.
//
//   A call that a capture of a stream, on this or another thread, forbids.
//
// Each thread has a default stream of its own; it and other blocking streams wait for the legacy default stream's work,
// and it for theirs. What a process recorded in an event it shares does not complete once the process is dead.
//
// libcuda.so.1 has one entry more, int spdld_fake_cuda_set_capturing(CUstream, int), in place of cuStreamBeginCapture()
// and cuStreamEndCapture(): see exports.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::test {

struct FakeCudaOptions {
  int devices = 1;  // 0: a driver without a GPU
  uint64_t device_bytes = 1ull << 30;
  bool exclusive_process = false;
  bool mig = false;                  // the devices are slices: neither transport works, unless mig_shares says so
  bool shares_fds = true;            // false: no VMM file descriptors
  bool old_driver = false;           // CUDA 11.0: a library of its own, without cuGetProcAddress and cuDeviceGetUuid_v2
  uint32_t copy_us = 200;            // how long a copy takes
  bool tells_imported_size = false;  // cuMemGetAddressRange knows memory that was opened by a handle
  enum class MigShares : uint8_t { kNothing, kHandles, kAll } mig_shares = MigShares::kNothing;
  bool rdma = true;  // memory may be made for other devices' access; false: the flag is refused

  bool shares_handles() const { return !mig || mig_shares != MigShares::kNothing; }
  bool makes_fds() const { return shares_fds && (!mig || mig_shares == MigShares::kAll); }
};

// The objects of living processes. The kernel takes back a killed process's objects, so they are no leak.
struct FakeCudaLive {
  uint64_t contexts = 0, streams = 0, events = 0, allocations = 0, imports = 0, registrations = 0, device_bytes = 0;
};

class FakeCuda {
 public:
  // Makes the folder; nothing of this process's environment changes.
  explicit FakeCuda(const FakeCudaOptions& options = {});
  ~FakeCuda();  // removes it
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  // The environment for a process that uses the fake driver: LD_LIBRARY_PATH and SPDLD_FAKE_CUDA (the folder).
  std::map<std::string, std::string> environment() const;
  // Sets the same in this process, before its first use of the driver; once in a process. For a child after fork(), or
  // a test program that talks to one fake driver all its life.
  void use_here() const;
  const std::filesystem::path& folder() const { return folder_; }

  // From now on the call number `nth` (from 1, counted from now) of `symbol` ("cuMemAlloc") fails with `code` in
  // process `pid` (0: in any); `ever_after`: all later calls of `symbol` fail, too. Sticky codes poison the context
  // until it is reset.
  void inject(std::string_view symbol, int code, uint64_t nth = 1, bool ever_after = false, pid_t pid = 0);
  void clear_faults();
  // How often the faults injected so far have struck.
  uint64_t struck() const;

  // Calls of `symbol` so far, over all processes.
  uint64_t calls(std::string_view symbol) const;
  uint64_t rdma_allocations() const;            // so far, made with the flag for access by other devices
  FakeCudaLive live(pid_t pid = 0) const;       // of one process, or of all that live
  uint64_t used_bytes(int device = 0) const;    // what cuMemGetInfo counts as used
  std::vector<std::string> violations() const;  // a sentence each, with the pid and the entry

 private:
  struct State;
  std::filesystem::path folder_;
  std::unique_ptr<State> state_;  // the shared ledger, mapped
};

}  // namespace spdld::test
