// Slots of rings under test.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "daemon/delivery/ring.h"
#include "daemon/memory/host/host_slot.h"

namespace spdld::test {

inline std::vector<batch::Slot> make_slots(size_t count, memory::Access access = memory::Access::kWritable) {
  std::vector<batch::Slot> slots;
  for (uint32_t i = 0; i < count; i++) slots.push_back({i, std::make_unique<memory::HostSlot>(4096, access)});
  return slots;
}

}  // namespace spdld::test
