// The slots of host memory that a crew's workers may write samples into: each has a number among the crew's slots, by
// which workers are told of it. A slot is lent when a sample is first to be written into it, and until its stream has
// ended. The crew's lock guards all of it.
//
// A worker may write into a slot for as long as it lives, like the trainers of its user whose ring it is. So nothing
// that lies in a slot is relied on, and the memory is nobody else's afterwards (SlotMemory::is_lent).
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "daemon/memory/slot_memory.h"
#include "proto/crew/ring.h"

namespace spdld::user {

struct LentSlot {
  uint32_t number = 0;  // from 1 on; none is used twice
  int fd = -1;          // borrowed from the slot's memory
  uint64_t bytes = 0;
  uint8_t* start = nullptr;

  // Precondition: the memory lies in the slot.
  proto::crew::Extent extent_of(const uint8_t* memory, uint64_t of_bytes) const {
    return {static_cast<uint64_t>(memory - start), of_bytes};
  }
};

class LentSlots {
 public:
  // Null: the memory can't be lent, as on a GPU.
  const LentSlot* lend(memory::SlotMemory* memory);
  // The number of the slot, which is lent no more; none: it was not lent.
  std::optional<uint32_t> end(const memory::SlotMemory& memory);

 private:
  std::map<const memory::SlotMemory*, LentSlot> lent_;
  uint32_t last_number_ = 0;
};

}  // namespace spdld::user
