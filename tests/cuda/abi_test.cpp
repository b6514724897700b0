// Holds what proto/cuda/abi.h writes down to NVIDIA's own headers, where a build finds them. Constants and layouts are
// compared by value; a signature of cudaTypedefs.h, in the variant of the same version, has to be ours once its types
// are replaced by ours.
#include "proto/cuda/abi.h"

// Taken before the driver's headers, which define some of the symbols as macros.
namespace spdld::cuda::abi {
#define SPDLD_ENTRY_TYPE(symbol, version, parameters) using TypeOf_##symbol = decltype(Entries::symbol);
SPDLD_CUDA_ENTRIES(SPDLD_ENTRY_TYPE)
#undef SPDLD_ENTRY_TYPE
}  // namespace spdld::cuda::abi

#include <cuda.h>
#include <cudaTypedefs.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <type_traits>

namespace {

namespace abi = spdld::cuda::abi;

// Their types -> ours. An enumeration is an int to us.
template <class T>
struct Ours {
  using Type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <class T>
struct Ours<const T> {
  using Type = const typename Ours<T>::Type;
};
template <class T>
struct Ours<T*> {
  using Type = typename Ours<T>::Type*;
};
template <class Returned, class... Parameters>
struct Ours<Returned(Parameters...)> {
  using Type = typename Ours<Returned>::Type(typename Ours<Parameters>::Type...);
};
#define SPDLD_OURS(theirs, ours) \
  template <>                    \
  struct Ours<theirs> {          \
    using Type = ours;           \
  };
SPDLD_OURS(CUresult, abi::Result)
SPDLD_OURS(CUctx_st, abi::ContextObject)
SPDLD_OURS(CUstream_st, abi::StreamObject)
SPDLD_OURS(CUevent_st, abi::EventObject)
SPDLD_OURS(CUuuid, abi::Uuid)
SPDLD_OURS(CUipcMemHandle, abi::IpcMemHandle)
SPDLD_OURS(CUipcEventHandle, abi::IpcEventHandle)
SPDLD_OURS(CUmemLocation, abi::MemLocation)
SPDLD_OURS(CUmemAllocationProp, abi::MemAllocationProp)
SPDLD_OURS(CUmemAccessDesc, abi::MemAccessDesc)
#undef SPDLD_OURS

template <class Mine, class Theirs>
constexpr bool is_like =
    sizeof(Mine) == sizeof(Theirs) &&
    alignof(Mine) == alignof(Theirs) && std::is_trivially_copyable_v<Mine>&& std::is_standard_layout_v<Mine>;

TEST_CASE("every entry has the signature of the driver's variant of that version"){
#define SPDLD_CHECK_ENTRY(symbol, version, parameters)                                    \
  {                                                                                       \
    INFO(#symbol " of " #version);                                                        \
    CHECK((std::is_same_v<Ours<PFN_##symbol##_v##version>::Type, abi::TypeOf_##symbol>)); \
  }
    SPDLD_CUDA_ENTRIES(SPDLD_CHECK_ENTRY)
#undef SPDLD_CHECK_ENTRY
}

TEST_CASE("every type has the size, the alignment and the offsets of the driver's") {
  CHECK((is_like<abi::Result, CUresult>));
  CHECK((std::is_same_v<abi::Device, CUdevice>));
  CHECK((std::is_same_v<abi::DevicePtr, CUdeviceptr>));
  CHECK((std::is_same_v<abi::MemHandle, CUmemGenericAllocationHandle>));
  CHECK((std::is_same_v<abi::HostFunction, CUhostFn>));
  CHECK((is_like<abi::Uuid, CUuuid>));
  CHECK((is_like<abi::IpcMemHandle, CUipcMemHandle>));
  CHECK((is_like<abi::IpcEventHandle, CUipcEventHandle>));

  CHECK((is_like<abi::MemLocation, CUmemLocation>));
  CHECK(offsetof(abi::MemLocation, type) == offsetof(CUmemLocation, type));
  CHECK(offsetof(abi::MemLocation, id) == offsetof(CUmemLocation, id));

  CHECK((is_like<abi::MemAllocationProp, CUmemAllocationProp>));
  CHECK(offsetof(abi::MemAllocationProp, type) == offsetof(CUmemAllocationProp, type));
  CHECK(offsetof(abi::MemAllocationProp, requested_handle_types) ==
        offsetof(CUmemAllocationProp, requestedHandleTypes));
  CHECK(offsetof(abi::MemAllocationProp, location) == offsetof(CUmemAllocationProp, location));
  CHECK(offsetof(abi::MemAllocationProp, win32_handle) == offsetof(CUmemAllocationProp, win32HandleMetaData));
  CHECK(offsetof(abi::MemAllocationProp, flags) == offsetof(CUmemAllocationProp, allocFlags));
  CHECK(sizeof(abi::MemAllocationProp::flags) == sizeof(CUmemAllocationProp::allocFlags));
  CHECK(offsetof(abi::MemAllocationProp, flags.usage) == offsetof(CUmemAllocationProp, allocFlags.usage));

  CHECK((is_like<abi::MemAccessDesc, CUmemAccessDesc>));
  CHECK(offsetof(abi::MemAccessDesc, location) == offsetof(CUmemAccessDesc, location));
  CHECK(offsetof(abi::MemAccessDesc, flags) == offsetof(CUmemAccessDesc, flags));
}

struct Pair {
  const char* name;
  long long ours, theirs;
};
#define SPDLD_PAIR(ours, theirs) \
  { #theirs, static_cast < long long>(abi::ours), static_cast < long long>(theirs) }

TEST_CASE("every result has the driver's number") {
  const Pair pairs[] = {
      SPDLD_PAIR(kSuccess, CUDA_SUCCESS),
      SPDLD_PAIR(kInvalidValue, CUDA_ERROR_INVALID_VALUE),
      SPDLD_PAIR(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY),
      SPDLD_PAIR(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED),
      SPDLD_PAIR(kDeinitialized, CUDA_ERROR_DEINITIALIZED),
      SPDLD_PAIR(kStubLibrary, CUDA_ERROR_STUB_LIBRARY),
      SPDLD_PAIR(kNewerDriverNeeded, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER),
      SPDLD_PAIR(kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE),
      SPDLD_PAIR(kNoDevice, CUDA_ERROR_NO_DEVICE),
      SPDLD_PAIR(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE),
      SPDLD_PAIR(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT),
      SPDLD_PAIR(kMapFailed, CUDA_ERROR_MAP_FAILED),
      SPDLD_PAIR(kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE),
      SPDLD_PAIR(kPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED),
      SPDLD_PAIR(kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE),
      SPDLD_PAIR(kContained, CUDA_ERROR_CONTAINED),
      SPDLD_PAIR(kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM),
      SPDLD_PAIR(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE),
      SPDLD_PAIR(kNotFound, CUDA_ERROR_NOT_FOUND),
      SPDLD_PAIR(kNotReady, CUDA_ERROR_NOT_READY),
      SPDLD_PAIR(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS),
      SPDLD_PAIR(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT),
      SPDLD_PAIR(kContextDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED),
      SPDLD_PAIR(kAssert, CUDA_ERROR_ASSERT),
      SPDLD_PAIR(kHostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED),
      SPDLD_PAIR(kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR),
      SPDLD_PAIR(kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION),
      SPDLD_PAIR(kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS),
      SPDLD_PAIR(kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE),
      SPDLD_PAIR(kInvalidPc, CUDA_ERROR_INVALID_PC),
      SPDLD_PAIR(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED),
      SPDLD_PAIR(kTensorMemoryLeak, CUDA_ERROR_TENSOR_MEMORY_LEAK),
      SPDLD_PAIR(kMpsRpcFailure, CUDA_ERROR_MPS_RPC_FAILURE),
      SPDLD_PAIR(kMpsClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED),
      SPDLD_PAIR(kExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE),
      SPDLD_PAIR(kNotPermitted, CUDA_ERROR_NOT_PERMITTED),
      SPDLD_PAIR(kNotSupported, CUDA_ERROR_NOT_SUPPORTED),
      SPDLD_PAIR(kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
      SPDLD_PAIR(kDriverTooOldForGpu, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE),
      SPDLD_PAIR(kStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
      SPDLD_PAIR(kUnknown, CUDA_ERROR_UNKNOWN),
  };
  for (const Pair& pair : pairs) {
    INFO(pair.name);
    CHECK(pair.ours == pair.theirs);
  }
}

TEST_CASE("every flag, attribute and kind has the driver's number") {
  const Pair pairs[] = {
      SPDLD_PAIR(kStreamNonBlocking, CU_STREAM_NON_BLOCKING),
      SPDLD_PAIR(kEventBlockingSync, CU_EVENT_BLOCKING_SYNC),
      SPDLD_PAIR(kEventDisableTiming, CU_EVENT_DISABLE_TIMING),
      SPDLD_PAIR(kEventInterprocess, CU_EVENT_INTERPROCESS),
      SPDLD_PAIR(kIpcLazyEnablePeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
      SPDLD_PAIR(kHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE),
      SPDLD_PAIR(kAttributeComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE),
      SPDLD_PAIR(kAttributeVirtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
      SPDLD_PAIR(kAttributePosixFileHandles, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
      SPDLD_PAIR(kAttributeMps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED),
      SPDLD_PAIR(kAttributePciBus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
      SPDLD_PAIR(kAttributePciDevice, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID),
      SPDLD_PAIR(kAttributePciDomain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
      SPDLD_PAIR(kAttributeRdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED),
      SPDLD_PAIR(kComputeModeProhibited, CU_COMPUTEMODE_PROHIBITED),
      SPDLD_PAIR(kComputeModeExclusiveProcess, CU_COMPUTEMODE_EXCLUSIVE_PROCESS),
      SPDLD_PAIR(kMemAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED),
      SPDLD_PAIR(kMemHandlePosixFile, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
      SPDLD_PAIR(kMemLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE),
      SPDLD_PAIR(kMemAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
      SPDLD_PAIR(kMemGranularityMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      SPDLD_PAIR(kCaptureNone, CU_STREAM_CAPTURE_STATUS_NONE),
      SPDLD_PAIR(kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE),
      SPDLD_PAIR(kCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED),
      SPDLD_PAIR(kProcAddressLegacyStream, CU_GET_PROC_ADDRESS_LEGACY_STREAM),
  };
  for (const Pair& pair : pairs) {
    INFO(pair.name);
    CHECK(pair.ours == pair.theirs);
  }
  CHECK(reinterpret_cast<uintptr_t>(abi::legacy_stream()) == reinterpret_cast<uintptr_t>(CU_STREAM_LEGACY));
  CHECK(reinterpret_cast<uintptr_t>(abi::per_thread_stream()) == reinterpret_cast<uintptr_t>(CU_STREAM_PER_THREAD));
}

}  // namespace
