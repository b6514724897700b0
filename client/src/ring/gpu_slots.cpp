#include "client/src/ring/gpu_slots.h"

#include <algorithm>

namespace spdld::client {

namespace {

constexpr uint64_t kDeviceBytesMax = uint64_t{1} << 48;  // of addresses: sums with it cannot wrap

template <typename Handle, typename Field>
Handle handle_of(const flatbuffers::Vector<uint8_t>& bytes, Field Handle::*field) {
  Handle handle = {};
  std::copy_n(bytes.begin(), std::min<size_t>(bytes.size(), (handle.*field).size()), (handle.*field).begin());
  return handle;
}

size_t size_of(const flatbuffers::Vector<uint8_t>* bytes) { return bytes ? bytes->size() : 0; }

const char* check_slot(const proto::DeviceSlot& slot, const proto::Attached& answer) {
  if (slot.bytes() < answer.slot_bytes() || slot.bytes() > kDeviceBytesMax) return "a slot is smaller than it says";
  if (answer.memory() == proto::MemoryKind::cuda_ipc) {
    if (size_of(slot.memory()) != sizeof(cuda::abi::IpcMemHandle)) return "a memory handle without its 64 bytes";
    if (slot.offset() > kDeviceBytesMax || slot.offset() % kAlignment != 0) return "a slot at an impossible offset";
  }
  if (answer.ready_early() && size_of(slot.copied()) != sizeof(cuda::abi::IpcEventHandle)) {
    return "an event handle without its 64 bytes";
  }
  return nullptr;
}

}  // namespace

void PinnedSlots::pin() {
  registered_.reserve(count());
  for (uint32_t slot = 0; slot < count(); ++slot) {
    registered_.push_back(std::make_unique<cuda::RegisteredHost>(context_, at(slot), region_bytes(slot)));
  }
}

void DeviceSlots::open(const proto::Attached& answer, const std::vector<UniqueFd>& fds) {
  const auto& described = *answer.device_slots();
  slots_.reserve(described.size());
  for (uint32_t index = 0; index < described.size(); ++index) {
    const proto::DeviceSlot& slot = *described.Get(index);
    Slot& opened = slots_.emplace_back();
    if (memory_ == SPDLD_CUDA_HANDLE) {
      const cuda::HandleMemory::Shared shared = {handle_of(*slot.memory(), &cuda::abi::IpcMemHandle::reserved),
                                                 slot.offset()};
      opened.memory = std::make_unique<cuda::OpenedHandle>(context_, shared, slot.bytes());
    } else {
      opened.memory = std::make_unique<cuda::FdMemory>(context_, fds[index].get(), slot.bytes());
    }
    if (!answer.ready_early()) continue;
    opened.copied =
        std::make_unique<cuda::Event>(context_, handle_of(*slot.copied(), &cuda::abi::IpcEventHandle::reserved));
  }
}

std::byte* DeviceSlots::at(uint32_t slot) const {
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(slots_[slot].memory->address()));
}

bool DeviceSlots::close(uint32_t slot) {
  slots_[slot].copied.reset();
  if (slots_[slot].memory && !slots_[slot].memory->close()) return false;
  slots_[slot].memory.reset();
  return true;
}

const char* check_device_slots(const proto::Attached& answer, size_t fds) {
  const auto* slots = answer.device_slots();
  if (!slots || slots->size() != answer.slot_count()) return "ATTACHED does not describe every slot";
  if (fds != (answer.memory() == proto::MemoryKind::cuda_vmm ? slots->size() : 0)) {
    return "ATTACHED does not have one descriptor a slot of device memory";
  }
  for (const proto::DeviceSlot* slot : *slots) {
    if (const char* fault = check_slot(*slot, answer)) return fault;
  }
  return nullptr;
}

}  // namespace spdld::client
