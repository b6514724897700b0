// libnvidia-ml.so.1, as far as it is called. Result numbers and structures: the published NVML API reference.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/fake_cuda/ledger.h"

using spdld::test::fake::Ledger;
using spdld::test::fake::Symbol;

namespace {

enum NvmlResult : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9
};

struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

// Never destroyed, as threads may call to the last.
Ledger* ledger() {
  static Ledger* const found = Ledger::from_environment().release();
  return found;
}

std::atomic<int> inits{0};

std::optional<NvmlResult> begin(Symbol symbol) {
  if (!ledger()) return kDriverNotLoaded;
  ledger()->count(symbol);
  if (const auto code = ledger()->strike(symbol)) return static_cast<NvmlResult>(*code);
  if (symbol != Symbol::nvmlInit_v2 && inits.load() <= 0) return kUninitialized;
  return std::nullopt;
}

// A device's handle is its number and one.
bool is_device(const void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  return number >= 1 && number <= static_cast<uintptr_t>(ledger()->options().devices);
}
int number_of(const void* handle) { return static_cast<int>(reinterpret_cast<uintptr_t>(handle)) - 1; }

}  // namespace

#define SPDLD_FAKE_NVML extern "C" __attribute__((visibility("default"))) NvmlResult

SPDLD_FAKE_NVML nvmlInit_v2() {
  if (const auto refused = begin(Symbol::nvmlInit_v2)) return *refused;
  inits.fetch_add(1);
  return kSuccess;
}

SPDLD_FAKE_NVML nvmlShutdown() {
  if (const auto refused = begin(Symbol::nvmlShutdown)) return *refused;
  inits.fetch_sub(1);
  return kSuccess;
}

SPDLD_FAKE_NVML nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (const auto refused = begin(Symbol::nvmlDeviceGetHandleByUUID)) return *refused;
  if (!uuid || !device) return kInvalidArgument;
  const auto& options = ledger()->options();
  for (int i = 0; i < options.devices; ++i) {
    if ((options.mig ? "MIG-" : "GPU-") + spdld::test::fake::uuid_text(i) != uuid) continue;
    *device = reinterpret_cast<void*>(static_cast<uintptr_t>(i) + 1);
    return kSuccess;
  }
  return kNotFound;
}

SPDLD_FAKE_NVML nvmlDeviceGetName(void* device, char* name, unsigned bytes) {
  if (const auto refused = begin(Symbol::nvmlDeviceGetName)) return *refused;
  if (!is_device(device) || !name) return kInvalidArgument;
  const std::string text = spdld::test::fake::device_name(number_of(device), ledger()->options());
  if (text.size() >= bytes) return kInsufficientSize;
  std::snprintf(name, bytes, "%s", text.c_str());
  return kSuccess;
}

SPDLD_FAKE_NVML nvmlDeviceGetMemoryInfo(void* device, NvmlMemory* memory) {
  if (const auto refused = begin(Symbol::nvmlDeviceGetMemoryInfo)) return *refused;
  if (!is_device(device) || !memory) return kInvalidArgument;
  const unsigned long long total = ledger()->options().device_bytes, used = ledger()->used_bytes(number_of(device));
  *memory = {total, total - std::min(total, used), used};
  return kSuccess;
}

SPDLD_FAKE_NVML nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, NvmlProcess* processes) {
  if (const auto refused = begin(Symbol::nvmlDeviceGetComputeRunningProcesses_v3)) return *refused;
  if (!is_device(device) || !count || (*count > 0 && !processes)) return kInvalidArgument;
  const auto pids = ledger()->processes_on(number_of(device));
  const unsigned room = *count;
  *count = static_cast<unsigned>(pids.size());
  if (pids.size() > room) return kInsufficientSize;
  for (size_t i = 0; i < pids.size(); ++i)
    processes[i] = {static_cast<unsigned>(pids[i]), ledger()->used_bytes(number_of(device), pids[i]), 0xffffffff,
                    0xffffffff};
  return kSuccess;
}
