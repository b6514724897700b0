// Captures of streams into graphs that are under way in this process, and the calls that they forbid: what CUDA's
// reference says of cuStreamBeginCapture() and cuThreadExchangeStreamCaptureMode(). Any thread.
#pragma once

#include <optional>

#include "tests/support/fake_cuda/stream.h"

namespace spdld::test::fake {

// CUstreamCaptureMode
enum class CaptureMode : int { kGlobal, kThreadLocal, kRelaxed };

// The mode of the calling thread, which says which captures it minds.
CaptureMode& thread_capture_mode();

void begin_capture(const std::shared_ptr<Stream>& stream, CaptureMode mode);  // by this thread
// False: a call that the capture forbids came meanwhile, and no graph comes of it.
bool end_capture(const std::shared_ptr<Stream>& stream);
// To be asked at each call. A forbidden call makes the captures that forbid it invalid.
std::optional<cuda::abi::Result> refused_by_capture(Symbol symbol);

}  // namespace spdld::test::fake
