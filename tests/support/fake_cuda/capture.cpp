#include "tests/support/fake_cuda/capture.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace spdld::test::fake {

namespace {

struct Capture {
  std::shared_ptr<Stream> stream;
  CaptureMode mode;
  std::thread::id thread;
  bool valid = true;
};

struct Captures {
  std::mutex mutex;
  std::vector<Capture> all;
  std::atomic<size_t> count{0};  // read without the lock, by every call
};

// Never destroyed: threads call the driver to the end of the process.
Captures& captures() {
  static Captures& once = *std::make_unique<Captures>().release();
  return once;
}

// Calls that capture does not see, and that another stream's order may rest on: they allocate, free, map or wait.
bool is_unsafe(Symbol symbol) {
  switch (symbol) {
    case Symbol::cuMemAlloc:
    case Symbol::cuMemFree:
    case Symbol::cuMemHostRegister:
    case Symbol::cuMemHostUnregister:
    case Symbol::cuEventQuery:
    case Symbol::cuEventSynchronize:
    case Symbol::cuStreamSynchronize:
    case Symbol::cuIpcOpenEventHandle:
    case Symbol::cuIpcOpenMemHandle:
    case Symbol::cuIpcCloseMemHandle:
    case Symbol::cuMemCreate:
    case Symbol::cuMemRelease:
    case Symbol::cuMemImportFromShareableHandle:
    case Symbol::cuMemAddressReserve:
    case Symbol::cuMemAddressFree:
    case Symbol::cuMemMap:
    case Symbol::cuMemUnmap:
    case Symbol::cuMemSetAccess:
    case Symbol::cuDevicePrimaryCtxReset:
      return true;
    default:
      return false;
  }
}

bool forbids(const Capture& capture) {
  if (thread_capture_mode() == CaptureMode::kRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return capture.mode != CaptureMode::kRelaxed;
  return capture.mode == CaptureMode::kGlobal && thread_capture_mode() == CaptureMode::kGlobal;
}

}  // namespace

CaptureMode& thread_capture_mode() {
  thread_local CaptureMode mode = CaptureMode::kGlobal;
  return mode;
}

void begin_capture(const std::shared_ptr<Stream>& stream, CaptureMode mode) {
  Captures& own = captures();
  const std::lock_guard lock(own.mutex);
  own.all.push_back({stream, mode, std::this_thread::get_id()});
  own.count = own.all.size();
  stream->capturing = true;
}

bool end_capture(const std::shared_ptr<Stream>& stream) {
  Captures& own = captures();
  const std::lock_guard lock(own.mutex);
  const auto found =
      std::find_if(own.all.begin(), own.all.end(), [&](const Capture& one) { return one.stream == stream; });
  const bool valid = found != own.all.end() && found->valid;
  if (found != own.all.end()) own.all.erase(found);
  own.count = own.all.size();
  stream->capturing = false;
  return valid;
}

std::optional<cuda::abi::Result> refused_by_capture(Symbol symbol) {
  Captures& own = captures();
  if (own.count.load() == 0 || !is_unsafe(symbol)) return std::nullopt;
  const std::lock_guard lock(own.mutex);
  bool refused = false;
  for (Capture& capture : own.all) {
    if (!forbids(capture)) continue;
    capture.valid = false;
    refused = true;
  }
  if (!refused) return std::nullopt;
  return cuda::abi::kStreamCaptureUnsupported;
}

}  // namespace spdld::test::fake
