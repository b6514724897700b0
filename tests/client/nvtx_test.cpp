// Ranges for NVIDIA's tools. The tool is found once in a process: SPDLD_NVTX_TOOL is the fake one where this process
// has it, and empty where it has none, or one that lacks a function.
#include "client/src/gpu/nvtx.h"

#include <dlfcn.h>
#include <spdld.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

using spdld::client::NvtxRange;

namespace {

std::string tool_path() {
  const char* const path = std::getenv("SPDLD_NVTX_TOOL");
  return path ? path : "";
}

// All that the tool has heard; none: "".
std::string heard() {
  if (tool_path().empty()) return "";
  void* const library = dlopen(tool_path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!library) return "";
  return reinterpret_cast<const char* (*)()>(dlsym(library, "nvtx_tool_heard"))();
}

}  // namespace

TEST_CASE("nvtx: a tool hears of ranges as they begin and end; without one nothing happens") {
  CHECK(heard().empty());
  {
    const NvtxRange outer("outer");
    const NvtxRange inner("inner");
    if (!tool_path().empty()) CHECK(heard() == "outer(inner(");
  }
  CHECK(heard() == (tool_path().empty() ? "" : "outer(inner())"));
  CHECK(spdld_next(nullptr, 0, nullptr) == SPDLD_INVALID);
  CHECK(heard() == (tool_path().empty() ? "" : "outer(inner())spdld.next()"));
}
