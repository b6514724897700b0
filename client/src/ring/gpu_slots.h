// Slots that a GPU reads: host memory registered with the GPU, and the daemon's memory on the GPU, opened here.
// Thread-safe where each slot has one thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "client/src/ring/slots.h"
#include "proto/cuda/objects.h"

namespace spdld::client {

class PinnedSlots final : public HostSlots {
 public:
  PinnedSlots(cuda::ContextRef context, uint64_t slot_bytes) : HostSlots(slot_bytes), context_(std::move(context)) {}

  // To be called after map(). Throws cuda::Fault.
  void pin();

  spdld_memory memory() const override { return SPDLD_PINNED; }
  cuda::ContextRef context() const override { return context_; }
  bool close(uint32_t) override { return true; }  // the driver has it registered as long as this object lives

 private:
  const cuda::ContextRef context_;
  std::vector<std::unique_ptr<cuda::RegisteredHost>> registered_;  // goes before the mappings
};

class DeviceSlots final : public Slots {
 public:
  DeviceSlots(cuda::ContextRef context, spdld_memory memory, uint64_t slot_bytes)
      : Slots(slot_bytes), context_(std::move(context)), memory_(memory) {}

  // Opens all slots of an answer that check_device_slots has passed. Throws cuda::Fault.
  void open(const proto::Attached& answer, const std::vector<UniqueFd>& fds);

  uint32_t count() const override { return static_cast<uint32_t>(slots_.size()); }
  spdld_memory memory() const override { return memory_; }
  std::byte* at(uint32_t slot) const override;
  cuda::ContextRef context() const override { return context_; }
  cuda::Event* copied(uint32_t slot) const override { return slots_[slot].copied.get(); }
  bool close(uint32_t slot) override;

 private:
  struct Slot {
    std::unique_ptr<cuda::DeviceMemory> memory;
    std::unique_ptr<cuda::Event> copied;
  };
  const cuda::ContextRef context_;
  const spdld_memory memory_;
  std::vector<Slot> slots_;
};

// Checks an answer's cuda_* slots: counts, sizes, handles. nullptr: they are sound; else a text that says what is
// wrong.
const char* check_device_slots(const proto::Attached& answer, size_t fds);

}  // namespace spdld::client
