// Start, devices, contexts, and the table of entries.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/support/fake_cuda/exports.h"
#include "tests/support/fake_cuda/process.h"

using namespace spdld::test::fake;  // NOLINT: exports are global
using abi::Result;
using spdld::test::FakeCudaOptions;

namespace {

constexpr int kVersion = 12040, kOldVersion = 11000;
constexpr int kAttributeUnifiedAddressing = 41;

int driver_version() { return ledger() && ledger()->options().old_driver ? kOldVersion : kVersion; }

bool is_device(abi::Device device) { return device >= 0 && static_cast<size_t>(device) < process()->visible.size(); }

struct Code {
  int code;
  const char *name, *text;
};
constexpr Code kCodes[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "tensor memory not completely freed"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE", "MPS client failed to communicate with the MPS server"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS client has been terminated by the server"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", "an async error has occured in external entity outside of CUDA"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Code* code_of(Result code) {
  const auto* found =
      std::find_if(std::begin(kCodes), std::end(kCodes), [&](const Code& one) { return one.code == code; });
  return found == std::end(kCodes) ? nullptr : found;
}

struct Export {
  const char* symbol;
  int version;
  void* entry;
};

const Export* export_of(const char* symbol) {
#define SPDLD_FAKE_VERSION(symbol, version, parameters) constexpr int version_of_##symbol = version;
  SPDLD_CUDA_ENTRIES(SPDLD_FAKE_VERSION)
#undef SPDLD_FAKE_VERSION
#define SPDLD_FAKE_ROW(symbol, exported) {#symbol, version_of_##symbol, reinterpret_cast<void*>(&exported)},
  static const Export kExports[] = {SPDLD_FAKE_EXPORTS(SPDLD_FAKE_ROW)};
#undef SPDLD_FAKE_ROW
  static_assert(std::size(kExports) + static_cast<size_t>(Symbol::kCount) - static_cast<size_t>(Symbol::nvmlInit_v2) ==
                kSymbols);
  for (const Export& one : kExports)
    if (std::strcmp(one.symbol, symbol) == 0) return &one;
  return nullptr;
}

}  // namespace

Result cuGetProcAddress_v2(const char* symbol, void** entry, int version, uint64_t, int* status) {
  if (!symbol || !entry) return abi::kInvalidValue;
  *entry = nullptr;
  const Export* found = export_of(symbol);
  // 0: found; 1: no such symbol; 2: none in a version as old as the one asked for, or the driver is older than it.
  const bool fits = found && found->version <= version && found->version <= driver_version();
  if (status) *status = fits ? 0 : found ? 2 : 1;
  if (!fits) return abi::kNotFound;
  *entry = found->entry;
  return abi::kSuccess;
}

Result cuGetProcAddress(const char* symbol, void** entry, int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, entry, version, flags, nullptr);
}

Result cuInit(unsigned flags) {
  if (const auto refused = begin(Symbol::cuInit, false)) return *refused;
  if (flags != 0) return abi::kInvalidValue;
  if (is_forked()) return abi::kNotInitialized;
  return start_process();
}

Result cuDriverGetVersion(int* version) {
  if (const auto refused = begin(Symbol::cuDriverGetVersion, false)) return *refused;
  if (!version) return abi::kInvalidValue;
  *version = driver_version();
  return abi::kSuccess;
}

Result cuGetErrorName(Result code, const char** name) {
  if (const auto refused = begin(Symbol::cuGetErrorName, false)) return *refused;
  const Code* found = code_of(code);
  *name = found ? found->name : nullptr;
  return found ? abi::kSuccess : abi::kInvalidValue;
}

Result cuGetErrorString(Result code, const char** text) {
  if (const auto refused = begin(Symbol::cuGetErrorString, false)) return *refused;
  const Code* found = code_of(code);
  *text = found ? found->text : nullptr;
  return found ? abi::kSuccess : abi::kInvalidValue;
}

Result cuDeviceGetCount(int* count) {
  if (const auto refused = begin(Symbol::cuDeviceGetCount)) return *refused;
  *count = static_cast<int>(process()->visible.size());
  return abi::kSuccess;
}

Result cuDeviceGet(abi::Device* device, int ordinal) {
  if (const auto refused = begin(Symbol::cuDeviceGet)) return *refused;
  if (!is_device(ordinal)) return abi::kInvalidDevice;
  *device = ordinal;
  return abi::kSuccess;
}

Result cuDeviceGetName(char* name, int bytes, abi::Device device) {
  if (const auto refused = begin(Symbol::cuDeviceGetName)) return *refused;
  if (!is_device(device)) return abi::kInvalidDevice;
  if (bytes <= 0) return abi::kInvalidValue;
  const auto text = device_name(process()->visible[static_cast<size_t>(device)], ledger()->options());
  std::snprintf(name, static_cast<size_t>(bytes), "%s", text.c_str());
  return abi::kSuccess;
}

Result cuDeviceGetUuid_v2(abi::Uuid* uuid, abi::Device device) {
  if (const auto refused = begin(Symbol::cuDeviceGetUuid)) return *refused;
  if (!is_device(device)) return abi::kInvalidDevice;
  *uuid = uuid_of(process()->visible[static_cast<size_t>(device)]);
  return abi::kSuccess;
}

Result cuDeviceTotalMem_v2(size_t* bytes, abi::Device device) {
  if (const auto refused = begin(Symbol::cuDeviceTotalMem)) return *refused;
  if (!is_device(device)) return abi::kInvalidDevice;
  *bytes = ledger()->options().device_bytes;
  return abi::kSuccess;
}

Result cuDeviceGetAttribute(int* value, int attribute, abi::Device device) {
  if (const auto refused = begin(Symbol::cuDeviceGetAttribute)) return *refused;
  if (!is_device(device)) return abi::kInvalidDevice;
  const auto& options = ledger()->options();
  switch (attribute) {
    case abi::kAttributeComputeMode:
      *value = options.exclusive_process ? abi::kComputeModeExclusiveProcess : 0;
      return abi::kSuccess;
    case abi::kAttributePosixFileHandles:
      *value = options.shares_fds && (!options.mig || options.mig_shares != FakeCudaOptions::MigShares::kNothing);
      return abi::kSuccess;  // of slices that share handles alone it says too much
    case abi::kAttributeRdma:
      *value = options.rdma;
      return abi::kSuccess;
    case abi::kAttributePciBus:
      *value = 0x10 + process()->visible[static_cast<size_t>(device)];
      return abi::kSuccess;
    case abi::kAttributePciDevice:
    case abi::kAttributePciDomain:
      *value = 0;
      return abi::kSuccess;
    case abi::kAttributeVirtualMemory:
    case kAttributeUnifiedAddressing:
      *value = 1;
      return abi::kSuccess;
    default:
      return abi::kInvalidValue;
  }
}

Result cuDevicePrimaryCtxRetain(abi::Context* context, abi::Device device) {
  if (const auto refused = begin(Symbol::cuDevicePrimaryCtxRetain)) return *refused;
  if (!is_device(device)) return abi::kInvalidDevice;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  auto& primary = own.primaries[static_cast<size_t>(device)];
  if (primary.context) {
    if (const Result health = health_of(*primary.context)) return health;
  } else if (const int code = own.ended_by.load()) {
    return static_cast<Result>(code);
  } else {
    const int physical = own.visible[static_cast<size_t>(device)];
    if (const Result none = own.ledger.add_context(physical)) return none;
    primary.context = std::make_shared<Context>();
    primary.context->ordinal = device;
    primary.context->device = physical;
    primary.context->handle = own.next_context += 64;
    own.contexts.emplace(primary.context->handle, primary.context);
  }
  ++primary.retained;
  *context = as_handle<abi::Context>(primary.context->handle);
  return abi::kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(abi::Device device) {
  if (const auto refused = begin(Symbol::cuDevicePrimaryCtxRelease)) return *refused;
  if (!is_device(device)) return abi::kInvalidDevice;
  Process& own = *process();
  std::shared_ptr<Context> last;
  {
    const std::lock_guard lock(own.mutex);
    auto& primary = own.primaries[static_cast<size_t>(device)];
    if (primary.retained == 0) {
      breach("a primary context released more often than retained");
      return abi::kInvalidContext;
    }
    if (--primary.retained == 0) last = std::move(primary.context);
  }
  if (last) end_context(last, Context::State::kReleased);
  return abi::kSuccess;
}

Result cuDevicePrimaryCtxReset_v2(abi::Device device) {
  if (const auto refused = begin(Symbol::cuDevicePrimaryCtxReset)) return *refused;
  if (!is_device(device)) return abi::kInvalidDevice;
  Process& own = *process();
  std::shared_ptr<Context> context;
  {
    const std::lock_guard lock(own.mutex);
    context = std::move(own.primaries[static_cast<size_t>(device)].context);  // who retained it still has to release it
  }
  if (context) end_context(context, Context::State::kReset);
  return abi::kSuccess;
}

Result cuCtxPushCurrent_v2(abi::Context context) {
  if (const auto refused = begin(Symbol::cuCtxPushCurrent)) return *refused;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const auto found = own.contexts.find(number_of(context));
  if (found == own.contexts.end()) return abi::kInvalidContext;
  if (found->second->state.load() == Context::State::kReleased) breach("a context used after it was released");
  if (!found->second->is_alive()) return abi::kInvalidContext;
  context_stack().push_back(number_of(context));
  return abi::kSuccess;
}

Result cuCtxPopCurrent_v2(abi::Context* context) {
  if (const auto refused = begin(Symbol::cuCtxPopCurrent)) return *refused;
  if (context_stack().empty()) return abi::kInvalidContext;
  if (context) *context = as_handle<abi::Context>(context_stack().back());
  context_stack().pop_back();
  return abi::kSuccess;
}
