// NVIDIA's driver, looked for at run time: one binary runs without a driver, with a driver and no GPU, and with GPUs.
// Loaded at the first get(), and never unloaded. A driver that is not there or does not start is tried again: kernel
// modules may be loaded, and devices shown, after this process has begun. Any thread.
#pragma once

#include <string>
#include <vector>

#include "proto/cuda/abi.h"
#include "proto/cuda/fault.h"

namespace spdld::cuda {

// One GPU (or one slice of it) as this process sees it: CUDA_VISIBLE_DEVICES is honoured by the driver.
struct Device {
  int ordinal = 0;
  abi::Device handle = 0;
  abi::Uuid uuid = {};
  std::string name;
  uint64_t bytes = 0;        // of its memory
  bool is_slice = false;     // a part of a GPU (MIG), with a UUID of its own
  bool shares_fds = false;   // memory can be exported as a file descriptor
  bool allows_rdma = false;  // memory that is exported so can be reached by other devices
  std::string pci;           // "0000:1b:00.0"; empty: not told
  int compute_mode = 0;      // CUcomputemode, when it was looked at
};

// "GPU-00000000-0000-0000-0000-000000000000", or "MIG-..." for a slice
std::string to_text(const abi::Uuid& uuid, bool is_slice = false);
inline std::string uuid_text(const Device& device) { return to_text(device.uuid, device.is_slice); }

class Driver {
 public:
  // A driver that could not be used is tried again when somebody asks after this time.
  static constexpr uint32_t kRetry_ms = 1'000;
  // Loads and initialises the driver. Throws Fault: kNoDriver, kDriverTooOld, kNoGpu, kForked (a parent process loaded
  // the driver), or the cause of cuInit's error; further calls throw the same until it is tried again. A driver that
  // is too old stays so.
  static const Driver& get();
  // As get(), without the exception: nullptr instead, and `why` (if given) gets the exception's sentence.
  static const Driver* find(std::string* why = nullptr);

  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const abi::Entries& call() const { return entries_; }
  const std::vector<Device>& devices() const { return devices_; }
  int version() const { return version_; }  // 12040 is CUDA 12.4

  // Throws Fault where `code` is not kSuccess: "<cause>: <what> (CUDA_ERROR_..., <text>)", and the cause's advice.
  void check(abi::Result code, const std::string& what) const;
  // "CUDA_ERROR_OUT_OF_MEMORY, out of memory"
  std::string describe(abi::Result code) const;
  // Whether this process is a forked child of the process that loaded the driver. The child must not call the driver.
  bool is_forked() const;

 private:
  struct Loaded;
  struct Retries;
  static const Loaded& loaded();
  static const Driver& try_again(const Loaded& first);
  Driver() = default;
  void load_entries();
  void initialize() const;
  void list_devices();

  abi::Entries entries_;
  int version_ = 0;
  std::vector<Device> devices_;
};

}  // namespace spdld::cuda
