// The memory of one slot, whatever its kind: filled by decode threads, read by trainers in other processes.
//
// A filling goes begin_fill -> writes at fill_address -> publish, or -> abandon; then the next may begin. For host
// memory the trainer sees what is written; on a GPU it is written to staging memory, and publish copies it there. Or it
// goes copy, any number of times -> publish, or -> abandon, without staging memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "daemon/base/result.h"

namespace spdld::memory {

enum class Kind : uint8_t { kHost, kPinned, kCudaIpc, kCudaVmm };

constexpr bool on_gpu(Kind kind) { return kind == Kind::kCudaIpc || kind == Kind::kCudaVmm; }

// How a reader in another process may map it.
enum class Access : uint8_t {
  kWritable,     // its only reader may change the pixels in place
  kCopyOnWrite,  // sealed: several readers, each with its own copy of a page that it writes
};

// What crosses to the trainer at attach.
struct Shared {
  int fd = -1;                  // a memfd, or device memory (kCudaVmm); owned by the slot
  uint64_t bytes = 0;           // of what is shown, at least the slot's
  std::vector<uint8_t> handle;  // kCudaIpc: the memory handle
  uint64_t offset = 0;          // kCudaIpc: of the slot in what the handle stands for
  std::vector<uint8_t> copied;  // an event that completes with each copy; empty where `published` comes after it
};

class SlotMemory {
 public:
  using Published = std::function<void(const Status&)>;

  virtual ~SlotMemory() = default;
  virtual Kind kind() const = 0;
  virtual uint64_t bytes() const = 0;
  virtual Shared shared() const = 0;

  // Control thread. false: there is no staging memory now; `room` is called once, on any thread, when there may be, and
  // must not call back into the slot; it may just be being called when the slot goes. What is there then is set aside
  // for this ring for a short while (a quarter of a second) where others wait. An error: this memory is lost, as
  // trouble() says.
  virtual Result<bool> begin_fill(const std::function<void()>& room) = 0;
  // Where decode threads write, until publish or abandon.
  virtual uint8_t* fill_address() const = 0;
  struct Part {
    uint64_t from = 0, to = 0, bytes = 0;  // offsets in the slots
  };
  // Any thread. In the place of writes: parts of another slot that is filled, in the host's memory as this one, or on
  // its GPU. `copied` is called once, on any thread: then `from` may be filled anew.
  virtual void copy(const SlotMemory& from, std::span<const Part> parts, Published copied) = 0;
  // Any thread, never blocks. What was written becomes the trainer's to see: `published` is called once, on any thread,
  // at once for host memory. Of the slots of one ring in the order of these calls.
  virtual void publish(Published published) = 0;
  // Any thread: what was written is of no use.
  virtual void abandon() = 0;
  // Why this memory is lost (its GPU failed); none: it is sound. Any thread.
  virtual std::optional<Error> trouble() const { return std::nullopt; }
};

using SlotMemories = std::vector<std::unique_ptr<SlotMemory>>;  // of a ring

}  // namespace spdld::memory
