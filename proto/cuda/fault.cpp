#include "proto/cuda/fault.h"

#include <iterator>

namespace spdld::cuda {
namespace {

struct Entry {
  Cause cause;
  std::string_view name;
  std::string_view advice;  // where the cause alone tells what to do
};

// In the order of Cause.
constexpr Entry kCauses[] = {
    {Cause::kNoDriver, "no-driver",
     "install NVIDIA's driver; a container gets it from its runtime (docker run --gpus all); without a GPU use "
     "device = \"cpu\""},
    {Cause::kDriverTooOld, "driver-too-old", "install NVIDIA's driver 470 (CUDA 11.4) or a later one"},
    {Cause::kNoGpu, "no-gpu",
     "see what nvidia-smi lists and whether CUDA_VISIBLE_DEVICES hides it; without a GPU use device = \"cpu\""},
    {Cause::kGpuNotVisible, "gpu-not-visible",
     "daemon and trainer must both see this GPU: compare their CUDA_VISIBLE_DEVICES, and their containers' GPUs"},
    {Cause::kExclusiveProcess, "exclusive-process",
     "let several processes use the GPU (nvidia-smi -c 0, as root), or run NVIDIA's MPS"},
    {Cause::kOutOfMemory, "out-of-memory",
     "use fewer or smaller batches in flight (prefetch_depth, batch.size), or leave the GPU more free memory"},
    {Cause::kOtherNamespace, "other-namespace",
     "run daemon and trainer in the same IPC and PID namespaces (docker run --ipc=host --pid=host), or use the fd "
     "transport"},
    {Cause::kOtherUser, "other-user", "run daemon and trainer as the same user, or use host memory (device = \"cpu\")"},
    {Cause::kMig, "mig", "use a whole GPU, or host memory (device = \"cpu\" or \"pinned\")"},
    {Cause::kSameProcess, "same-process", "attach from a process that did not make the memory"},
    {Cause::kForked, "forked",
     "start this process with the spawn start method (multiprocessing.set_start_method(\"spawn\")), or first use CUDA "
     "after the fork"},
    {Cause::kContextLost, "context-lost",
     "attach again; if that fails too, restart spdld (jobs outlive that), or the trainer if its own CUDA "
     "calls fail; the kernel's log (dmesg: NVRM Xid) says more"},
    {Cause::kUnsupported, "unsupported", ""},
    {Cause::kFailed, "failed", ""},
};

constexpr bool is_in_order() {
  for (size_t index = 0; index < std::size(kCauses); ++index)
    if (kCauses[index].cause != static_cast<Cause>(index)) return false;
  return std::size(kCauses) == static_cast<size_t>(Cause::kFailed) + 1;
}
static_assert(is_in_order());

const Entry& entry_of(Cause cause) { return kCauses[static_cast<size_t>(cause)]; }

std::string sentence_of(Cause cause, const std::string& sentence) {
  const Entry& entry = entry_of(cause);
  std::string text = std::string(entry.name) + ": " + sentence;
  if (!entry.advice.empty()) text.append("; ").append(entry.advice);
  return text;
}

}  // namespace

std::string_view name_of(Cause cause) { return entry_of(cause).name; }
std::string_view advice_of(Cause cause) { return entry_of(cause).advice; }

Cause cause_of(abi::Result code) {
  switch (code) {
    case abi::kOutOfMemory:
      return Cause::kOutOfMemory;
    case abi::kNotInitialized:
      return Cause::kForked;
    case abi::kStubLibrary:
    case abi::kSystemDriverMismatch:
      return Cause::kNoDriver;
    case abi::kNewerDriverNeeded:
    case abi::kDriverTooOldForGpu:
      return Cause::kDriverTooOld;
    case abi::kDeviceUnavailable:
      return Cause::kExclusiveProcess;
    case abi::kNoDevice:
      return Cause::kNoGpu;
    case abi::kInvalidDevice:
      return Cause::kGpuNotVisible;
    case abi::kPeerAccessUnsupported:
    case abi::kNotSupported:
    case abi::kStreamCaptureUnsupported:
      return Cause::kUnsupported;
    case abi::kContextDestroyed:
      return Cause::kContextLost;
    default:
      return is_sticky(code) ? Cause::kContextLost : Cause::kFailed;
  }
}

bool is_sticky(abi::Result code) {
  switch (code) {
    case abi::kEccUncorrectable:
    case abi::kNvlinkUncorrectable:
    case abi::kContained:
    case abi::kIllegalAddress:
    case abi::kLaunchTimeout:
    case abi::kAssert:
    case abi::kHardwareStackError:
    case abi::kIllegalInstruction:
    case abi::kMisalignedAddress:
    case abi::kInvalidAddressSpace:
    case abi::kInvalidPc:
    case abi::kLaunchFailed:
    case abi::kTensorMemoryLeak:
    case abi::kMpsRpcFailure:
    case abi::kMpsClientTerminated:
    case abi::kExternalDevice:
      return true;
    default:
      return false;
  }
}

Fault::Fault(Cause cause, const std::string& sentence, abi::Result code)
    : std::runtime_error(sentence_of(cause, sentence)), cause_(cause), code_(code) {}

}  // namespace spdld::cuda
