// Turns the driver's faults into the daemon's errors. Any thread.
#pragma once

#include "daemon/base/result.h"
#include "proto/cuda/fault.h"

namespace spdld::memory {

// Whether all further work on the context fails, because the error is sticky or because somebody destroyed the context.
inline bool loses_context(cuda::abi::Result code) {
  return cuda::is_sticky(code) || code == cuda::abi::kContextDestroyed;
}

inline Error error_of(const cuda::Fault& fault) {
  switch (fault.cause()) {
    case cuda::Cause::kOutOfMemory:
      return {Trouble::kLimit, fault.what()};
    case cuda::Cause::kContextLost:
    case cuda::Cause::kFailed:
      return {Trouble::kInternal, fault.what()};
    default:
      return {Trouble::kUnsupported, fault.what()};
  }
}

}  // namespace spdld::memory
