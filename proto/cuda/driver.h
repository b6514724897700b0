// NVIDIA's driver, looked for at run time: one binary runs without a driver, with a driver and no GPU, and with GPUs.
// Loaded once a process, at the first get(), and never unloaded. Any thread.
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
  uint64_t bytes = 0;       // of its memory
  bool is_slice = false;    // a part of a GPU (MIG), with a UUID of its own
  bool shares_fds = false;  // memory can be exported as a file descriptor
  int compute_mode = 0;     // CUcomputemode, when it was looked at
};

// "GPU-00000000-0000-0000-0000-000000000000"
std::string to_text(const abi::Uuid& uuid);

class Driver {
 public:
  // Loads and initialises the driver once. Throws Fault: kNoDriver, kDriverTooOld, kNoGpu, kForked (a parent process
  // loaded the driver), or the cause of cuInit's error; every further call throws the same.
  static const Driver& get();
  // The same without the exception: nullptr instead, and `why` (if given) gets the sentence.
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
  static const Loaded& loaded();
  Driver() = default;
  void load_entries();
  void initialize() const;
  void list_devices();

  abi::Entries entries_;
  int version_ = 0;
  std::vector<Device> devices_;
};

}  // namespace spdld::cuda
