#include "proto/cuda/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>

namespace spdld::cuda {
namespace {

// Of NVIDIA's NVML API Reference Guide (https://docs.nvidia.com/deploy/nvml-api/): nvmlReturn_t, nvmlDevice_t,
// nvmlMemory_t, nvmlProcessInfo_t (in its second version, which _v2 and _v3 of the call fill in).
constexpr int kSuccess = 0;
constexpr uint64_t kNotAvailable = ~uint64_t{0};
constexpr unsigned kProcessesMax = 1024;  // of one GPU; with more of them it tells nothing
constexpr unsigned kProcessorNameBytes = 96;

}  // namespace

// A name of its own: g++ 14 and 16 fail at Nvml::Entries in a unity build where its members' types have none.
namespace nvml {

struct DeviceObject;
using Handle = DeviceObject*;
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

}  // namespace nvml

struct Nvml::Entries {
  int (*init)();
  int (*handle_by_uuid)(const char* uuid, nvml::Handle* device);
  int (*name)(nvml::Handle device, char* name, unsigned bytes);
  int (*memory)(nvml::Handle device, nvml::MemoryInfo* memory);
  int (*processes)(nvml::Handle device, unsigned* count, nvml::ProcessInfo* processes);  // may be none
  pid_t loader;

  // nullptr: NVML does not know it. A slice is known there as "MIG-...".
  nvml::Handle find(const std::string& uuid) const {
    nvml::Handle device = nullptr;
    if (handle_by_uuid(uuid.c_str(), &device) == kSuccess) return device;
    if (uuid.compare(0, 4, "GPU-") != 0) return nullptr;
    const std::string slice = "MIG-" + uuid.substr(4);
    return handle_by_uuid(slice.c_str(), &device) == kSuccess ? device : nullptr;
  }
};

Nvml::Nvml() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  const auto load = [library](auto& entry, const char* symbol) {
    entry = reinterpret_cast<std::decay_t<decltype(entry)>>(dlsym(library, symbol));
    return entry != nullptr;
  };
  Entries found = {};
  const bool is_whole = load(found.init, "nvmlInit_v2") && load(found.handle_by_uuid, "nvmlDeviceGetHandleByUUID") &&
                        load(found.name, "nvmlDeviceGetName") && load(found.memory, "nvmlDeviceGetMemoryInfo");
  if (!load(found.processes, "nvmlDeviceGetComputeRunningProcesses_v3"))
    load(found.processes, "nvmlDeviceGetComputeRunningProcesses_v2");
  if (!is_whole || found.init() != kSuccess) return;
  found.loader = getpid();
  entries_ = std::make_shared<const Entries>(found);
}

const Nvml* Nvml::find() {
  static const Nvml nvml;
  return nvml.entries_ != nullptr && nvml.entries_->loader == getpid() ? &nvml : nullptr;
}

std::optional<std::string> Nvml::name_of(const std::string& uuid) const {
  std::array<char, kProcessorNameBytes + 1> name = {};
  const nvml::Handle device = entries_->find(uuid);
  if (device == nullptr || entries_->name(device, name.data(), kProcessorNameBytes) != kSuccess) return std::nullopt;
  return std::string(name.data());
}

std::optional<Nvml::Memory> Nvml::memory_of(const std::string& uuid) const {
  nvml::MemoryInfo memory = {};
  const nvml::Handle device = entries_->find(uuid);
  if (device == nullptr || entries_->memory(device, &memory) != kSuccess) return std::nullopt;
  return Memory{memory.total, memory.used};
}

std::optional<uint64_t> Nvml::used_by(const std::string& uuid, int pid) const {
  const nvml::Handle device = entries_->find(uuid);
  if (device == nullptr || entries_->processes == nullptr) return std::nullopt;
  std::array<nvml::ProcessInfo, kProcessesMax> processes = {};
  unsigned count = kProcessesMax;
  if (entries_->processes(device, &count, processes.data()) != kSuccess) return std::nullopt;
  for (unsigned index = 0; index < count && index < kProcessesMax; ++index)
    if (processes[index].pid == static_cast<unsigned>(pid) && processes[index].used_bytes != kNotAvailable)
      return processes[index].used_bytes;
  return std::nullopt;
}

}  // namespace spdld::cuda
