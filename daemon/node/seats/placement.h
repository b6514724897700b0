// Decides where a ring's slots lie, from the settings of the pipeline, the trainer and its launcher. A pure function;
// whether the daemon has that GPU is found out when the slots are made.
#pragma once

#include <optional>
#include <string>

#include "daemon/base/result.h"
#include "daemon/control/service.h"
#include "daemon/memory/cuda/gpus.h"

namespace spdld::node {

struct Placement {
  enum class Where : uint8_t { kHost, kPinned, kGpu };
  Where where = Where::kHost;
  // For kGpu: the GPU and the transport. The numbers of slots and bytes are not filled in.
  memory::DeviceRing ring;

  // Whether slots of `kind`, on `gpu`, are in the same memory.
  bool is_at(memory::MemoryKind kind, const memory::GpuUuid& gpu) const {
    const bool on_gpu = where == Where::kGpu;
    return on_gpu == memory::on_gpu(kind) && (!on_gpu || ring.gpu == gpu);
  }
};

// `device`: the pipeline's device, which the request's device replaces where it has one. Errors say what to do: kUsage,
// kUnsupported.
Result<Placement> placement_for(const std::string& device, const control::AttachRequest& request);

}  // namespace spdld::node
