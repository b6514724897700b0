// Puts a function behind the work that the caller's streams do on a slot, without touching those streams' order: each
// slot has an event, recorded on the caller's streams, and a stream of the library's own that waits for it. Thread-safe
// where each slot has one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "proto/cuda/objects.h"

namespace spdld::client {

class StreamWork {
 public:
  StreamWork(cuda::ContextRef context, uint32_t slots);  // throws cuda::Fault

  enum class Followed : uint8_t { kLaunched, kCapturing, kFailed };
  struct Result {
    Followed followed;
    cuda::abi::Result code;  // of kFailed
  };
  // The driver calls `function` once, when all work put on these streams so far is done; never after a failed call, nor
  // after an error on the GPU. kCapturing: a stream is being captured into a graph, where an event means nothing.
  Result follow(uint32_t slot, std::span<const cuda::abi::Stream> streams, cuda::abi::HostFunction function,
                void* argument);

  bool is_capturing(cuda::abi::Stream stream, cuda::abi::Result& code) const;
  // Blocks, for a slot that could not be followed: work on the slot must not find its memory gone.
  void wait_for(std::span<const cuda::abi::Stream> streams) const;
  // The state of work that was followed: kSuccess, kNotReady, or the error that ended it.
  cuda::abi::Result look(uint32_t slot) const { return ways_[slot].done->query(); }
  const cuda::Context& context() const { return *context_; }

 private:
  struct Way {
    std::unique_ptr<cuda::Stream> side;
    std::unique_ptr<cuda::Event> done;
  };
  cuda::abi::Result launch(uint32_t slot, cuda::abi::HostFunction function, void* argument);

  const cuda::ContextRef context_;
  std::vector<Way> ways_;
};

}  // namespace spdld::client
