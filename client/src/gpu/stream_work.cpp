#include "client/src/gpu/stream_work.h"

namespace spdld::client {

namespace {

using cuda::Current;
using namespace cuda::abi;  // NOLINT: the driver's own words

// The driver's codes for the legacy stream while another stream's capture forbids its use
// (CUDA_ERROR_STREAM_CAPTURE_*).
constexpr int kCaptureErrorFirst = 900;
constexpr int kCaptureErrorLast = 909;

}  // namespace

StreamWork::StreamWork(cuda::ContextRef context, uint32_t slots) : context_(std::move(context)) {
  ways_.reserve(slots);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    Way& way = ways_.emplace_back();
    way.side = std::make_unique<cuda::Stream>(context_);
    way.done = std::make_unique<cuda::Event>(context_, cuda::Event::Reach::kProcess);
  }
}

bool StreamWork::is_capturing(cuda::abi::Stream stream, cuda::abi::Result& code) const {
  const Current current(*context_);
  int status = kCaptureNone;
  code = current.result();
  if (code == kSuccess) code = context_->driver().call().cuStreamIsCapturing(stream, &status);
  if (code >= kCaptureErrorFirst && code <= kCaptureErrorLast) {
    code = kSuccess;
    return true;
  }
  return code == kSuccess && status != kCaptureNone;
}

StreamWork::Result StreamWork::follow(uint32_t slot, std::span<const cuda::abi::Stream> streams,
                                      cuda::abi::HostFunction function, void* argument) {
  const cuda::abi::Stream legacy[] = {legacy_stream()};
  if (streams.empty()) streams = legacy;
  cuda::abi::Result code = kSuccess;
  for (const cuda::abi::Stream stream : streams) {
    if (is_capturing(stream, code)) return {Followed::kCapturing, kSuccess};
    if (code != kSuccess) return {Followed::kFailed, code};
  }
  Way& way = ways_[slot];
  for (const cuda::abi::Stream stream : streams) {  // a wait is for the record before it: one event does for all
    code = way.done->record(stream);
    if (code == kSuccess) code = way.done->make_wait(way.side->handle());
    if (code != kSuccess) return {Followed::kFailed, code};
  }
  code = launch(slot, function, argument);
  return {code == kSuccess ? Followed::kLaunched : Followed::kFailed, code};
}

cuda::abi::Result StreamWork::launch(uint32_t slot, cuda::abi::HostFunction function, void* argument) {
  const Current current(*context_);
  if (current.result() != kSuccess) return current.result();
  return context_->driver().call().cuLaunchHostFunc(ways_[slot].side->handle(), function, argument);
}

void StreamWork::wait_for(std::span<const cuda::abi::Stream> streams) const {
  const cuda::abi::Stream legacy[] = {legacy_stream()};
  if (streams.empty()) streams = legacy;
  const Current current(*context_);
  if (current.result() != kSuccess) return;
  for (const cuda::abi::Stream stream : streams) context_->driver().call().cuStreamSynchronize(stream);
}

}  // namespace spdld::client
