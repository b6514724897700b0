#include "daemon/user/lent_slots.h"

namespace spdld::user {

const LentSlot* LentSlots::lend(memory::SlotMemory* memory) {
  if (memory == nullptr) return nullptr;
  if (const auto at = lent_.find(memory); at != lent_.end()) return &at->second;
  const int fd = memory->lend();
  if (fd < 0) return nullptr;
  return &lent_.emplace(memory, LentSlot{++last_number_, fd, memory->bytes(), memory->fill_address()}).first->second;
}

std::optional<uint32_t> LentSlots::end(const memory::SlotMemory& memory) {
  const auto at = lent_.find(&memory);
  if (at == lent_.end()) return std::nullopt;
  const uint32_t number = at->second.number;
  lent_.erase(at);
  return number;
}

}  // namespace spdld::user
