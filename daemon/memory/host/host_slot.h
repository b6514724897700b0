// Host slots: one memfd each, without a name in any file system, so that nothing is left behind, ever. The size is
// sealed. The daemon writes and never trusts content that it reads back. Dropping the object gives the memory back once
// the last process has unmapped it.
//
// A slot for several readers is sealed FUTURE_WRITE as well, after this process has mapped it writable. Where processes
// of the readers' user write samples into the slot (lend()), such a seal would keep them out. Readers then get a
// descriptor that is open for reading alone, of a file that nobody but the daemon's user may open for writing.
#pragma once

#include <atomic>
#include <boost/interprocess/mapped_region.hpp>

#include "daemon/memory/slot_memory.h"
#include "proto/unique_fd.h"

namespace spdld::memory {

class HostSlot : public SlotMemory {
 public:
  // `kind`: kHost, or kPinned, which the trainer registers with its driver. `has_writers`: it may be lent, whatever the
  // access. Throws SetupError (kLimit) where the memory can't be had.
  HostSlot(uint64_t bytes, Access access, MemoryKind kind = MemoryKind::kHost, bool has_writers = false);

  MemoryKind kind() const override { return kind_; }
  uint64_t bytes() const override { return bytes_; }
  Shared shared() const override {
    Shared shared;
    shared.fd = for_readers_ ? for_readers_.get() : fd_.get();
    shared.bytes = bytes_;
    return shared;
  }
  Result<bool> begin_fill(const std::function<void()>&) override { return true; }
  uint8_t* fill_address() const override { return static_cast<uint8_t*>(region_.get_address()); }
  void copy(const SlotMemory& from, const Copies& copies, Published copied) override;
  void publish(std::span<const Range>, Published published) override { published(Done{}); }
  void abandon() override {}
  int lend() override;
  bool is_lent() const override { return is_lent_; }

 private:
  const MemoryKind kind_;
  const uint64_t bytes_;
  UniqueFd fd_, for_readers_;  // for_readers_: none: they get fd_
  bool is_sealed_ = false;     // against mappings that write
  std::atomic<bool> is_lent_{false};
  boost::interprocess::mapped_region region_;
};

}  // namespace spdld::memory
