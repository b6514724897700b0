// The memory of a ring as this process sees it. Shared by its batches: it outlives the loader, the connection and the
// daemon.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "client/src/calls/outcome.h"
#include "proto/unique_fd.h"

namespace spdld::cuda {
class Context;
class Event;
}  // namespace spdld::cuda

namespace spdld::client {

inline constexpr uint64_t kAlignment = 128;  // of every tensor, from its slot's start

class Slots {
 public:
  explicit Slots(uint64_t slot_bytes) : slot_bytes_(slot_bytes) {}
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  virtual ~Slots() = default;

  uint64_t slot_bytes() const { return slot_bytes_; }
  virtual uint32_t count() const = 0;
  virtual spdld_memory memory() const = 0;
  // The slot's address; for GPU memory a device address, not to be read.
  virtual std::byte* at(uint32_t slot) const = 0;
  // The context of the GPU that has the memory or reads it; none for plain host memory.
  virtual std::shared_ptr<cuda::Context> context() const { return nullptr; }
  // To be called before new content is read: copy-on-write pages of an earlier lease would hide it. False: errno says
  // why.
  virtual bool drop_copies(uint32_t) { return true; }
  // The event that completes with the copy into this slot; nullptr: at READY the content is already there.
  virtual cuda::Event* copied(uint32_t) const { return nullptr; }
  // Gives up this process's hold on the memory, so that the daemon may free it; may be called again. False: a GPU's
  // driver keeps it open here until the process ends. Not for a host function. Precondition: nobody uses the slot any
  // more.
  virtual bool close(uint32_t) { return true; }

 private:
  const uint64_t slot_bytes_;
};

class HostSlots : public Slots {
 public:
  explicit HostSlots(uint64_t slot_bytes) : Slots(slot_bytes) {}
  ~HostSlots() override;

  // Maps one memfd for each slot, after checking that no memfd is or could become smaller than slot_bytes (a read would
  // be a SIGBUS). Copy-on-write: the process's writes stay its own.
  CallOutcome map(const std::vector<UniqueFd>& memory, bool copy_on_write);

  uint32_t count() const override { return static_cast<uint32_t>(regions_.size()); }
  spdld_memory memory() const override { return SPDLD_HOST; }
  std::byte* at(uint32_t slot) const override { return regions_[slot].start; }
  bool drop_copies(uint32_t slot) override;
  bool close(uint32_t slot) override;

 protected:
  uint64_t region_bytes(uint32_t slot) const { return regions_[slot].bytes; }

 private:
  struct Region {
    std::byte* start = nullptr;  // nullptr: closed
    size_t bytes = 0;
  };
  std::vector<Region> regions_;
  bool copy_on_write_ = false;
};

}  // namespace spdld::client
