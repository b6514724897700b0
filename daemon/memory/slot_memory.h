// The memory of one slot, whatever its kind: written by decode threads, read by trainers in other processes.
#pragma once

#include <cstdint>
#include <memory>

namespace spdld::memory {

enum class Kind : uint8_t { kHost, kPinned, kCudaIpc, kCudaVmm };

// How a reader in another process may map it.
enum class Access : uint8_t {
  kWritable,     // its only reader may change the pixels in place
  kCopyOnWrite,  // sealed: several readers, each with its own copy of a page that it writes
};

class SlotMemory {
 public:
  virtual ~SlotMemory() = default;
  virtual Kind kind() const = 0;
  virtual uint64_t bytes() const = 0;
  // Where decode threads write. For host slots this is what the trainer sees; a device slot gives its staging memory.
  virtual uint8_t* fill_address() const = 0;
  // What crosses to the trainer at attach, as a descriptor; owned by this object.
  virtual int shared_fd() const = 0;
};

}  // namespace spdld::memory
