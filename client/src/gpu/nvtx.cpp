#include "client/src/gpu/nvtx.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace spdld::client {
namespace {

// The binary interface between NVTX and a tool, which all versions 3.x share: nvtx3/nvtxDetail/nvtxTypes.h and
// nvtxInit.h of https://github.com/NVIDIA/NVTX. The numbers of the tables and of the functions in them are part of it.
using Function = void (*)();
constexpr uint32_t kCallbacksTable = 1, kVersionTable = 3, kVersion = 3;
enum Module : int { kCore = 1, kCuda, kOpenCl, kCudaRuntime, kCore2, kSync };
constexpr size_t kRangePushA = 9, kRangePop = 11;

struct CallbacksTable {
  size_t struct_size;
  int (*module_functions)(int module, Function*** table, unsigned* size);
};
struct VersionTable {
  size_t struct_size;
  uint32_t version, reserved;
  void (*set_tool_version)(uint32_t version);
};

// The functions of a module, by number from 1; and pointers to them, from 0, with a null one at both ends.
template <size_t kSize>
struct Functions {
  Functions() {
    for (size_t i = 1; i < kSize; i++) pointers[i] = &functions[i];
  }
  std::array<Function, kSize> functions{};
  std::array<Function*, kSize + 1> pointers{};
};

// Only two functions of the first module are called. The others are there for the tool to set.
struct Tables {
  Functions<16> core, core2;
  Functions<9> cuda;
  Functions<15> opencl;
  Functions<7> cuda_runtime, sync;
};
Tables& tables() {
  static Tables tables;
  return tables;
}

int module_functions(int module, Function*** table, unsigned* size) {
  const auto give = [&](auto& functions) {
    if (table) *table = functions.pointers.data();
    if (size) *size = static_cast<unsigned>(functions.functions.size());
    return 1;
  };
  switch (module) {
    case kCore:
      return give(tables().core);
    case kCuda:
      return give(tables().cuda);
    case kOpenCl:
      return give(tables().opencl);
    case kCudaRuntime:
      return give(tables().cuda_runtime);
    case kCore2:
      return give(tables().core2);
    case kSync:
      return give(tables().sync);
    default:
      return 0;
  }
}

const void* export_table(uint32_t number) {
  static constexpr CallbacksTable callbacks = {sizeof(CallbacksTable), module_functions};
  static constexpr VersionTable version = {sizeof(VersionTable), kVersion, 0, [](uint32_t) {}};
  if (number == kCallbacksTable) return &callbacks;
  return number == kVersionTable ? &version : nullptr;
}

struct Tool {
  int (*push)(const char* name) = nullptr;
  int (*pop)() = nullptr;
};

// The tool's library stays loaded, since its functions may be called until the process ends.
Tool find_tool() {
  using Initialize = int (*)(const void* (*export_table)(uint32_t));
  void* library = nullptr;
  if (const char* const path = std::getenv("NVTX_INJECTION64_PATH")) library = dlopen(path, RTLD_LAZY);
  void* const entry =
      library ? dlsym(library, "InitializeInjectionNvtx2") : dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2Preinject");
  if (!entry || reinterpret_cast<Initialize>(entry)(export_table) == 0) return {};
  const Function push = tables().core.functions[kRangePushA], pop = tables().core.functions[kRangePop];
  if (!push || !pop) return {};
  return {reinterpret_cast<int (*)(const char*)>(push), reinterpret_cast<int (*)()>(pop)};
}

const Tool& tool() {
  static const Tool found = find_tool();
  return found;
}

}  // namespace

NvtxRange::NvtxRange(const char* name) : is_heard_(tool().push != nullptr) {
  if (is_heard_) tool().push(name);
}

NvtxRange::~NvtxRange() {
  if (is_heard_) tool().pop();
}

}  // namespace spdld::client
