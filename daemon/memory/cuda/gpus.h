// The node's GPUs as the daemon uses them: rings of device slots, pinned staging memory, copies. No kernels are run:
// without MPS a second process's kernels would share the GPU with the trainer's in time slices.
//
//   decode threads -> staging (pinned, shared by all rings of a GPU) -> copy stream -> device slot -> event -> READY
//
// Threads: one set-up thread looks for the driver, opens GPUs, makes and frees memory, since all of that may take long.
// Each GPU has one transfer thread, which issues copies and waits for their events. Calls here never block.
//
// A GPU is opened (its primary context retained) with its first ring, and closed a while after its last. After an error
// that the driver can't recover from, all its rings are lost and say so; the next ring opens the GPU afresh.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/memory/slot_memory.h"

namespace spdld::memory {

using GpuUuid = std::array<uint8_t, 16>;

enum class Transport : uint8_t { kAuto, kHandle, kFd };

// A ring's slots, as a trainer asks for them.
struct DeviceRing {
  GpuUuid gpu = {};
  bool client_shares_fds = false;  // the trainer's side of the fd transport
  Transport transport = Transport::kAuto;
  bool ready_early = false;  // by handles alone: the event is a handle as well
  size_t slots = 0;
  uint64_t slot_bytes = 0;
  uint32_t owner = 0;  // the trainer's uid: staging memory that held another user's batches is not used
};

struct GpuReport {
  std::string uuid, name;
  std::string state;   // "closed": no context; "open"; "failed": until the next ring opens it afresh
  std::string reason;  // of the last failure
  uint64_t total_bytes = 0, free_bytes = 0;  // free: as of the report before, 0 where it is not known
  uint64_t context_bytes = 0;                // memory of the daemon's context itself; 0: not known
  uint64_t slots = 0, slot_bytes = 0;        // allocated, in all rings
  uint64_t staging_bytes = 0, staging_used_bytes = 0;
  uint64_t copies = 0, copied_bytes = 0, copy_busy_ns = 0;  // busy: from the issue of a copy to its event
  uint64_t resets = 0;                                      // how often it was opened afresh after a failure
};

struct GpusReport {
  std::string driver;  // "13.0"; empty: none
  std::string reason;  // why there is no driver: "no-driver: ..."
  std::vector<GpuReport> gpus;
};

class Gpus {
 public:
  struct Settings {
    bool enabled = true;
    uint64_t slot_bytes_max = 4ull << 30;     // of one GPU's slots
    uint64_t staging_bytes_max = 1ull << 30;  // of pinned memory for one GPU
    uint32_t idle_ms = 60'000;                // a GPU without slots is closed after this
    // Called once, on the set-up thread: a GPU has failed, and this process can't open it afresh. Rings on it are
    // answered with kStopping from then on.
    std::function<void(const std::string& why)> hopeless = {};
    std::filesystem::path sysfs = "/sys";
  };

  explicit Gpus(const Settings& settings);
  // Precondition: no slot is left, or stop() was called.
  ~Gpus();
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  // `done` is called once: on the set-up thread, or within this call after stop() and where too many requests wait
  // (kLimit). The errors of GPUs are named (proto/cuda/fault.h): kUnsupported, kLimit, and kInternal where the driver
  // failed.
  using Done = std::function<void(Result<SlotMemories>)>;
  void make_slots(const DeviceRing& ring, Done done);

  // Ends the threads. Queued requests are answered with kStopping; copies under way are waited for, at most 5 s a GPU.
  // Slots that are destroyed later free their memory on the destroying thread. Never call it in a callback.
  void stop();

  GpusReport report() const;

 private:
  class Setup;
  std::unique_ptr<Setup> setup_;
};

}  // namespace spdld::memory
