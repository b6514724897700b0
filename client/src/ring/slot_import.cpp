#include "client/src/ring/slot_import.h"

#include <algorithm>

#include "client/src/gpu/gpu_fault.h"
#include "client/src/ring/gpu_slots.h"

namespace spdld::client {

namespace {

bool is_copy_on_write(const proto::Attached& answer) { return answer.access() == proto::Access::copy_on_write; }

CallOutcome import_host(const proto::Attached& answer, const std::vector<UniqueFd>& fds,
                        std::unique_ptr<Slots>& slots) {
  auto mapped = std::make_unique<HostSlots>(answer.slot_bytes());
  const CallOutcome outcome = mapped->map(fds, is_copy_on_write(answer));
  if (outcome.ok()) slots = std::move(mapped);
  return outcome;
}

CallOutcome import_pinned(const proto::Attached& answer, const std::vector<UniqueFd>& fds, const GpuRequest& gpus,
                          std::unique_ptr<Slots>& slots) {
  if (is_copy_on_write(answer)) {
    return failure(SPDLD_UNSUPPORTED,
                   "a rank with several readers cannot have pinned batches, since each reader has its own copies of "
                   "their pages: use device = \"cpu\"");
  }
  const cuda::Device* device = nullptr;
  CallOutcome outcome = find_own_gpu(gpus, device);
  if (!outcome.ok()) return outcome;
  try {
    auto pinned =
        std::make_unique<PinnedSlots>(cuda::Context::retain(*device, cuda::Context::Use::kByOne), answer.slot_bytes());
    outcome = pinned->map(fds, false);
    if (!outcome.ok()) return outcome;
    pinned->pin();
    slots = std::move(pinned);
    return {};
  } catch (const cuda::Fault& fault) {
    return outcome_of(fault);
  }
}

CallOutcome import_device(const Connection& connection, const proto::Attached& answer, const std::vector<UniqueFd>& fds,
                          const GpuRequest& gpus, std::unique_ptr<Slots>& slots) {
  const char* wrong = check_device_slots(answer, fds.size());
  cuda::abi::Uuid uuid = {};
  if (!answer.gpu() || answer.gpu()->size() != uuid.bytes.size()) wrong = "ATTACHED does not name its GPU";
  const bool by_handle = answer.memory() == proto::MemoryKind::cuda_ipc;
  if (answer.ready_early() && !(gpus.ready_early && by_handle))
    wrong = "batches that are not ready, which nobody asked for";
  if (wrong) return protocol_failure(connection, wrong);
  std::copy_n(answer.gpu()->begin(), uuid.bytes.size(), uuid.bytes.begin());
  const cuda::Device* device = find_gpu(gpus, uuid);
  if (!device) {
    return outcome_of(cuda::Fault(cuda::Cause::kGpuNotVisible, "the batches lie on GPU " + cuda::to_text(uuid) +
                                                                   ", which this process does not see"));
  }
  const proto::PeerCredentials daemon = proto::peer_credentials(connection.poll_fd());
  try {
    auto opened = std::make_unique<DeviceSlots>(cuda::Context::retain(*device),
                                                by_handle ? SPDLD_CUDA_HANDLE : SPDLD_CUDA_FD, answer.slot_bytes());
    opened->open(answer, fds);
    slots = std::move(opened);
    return {};
  } catch (const cuda::Fault& fault) {
    return explain_import(
        *gpus.driver, fault,
        {by_handle, device->is_slice, daemon.pid, daemon.uid, answer.ipc_namespace(), answer.pid_namespace()});
  }
}

}  // namespace

CallOutcome import_slots(const Connection& connection, const proto::Attached& answer, const std::vector<UniqueFd>& fds,
                         const GpuRequest& gpus, std::unique_ptr<Slots>& slots) {
  const bool on_gpu = answer.memory() == proto::MemoryKind::cuda_ipc || answer.memory() == proto::MemoryKind::cuda_vmm;
  if (answer.memory() > proto::MemoryKind::MAX) {
    return failure(SPDLD_UNSUPPORTED,
                   "the daemon offers batches in a kind of memory that this library does not know: use "
                   "device = \"cpu\", or a newer libspdld");
  }
  if (!on_gpu && fds.size() != answer.slot_count()) {
    return protocol_failure(connection, "ATTACHED does not have one memfd a slot");
  }
  if (answer.memory() == proto::MemoryKind::host) {
    return import_host(answer, fds, slots);
  }
  if (gpus.device == "cpu") return protocol_failure(connection, "memory of a GPU, where device = \"cpu\" was asked");
  if (!gpus.driver) return failure(SPDLD_UNSUPPORTED, gpus.why_none);
  return on_gpu ? import_device(connection, answer, fds, gpus, slots) : import_pinned(answer, fds, gpus, slots);
}

}  // namespace spdld::client
