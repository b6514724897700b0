// The GPU that an attach asks for, and the GPUs that this process sees. The driver is loaded here, and nowhere else.
#pragma once

#include <string>

#include "client/src/calls/outcome.h"
#include "proto/cuda/driver.h"

namespace spdld::client {

inline constexpr size_t kGpusMax = 64;  // told to the daemon

struct GpuRequest {
  std::string device;  // empty: the pipeline decides
  proto::Transport transport = proto::Transport::automatic;
  bool ready_early = false;  // by handles alone
  uint32_t local_rank = 0;
  const cuda::Driver* driver = nullptr;  // none: no GPU can be used, or no GPU is wanted
  std::string why_none;                  // the named fault, where a driver was looked for
};

// SPDLD_INVALID: the words are wrong. SPDLD_UNSUPPORTED: a GPU is demanded, and there is none. SPDLD_FORKED: CUDA was
// in use when this process was forked.
CallOutcome read_gpu_request(const spdld_attach_options& options, uint32_t local_rank, GpuRequest& request);

// The GPU of the request's local rank: that ordinal, or the only GPU that this process sees.
CallOutcome find_own_gpu(const GpuRequest& request, const cuda::Device*& device);
// The GPU of this UUID; nullptr: this process does not see it.
const cuda::Device* find_gpu(const GpuRequest& request, const cuda::abi::Uuid& uuid);

}  // namespace spdld::client
