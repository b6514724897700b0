#include "daemon/memory/cuda/device_slot.h"

#include <utility>

namespace spdld::memory {

DeviceSlot::Target::~Target() {
  const std::shared_ptr<Inbox> inbox = allocation->ring().gpu->inbox();  // the allocation may have the last hold on it
  inbox->give(std::move(allocation));
}

DeviceSlot::DeviceSlot(std::unique_ptr<DeviceAllocation> allocation)
    : target_(std::make_shared<Target>(std::move(allocation))) {}

DeviceSlot::~DeviceSlot() {
  ring().staging.forget(this);
  abandon();
}

MemoryKind DeviceSlot::kind() const { return ring().kind; }

uint64_t DeviceSlot::bytes() const { return ring().slot_bytes; }

Shared DeviceSlot::shared() const { return target_->allocation->shared(); }

Result<bool> DeviceSlot::begin_fill(const std::function<void()>& room) {
  Result<StagingBufferPtr> taken = ring().staging.take(this, room);
  if (!taken) return taken.error();
  staging_ = std::move(*taken);
  return staging_ != nullptr;
}

uint8_t* DeviceSlot::fill_address() const { return staging_ ? staging_->address() : nullptr; }

void DeviceSlot::copy(const SlotMemory& from, const Copies& copies, Published copied) {
  const std::shared_ptr<Target> source = static_cast<const DeviceSlot&>(from).target_;
  if (source->allocation->ring().gpu != ring().gpu)  // the same one, opened afresh after a failure
    return copied(Error{Trouble::kTransient, "the slot to copy from was lost with its GPU's context"});
  Copy copy;
  const cuda::abi::DevicePtr to = target_->allocation->address();
  for (const CopiedRange& range : copies.ranges)
    copy.device_ranges.push_back({source->allocation->address() + range.from, to + range.to, range.bytes});
  for (const Literal& literal : copies.literals)
    copy.host_ranges.push_back({literal.bytes.data(), to + literal.to, literal.bytes.size()});
  copy.copied = &target_->allocation->copied();
  copy.keep = target_;
  copy.keep_source = source;
  copy.published = std::move(copied);
  ring().gpu->put(std::move(copy));
}

void DeviceSlot::publish(std::span<const Range> counts, Published published) {
  Copy copy;
  if (staging_) {  // else all of it has been copied
    for (const Range& range : counts)
      copy.host_ranges.push_back(
          {staging_->address() + range.from, target_->allocation->address() + range.from, range.bytes});
  }
  copy.copied = &target_->allocation->copied();
  copy.ready_early = ring().ready_early;
  copy.keep = target_;
  copy.staging = std::move(staging_);
  copy.published = std::move(published);
  ring().gpu->put(std::move(copy));
}

void DeviceSlot::abandon() {
  if (staging_) ring().gpu->staging()->give_back(std::move(staging_));
}

std::optional<Error> DeviceSlot::trouble() const {
  if (const auto refusal = ring().staging.refusal()) return refusal;
  return ring().gpu->trouble();
}

}  // namespace spdld::memory
