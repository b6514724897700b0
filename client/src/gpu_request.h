// What an attach asks of GPUs, and which of them this process sees. The driver is loaded here, and nowhere else.
#pragma once

#include <string>

#include "client/src/outcome.h"
#include "proto/cuda/driver.h"

namespace spdld::client {

inline constexpr size_t kGpusMax = 64;  // told to the daemon

struct GpuRequest {
  std::string device;  // empty: as the pipeline says
  proto::Transport transport = proto::Transport::automatic;
  bool ready_early = false;
  uint32_t local_rank = 0;
  const cuda::Driver* driver = nullptr;  // none: no GPU can be used, or none is to be
  std::string why_none;                  // the named fault, where one was looked for
};

// SPDLD_INVALID: the words are wrong. SPDLD_UNSUPPORTED: a GPU is demanded, and there is none. SPDLD_FORKED: CUDA was
// in use when this process was forked.
Outcome read_gpu_request(const spdld_attach_options& options, uint32_t local_rank, GpuRequest& request);

// The GPU of the request's local rank: that ordinal, or the only one that this process sees.
Outcome find_own_gpu(const GpuRequest& request, const cuda::Device*& device);
// nullptr: this process does not see it.
const cuda::Device* find_gpu(const GpuRequest& request, const cuda::abi::Uuid& uuid);

}  // namespace spdld::client
