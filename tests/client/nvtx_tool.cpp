// A tool as NVIDIA's, which NVTX_INJECTION64_PATH names: it hears of ranges, and notes them. Where the build finds
// NVIDIA's header, the interface is the header's own; else it is written down here again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else
using NvtxFunctionPointer = void (*)();
using NvtxFunctionTable = NvtxFunctionPointer**;
using NvtxCallbackModule = int;
struct NvtxExportTableCallbacks {
  size_t struct_size;
  int (*GetModuleFunctionTable)(NvtxCallbackModule, NvtxFunctionTable*, unsigned*);
};
struct NvtxExportTableVersionInfo {
  size_t struct_size;
  uint32_t version, reserved0;
  void (*SetInjectionNvtxVersion)(uint32_t);
};
using NvtxGetExportTableFunc_t = const void* (*)(uint32_t);
enum { NVTX_ETID_CALLBACKS = 1, NVTX_ETID_VERSIONINFO = 3, NVTX_CB_MODULE_CORE = 1, NVTX_CB_MODULE_SYNC = 6 };
enum { NVTX_CBID_CORE_RangePushA = 9, NVTX_CBID_CORE_RangePop = 11, NVTX_CBID_CORE_SIZE = 16, NVTX_CBID_SYNC_SIZE = 7 };
#endif

namespace {

std::string& heard() {
  static std::string text;
  return text;
}

template <typename Function>
NvtxFunctionPointer generic(Function function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

int push(const char* name) {
  heard() += std::string(name) + "(";
  return 0;
}

int pop() {
  heard() += ")";
  return 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

const char* nvtx_tool_heard() { return heard().c_str(); }

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
  const auto* const version = static_cast<const NvtxExportTableVersionInfo*>(export_table(NVTX_ETID_VERSIONINFO));
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  if (!version || version->struct_size < sizeof(*version) || version->version != 3) return 0;
  if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || export_table(99)) return 0;
  version->SetInjectionNvtxVersion(3);
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(static_cast<NvtxCallbackModule>(99), &table, &size)) return 0;
  // As tools do, each function that is there is set: the table must have a place for it.
  for (int module = NVTX_CB_MODULE_CORE; module <= NVTX_CB_MODULE_SYNC; module++) {
    if (!callbacks->GetModuleFunctionTable(static_cast<NvtxCallbackModule>(module), &table, &size)) return 0;
    if (module == NVTX_CB_MODULE_CORE && size != NVTX_CBID_CORE_SIZE) return 0;
    if (module == NVTX_CB_MODULE_SYNC && size != NVTX_CBID_SYNC_SIZE) return 0;
    for (unsigned i = 1; i < size; i++) *table[i] = generic(&pop);
    if (table[0] || table[size]) return 0;
  }
  if (!callbacks->GetModuleFunctionTable(static_cast<NvtxCallbackModule>(NVTX_CB_MODULE_CORE), &table, nullptr))
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = generic(&push);
  *table[NVTX_CBID_CORE_RangePop] = std::getenv("SPDLD_NVTX_LACKS_POP") ? nullptr : generic(&pop);
  return 1;
}

}  // extern "C"
#pragma GCC visibility pop
