// A slot in a GPU's memory. It is filled in staging memory, and copied when it is published.
#pragma once

#include <memory>

#include "daemon/memory/cuda/gpu.h"

namespace spdld::memory {

class DeviceSlot final : public SlotMemory {
 public:
  explicit DeviceSlot(std::unique_ptr<DeviceAllocation> allocation);
  // Any thread, never blocks. A copy under way keeps the memory until it is done.
  ~DeviceSlot() override;

  MemoryKind kind() const override;
  uint64_t bytes() const override;
  Shared shared() const override;
  std::string gpu() const override { return ring().gpu->uuid(); }
  Result<bool> begin_fill(const std::function<void()>& room) override;
  uint8_t* fill_address() const override;
  void copy(const SlotMemory& from, const Copies& copies, Published copied) override;
  void publish(std::span<const Range> counts, Published published) override;
  void abandon() override;
  std::optional<Error> trouble() const override;

 private:
  // Shared with the copies: the memory is freed after the last of them, on the set-up thread.
  struct Target {
    explicit Target(std::unique_ptr<DeviceAllocation> held) : allocation(std::move(held)) {}
    ~Target();
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    std::unique_ptr<DeviceAllocation> allocation;
  };
  DeviceRingPart& ring() const { return target_->allocation->ring(); }

  const std::shared_ptr<Target> target_;
  StagingBufferPtr staging_;  // while the slot is filled
};

}  // namespace spdld::memory
