// The part of NVIDIA's driver API that spdld calls, written down here from its published reference (CUDA Driver API,
// https://docs.nvidia.com/cuda/cuda-driver-api/), so that a build needs no toolkit. tests/cuda holds every type,
// constant and signature to cuda.h. Names are the driver's own without their CU prefix.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spdld::cuda::abi {

// CUresult, with only the values that the code tells apart. Any other number may come.
enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kNewerDriverNeeded = 36,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kMapFailed = 205,
  kEccUncorrectable = 214,
  kPeerAccessUnsupported = 217,
  kNvlinkUncorrectable = 220,
  kContained = 226,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kContextDestroyed = 709,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kTensorMemoryLeak = 721,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemDriverMismatch = 803,
  kDriverTooOldForGpu = 804,
  kMpsRpcFailure = 806,
  kMpsClientTerminated = 810,
  kStreamCaptureUnsupported = 900,
  kExternalDevice = 911,
  kUnknown = 999,
};

using Device = int;
using DevicePtr = unsigned long long;
using MemHandle = unsigned long long;  // CUmemGenericAllocationHandle
struct ContextObject;
struct StreamObject;
struct EventObject;
using Context = ContextObject*;
using Stream = StreamObject*;
using Event = EventObject*;
using HostFunction = void (*)(void*);

struct Uuid {
  std::array<char, 16> bytes;
};
// Both are opaque, and mean something on this machine alone.
struct IpcMemHandle {
  std::array<char, 64> reserved;
};
struct IpcEventHandle {
  std::array<char, 64> reserved;
};

struct MemLocation {  // CUmemLocation
  int type;
  int id;
};
struct MemAllocationProp {  // CUmemAllocationProp
  int type;
  int requested_handle_types;
  MemLocation location;
  void* win32_handle;
  struct {
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};
struct MemAccessDesc {  // CUmemAccessDesc
  MemLocation location;
  int flags;
};

// Stream handles that stand for a kind.
inline Stream legacy_stream() { return reinterpret_cast<Stream>(uintptr_t{1}); }
inline Stream per_thread_stream() { return reinterpret_cast<Stream>(uintptr_t{2}); }  // of the thread that calls

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventInterprocess = 4;
inline constexpr unsigned kIpcLazyEnablePeerAccess = 1;
inline constexpr unsigned kHostRegisterPortable = 1;

// CUdevice_attribute
inline constexpr int kAttributeComputeMode = 20;
inline constexpr int kAttributePciBus = 33;
inline constexpr int kAttributePciDevice = 34;
inline constexpr int kAttributePciDomain = 50;
inline constexpr int kAttributeVirtualMemory = 102;
inline constexpr int kAttributePosixFileHandles = 103;
inline constexpr int kAttributeRdma = 110;  // other devices may reach memory that cuMemCreate makes
inline constexpr int kAttributeMps = 133;   // contexts are shared through MPS; since CUDA 12
// CUcomputemode
inline constexpr int kComputeModeProhibited = 2;
inline constexpr int kComputeModeExclusiveProcess = 3;
// Constants for memory that cuMemCreate makes.
inline constexpr int kMemAllocationPinned = 1;
inline constexpr int kMemHandlePosixFile = 1;
inline constexpr int kMemLocationDevice = 1;
inline constexpr int kMemAccessReadWrite = 3;
inline constexpr int kMemGranularityMinimum = 0;
// CUstreamCaptureStatus
inline constexpr int kCaptureNone = 0;
inline constexpr int kCaptureActive = 1;
// CUstreamCaptureMode: which captures forbid a thread the calls that they do not see
inline constexpr int kCaptureModeRelaxed = 2;  // none
// cuGetProcAddress: streams given as 0 are the legacy default stream.
inline constexpr uint64_t kProcAddressLegacyStream = 1;

// Every entry: X(symbol, CUDA version of the variant meant, parameters). All return Result. Versions are written as for
// cuGetProcAddress: 1000 * major + 10 * minor.
#define SPDLD_CUDA_ENTRIES(X)                                                                                        \
  X(cuInit, 2000, (unsigned flags))                                                                                  \
  X(cuDriverGetVersion, 2020, (int* version))                                                                        \
  X(cuGetErrorName, 6000, (Result code, const char** name))                                                          \
  X(cuGetErrorString, 6000, (Result code, const char** text))                                                        \
  X(cuDeviceGetCount, 2000, (int* count))                                                                            \
  X(cuDeviceGet, 2000, (Device * device, int ordinal))                                                               \
  X(cuDeviceGetName, 2000, (char* name, int bytes, Device device))                                                   \
  X(cuDeviceGetUuid, 11040, (Uuid * uuid, Device device))                                                            \
  X(cuDeviceTotalMem, 3020, (size_t * bytes, Device device))                                                         \
  X(cuDeviceGetAttribute, 2000, (int* value, int attribute, Device device))                                          \
  X(cuDevicePrimaryCtxRetain, 7000, (Context * context, Device device))                                              \
  X(cuDevicePrimaryCtxRelease, 11000, (Device device))                                                               \
  X(cuDevicePrimaryCtxReset, 11000, (Device device))                                                                 \
  X(cuCtxPushCurrent, 4000, (Context context))                                                                       \
  X(cuCtxPopCurrent, 4000, (Context * context))                                                                      \
  X(cuMemGetInfo, 3020, (size_t * free, size_t * total))                                                             \
  X(cuMemAlloc, 3020, (DevicePtr * address, size_t bytes))                                                           \
  X(cuMemFree, 3020, (DevicePtr address))                                                                            \
  X(cuMemGetAddressRange, 3020, (DevicePtr * base, size_t * bytes, DevicePtr address))                               \
  X(cuMemHostRegister, 6050, (void* address, size_t bytes, unsigned flags))                                          \
  X(cuMemHostUnregister, 4000, (void* address))                                                                      \
  X(cuMemcpyHtoDAsync, 3020, (DevicePtr target, const void* source, size_t bytes, Stream stream))                    \
  X(cuMemcpyDtoHAsync, 3020, (void* target, DevicePtr source, size_t bytes, Stream stream))                          \
  X(cuMemcpyDtoDAsync, 3020, (DevicePtr target, DevicePtr source, size_t bytes, Stream stream))                      \
  X(cuStreamCreate, 2000, (Stream * stream, unsigned flags))                                                         \
  X(cuStreamDestroy, 4000, (Stream stream))                                                                          \
  X(cuStreamSynchronize, 2000, (Stream stream))                                                                      \
  X(cuStreamWaitEvent, 3020, (Stream stream, Event event, unsigned flags))                                           \
  X(cuStreamIsCapturing, 10000, (Stream stream, int* status))                                                        \
  X(cuThreadExchangeStreamCaptureMode, 10010, (int* mode))                                                           \
  X(cuLaunchHostFunc, 10000, (Stream stream, HostFunction function, void* argument))                                 \
  X(cuEventCreate, 2000, (Event * event, unsigned flags))                                                            \
  X(cuEventDestroy, 4000, (Event event))                                                                             \
  X(cuEventRecord, 2000, (Event event, Stream stream))                                                               \
  X(cuEventQuery, 2000, (Event event))                                                                               \
  X(cuEventSynchronize, 2000, (Event event))                                                                         \
  X(cuIpcGetEventHandle, 4010, (IpcEventHandle * handle, Event event))                                               \
  X(cuIpcOpenEventHandle, 4010, (Event * event, IpcEventHandle handle))                                              \
  X(cuIpcGetMemHandle, 4010, (IpcMemHandle * handle, DevicePtr address))                                             \
  X(cuIpcOpenMemHandle, 11000, (DevicePtr * address, IpcMemHandle handle, unsigned flags))                           \
  X(cuIpcCloseMemHandle, 4010, (DevicePtr address))                                                                  \
  X(cuMemGetAllocationGranularity, 10020, (size_t * bytes, const MemAllocationProp* prop, int option))               \
  X(cuMemCreate, 10020, (MemHandle * handle, size_t bytes, const MemAllocationProp* prop, unsigned long long flags)) \
  X(cuMemRelease, 10020, (MemHandle handle))                                                                         \
  X(cuMemExportToShareableHandle, 10020, (void* shared, MemHandle handle, int type, unsigned long long flags))       \
  X(cuMemImportFromShareableHandle, 10020, (MemHandle * handle, void* shared, int type))                             \
  X(cuMemAddressReserve, 10020,                                                                                      \
    (DevicePtr * address, size_t bytes, size_t alignment, DevicePtr wanted, unsigned long long flags))               \
  X(cuMemAddressFree, 10020, (DevicePtr address, size_t bytes))                                                      \
  X(cuMemMap, 10020, (DevicePtr address, size_t bytes, size_t offset, MemHandle handle, unsigned long long flags))   \
  X(cuMemUnmap, 10020, (DevicePtr address, size_t bytes))                                                            \
  X(cuMemSetAccess, 10020, (DevicePtr address, size_t bytes, const MemAccessDesc* access, size_t count))

// The table itself: a pointer to each entry, null while the driver is not loaded.
struct Entries {
#define SPDLD_CUDA_MEMBER(symbol, version, parameters) Result(*symbol) parameters = nullptr;
  SPDLD_CUDA_ENTRIES(SPDLD_CUDA_MEMBER)
#undef SPDLD_CUDA_MEMBER
};

}  // namespace spdld::cuda::abi
