// The memory of one slot, whatever its kind: filled by decode threads, read by trainers in other processes.
//
// A filling goes begin_fill -> writes at fill_address -> publish, or -> abandon; then the next may begin. In host
// memory the trainer sees the writes themselves; for a GPU the writes go to staging memory, and publish copies them to
// the GPU. Or a filling goes copy, any number of times -> publish, or -> abandon, without staging memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/result.h"

namespace spdld::memory {

enum class MemoryKind : uint8_t { kHost, kPinned, kCudaIpc, kCudaVmm };

constexpr bool on_gpu(MemoryKind kind) { return kind == MemoryKind::kCudaIpc || kind == MemoryKind::kCudaVmm; }

// How a reader in another process may map the memory.
enum class Access : uint8_t {
  kWritable,     // its only reader may change the pixels in place
  kCopyOnWrite,  // several readers, who can't write to it: each has its own copy of a page that it writes
};

// The data that is sent to the trainer at attach.
struct Shared {
  int fd = -1;                  // a memfd, or device memory (kCudaVmm); owned by the slot
  uint64_t bytes = 0;           // of the exported memory, at least the slot's bytes
  std::vector<uint8_t> handle;  // kCudaIpc: the memory handle
  uint64_t offset = 0;          // kCudaIpc: of the slot in the handle's memory
  std::vector<uint8_t> copied;  // an event that completes with each copy; empty where `published` comes after it
};

// A part of a slot.
struct Range {
  uint64_t from = 0, bytes = 0;  // `from`: bytes from the slot's start
  friend bool operator==(const Range&, const Range&) = default;
};

class SlotMemory {
 public:
  using Published = std::function<void(const Status&)>;

  virtual ~SlotMemory() = default;
  virtual MemoryKind kind() const = 0;
  virtual uint64_t bytes() const = 0;
  virtual Shared shared() const = 0;

  // The UUID, as text, of the GPU that it lies on; empty: host memory.
  virtual std::string gpu() const { return {}; }

  // Control thread. false: there is no staging memory now; `room` is called once, on any thread, when there may be
  // some, and must not call back into the slot; the call may still run while the slot goes. That staging memory is set
  // aside for this ring for a short while (a quarter of a second) where other rings wait. An error: this slot's memory
  // is lost, as trouble() says.
  virtual Result<bool> begin_fill(const std::function<void()>& room) = 0;
  // The address where decode threads write, until publish or abandon.
  virtual uint8_t* fill_address() const = 0;
  struct CopiedRange {
    uint64_t from = 0, to = 0, bytes = 0;  // offsets in the slots
  };
  struct Literal {
    uint64_t to = 0;                      // an offset in the slot
    std::span<const uint8_t> bytes = {};  // in this process's memory; valid until `copied` is called
  };
  struct Copies {
    std::span<const CopiedRange> ranges = {};
    std::span<const Literal> literals = {};
  };
  // Any thread. Instead of writes: copies parts of another slot that is filled, in host memory as this slot is, or on
  // the same GPU, and bytes of this process. `copied` is called once, on any thread; after that `from` may be filled
  // anew.
  virtual void copy(const SlotMemory& from, const Copies& copies, Published copied) = 0;
  // Any thread, never blocks. Makes the content visible to the trainer; then `published` is called once, on any thread,
  // within this call for host memory. The slots of one ring are published in the order of these calls. `counts`: the
  // parts of the slot that count; the rest of the slot is undefined afterwards.
  virtual void publish(std::span<const Range> counts, Published published) = 0;
  // Any thread: the content is of no use.
  virtual void abandon() = 0;
  // A descriptor for processes that write samples into the slot themselves, in the place of the daemon (daemon/user):
  // they may map it writable. Owned by the slot; -1: its memory is not of that kind. Any thread.
  virtual int lend() { return -1; }
  // It was lent: its borrowers may write to it for as long as they live, so that it is no later ring's. Any thread.
  virtual bool is_lent() const { return false; }
  // Why this memory is lost (its GPU failed); none: it is sound. Any thread.
  virtual std::optional<Error> trouble() const { return std::nullopt; }
};

using SlotMemories = std::vector<std::unique_ptr<SlotMemory>>;  // of a ring

}  // namespace spdld::memory
