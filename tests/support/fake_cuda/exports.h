// The library's exports, under the real library's names: symbol as cuGetProcAddress() knows it, exported name.
#pragma once

#include <cstdint>
#include <type_traits>

#include "proto/cuda/abi.h"

// clang-format off
#define SPDLD_FAKE_EXPORTS(X)                                                                                         \
  X(cuInit, cuInit) X(cuDriverGetVersion, cuDriverGetVersion) X(cuGetErrorName, cuGetErrorName)                       \
  X(cuGetErrorString, cuGetErrorString) X(cuDeviceGetCount, cuDeviceGetCount) X(cuDeviceGet, cuDeviceGet)             \
  X(cuDeviceGetName, cuDeviceGetName) X(cuDeviceGetUuid, cuDeviceGetUuid_v2) X(cuDeviceTotalMem, cuDeviceTotalMem_v2) \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                 \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)                                                          \
  X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2) X(cuCtxPushCurrent, cuCtxPushCurrent_v2)                     \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2) X(cuMemGetInfo, cuMemGetInfo_v2) X(cuMemAlloc, cuMemAlloc_v2)                \
  X(cuMemFree, cuMemFree_v2) X(cuMemGetAddressRange, cuMemGetAddressRange_v2)                                         \
  X(cuMemHostRegister, cuMemHostRegister_v2) X(cuMemHostUnregister, cuMemHostUnregister)                              \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                               \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                                                                          \
  X(cuStreamCreate, cuStreamCreate) X(cuStreamDestroy, cuStreamDestroy_v2)                                            \
  X(cuStreamSynchronize, cuStreamSynchronize) X(cuStreamWaitEvent, cuStreamWaitEvent)                                 \
  X(cuStreamIsCapturing, cuStreamIsCapturing) X(cuLaunchHostFunc, cuLaunchHostFunc) X(cuEventCreate, cuEventCreate)   \
  X(cuEventDestroy, cuEventDestroy_v2) X(cuEventRecord, cuEventRecord) X(cuEventQuery, cuEventQuery)                  \
  X(cuEventSynchronize, cuEventSynchronize) X(cuIpcGetEventHandle, cuIpcGetEventHandle)                               \
  X(cuIpcOpenEventHandle, cuIpcOpenEventHandle) X(cuIpcGetMemHandle, cuIpcGetMemHandle)                               \
  X(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2) X(cuIpcCloseMemHandle, cuIpcCloseMemHandle)                            \
  X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity) X(cuMemCreate, cuMemCreate)                         \
  X(cuMemRelease, cuMemRelease) X(cuMemExportToShareableHandle, cuMemExportToShareableHandle)                         \
  X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle) X(cuMemAddressReserve, cuMemAddressReserve)       \
  X(cuMemAddressFree, cuMemAddressFree) X(cuMemMap, cuMemMap) X(cuMemUnmap, cuMemUnmap)                               \
  X(cuMemSetAccess, cuMemSetAccess)                                                                                   \
  X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)
// clang-format on

#define SPDLD_FAKE_EXPORTED extern "C" __attribute__((visibility("default")))

// Each with the signature of its entry: a definition that differs does not compile.
#define SPDLD_FAKE_DECLARE(symbol, exported)                                                     \
  using Signature_##symbol = std::remove_pointer_t<decltype(spdld::cuda::abi::Entries::symbol)>; \
  SPDLD_FAKE_EXPORTED Signature_##symbol exported;
SPDLD_FAKE_EXPORTS(SPDLD_FAKE_DECLARE)
#undef SPDLD_FAKE_DECLARE

// The version of CUDA 12.0, and the version of 11.3. Both are hidden in the library of an old driver.
SPDLD_FAKE_EXPORTED spdld::cuda::abi::Result cuGetProcAddress_v2(const char* symbol, void** entry, int version,
                                                                 uint64_t flags, int* status);
SPDLD_FAKE_EXPORTED spdld::cuda::abi::Result cuGetProcAddress(const char* symbol, void** entry, int version,
                                                              uint64_t flags);

// For programs in other languages. They are not in the table. A capture gives no graph.
SPDLD_FAKE_EXPORTED spdld::cuda::abi::Result cuStreamBeginCapture_v2(spdld::cuda::abi::Stream stream, int mode);
SPDLD_FAKE_EXPORTED spdld::cuda::abi::Result cuStreamEndCapture(spdld::cuda::abi::Stream stream, void** graph);

// No entry of NVIDIA's: stands for cuStreamBeginCapture() and cuStreamEndCapture(). `capturing`: 0 ends the stream's
// capture; 1 begins one in global mode, 2 in thread-local mode, 3 in relaxed mode. 0: done; else the driver's result.
SPDLD_FAKE_EXPORTED int spdld_fake_cuda_set_capturing(void* stream, int capturing);
