// Ranges on the time line of NVIDIA's tools, such as Nsight Systems (NVTX, version 3). A tool names its library in
// NVTX_INJECTION64_PATH, or lies in the process already; the first range looks for it, once. Where there is none, a
// range costs a load and a branch, and nothing is loaded.
//
// NVTX itself is a header that does what nvtx.cpp does: it gives the tool tables of function pointers, and the tool
// sets the functions that it wants to hear of. So no header of NVIDIA's is needed. Any thread.
#pragma once

namespace spdld::client {

// A range of the calling thread, from here to the end of the scope. `name` outlives it.
class NvtxRange {
 public:
  explicit NvtxRange(const char* name);
  ~NvtxRange();
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  const bool is_heard_;
};

}  // namespace spdld::client
