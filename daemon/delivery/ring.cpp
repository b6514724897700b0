#include "daemon/delivery/ring.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "daemon/base/system/cpu.h"

namespace spdld::delivery {

Ring::Ring(std::vector<batch::Slot> slots, memory::Access access, uint32_t readers, uint32_t held_max)
    : slots_(std::move(slots)),
      records_(slots_.size()),
      access_(access),
      reader_count_(readers),
      depth_(static_cast<uint32_t>(slots_.size())),
      held_room_(std::max(held_max, 1u)) {}

Ring::Ring(std::vector<batch::Slot> slots, memory::Access access, const Shared& shared)
    : slots_(std::move(slots)),
      records_(slots_.size()),
      access_(access),
      reader_count_(1),
      shared_(shared),
      depth_(shared.depth),
      held_room_(shared.credit) {}

void Ring::set_depth(uint32_t depth) {
  depth_ = std::clamp(depth, 1u, static_cast<uint32_t>(slots_.size()));
  watch_fullness();
}

memory::SlotMemories Ring::take_memories() {
  memory::SlotMemories memories;
  for (auto& slot : slots_) memories.push_back(std::move(slot.memory));
  return memories;
}

bool Ring::tick() {
  if (is_shared() || std::exchange(released_, false) || has_room() || spare_room_ >= slots_.size()) return false;
  spare_room_++;
  watch_fullness();
  return has_room();
}

bool Ring::is_awaited(const SlotRecord& slot) const {
  return std::any_of(readers_.begin(), readers_.end(), [&](const auto& reader) {
    return reader.second.is_here() && reader.second.next <= slot.number && reader.second.from <= slot.batch.position;
  });
}

bool Ring::is_held(const SlotRecord& slot) const {
  return std::any_of(slot.holders.begin(), slot.holders.end(),
                     [this](ReaderId id) { return readers_.at(id).is_here(); });
}

// Leases of dismissed readers don't count: the other readers may hold as much as ever.
bool Ring::is_wanted(const SlotRecord& slot) const {
  return slot.state == SlotState::kLeased && (is_held(slot) || is_awaited(slot));
}

size_t Ring::in_use() const {
  return static_cast<size_t>(std::count_if(records_.begin(), records_.end(), [this](const SlotRecord& slot) {
    return slot.state == SlotState::kFilling || is_wanted(slot);
  }));
}

size_t Ring::to_come() const {
  const auto wanted = static_cast<size_t>(
      std::count_if(records_.begin(), records_.end(), [this](const SlotRecord& slot) { return is_wanted(slot); }));
  return is_paused() || wanted >= room_max() ? 0 : room_max() - wanted;
}

size_t Ring::leases_max() const { return shared_ ? shared_->credit : slots_.size(); }

size_t Ring::room_max() const { return depth_ + held_room_ + spare_room_; }

bool Ring::is_paused() const {
  bool any = false, all = true;
  for (const auto& [id, record] : readers_)
    if (record.is_here()) {
      any = true;
      all &= record.state != ReaderState::kReading;
    }
  return any && all;
}

bool Ring::has_room() const {
  if (is_paused()) return false;
  const bool any_free = std::any_of(records_.begin(), records_.end(), [](const SlotRecord& slot) {
    return slot.state == SlotState::kFree || slot.state == SlotState::kKept;
  });
  return any_free && in_use() < room_max();
}

// The lowest free slot: no more of them are touched than the trainers and the loader need. A shared ring that has
// touched as many, or keeps more batches than it promises to late jobs, takes the slot with the oldest batch.
batch::Slot* Ring::take_free() {
  if (!has_room()) return nullptr;
  size_t given_up = 0, kept = 0;  // given_up: to readers that have gone
  for (const SlotRecord& slot : records_) {
    given_up += slot.state == SlotState::kLeased && !is_held(slot) && !is_awaited(slot);
    kept += slot.state == SlotState::kKept;
  }
  const bool keeps_enough = is_shared() && kept > depth_;
  const size_t touched_max = is_shared() ? room_max() + depth_ + given_up : records_.size();
  SlotRecord* chosen = nullptr;
  for (size_t i = 0; i < records_.size(); i++) {
    SlotRecord& slot = records_[i];
    if (slot.state == SlotState::kFree && !keeps_enough && (i < touched_max || !chosen)) {
      chosen = &slot;
      break;
    }
    if (slot.state == SlotState::kKept && (!chosen || slot.number < chosen->number)) chosen = &slot;
  }
  chosen->state.change(SlotState::kFilling);
  return &slots_[static_cast<size_t>(chosen - records_.data())];
}

void Ring::filled(const batch::Batch& batch) {
  SlotRecord& slot = records_.at(batch.slot->index);
  const bool any =
      std::any_of(readers_.begin(), readers_.end(), [](const auto& reader) { return reader.second.is_here(); });
  const bool wanted = batch.run == run_ && (any || is_shared());
  if (!wanted) return given_back(*batch.slot);
  const size_t ready = ready_count();
  slot.state.change(SlotState::kLeased);
  slot.generation++;
  slot.leased_at_ns = monotonic_ns();
  slot.number = ++last_number_;
  slot.batch = batch;
  begun_ = true;
  last_ = batch.position;
  ready_sum_ += ready;
  ready_low_ = std::min(ready_low_.value_or(UINT32_MAX), static_cast<uint32_t>(ready));
  statistics_.batches++;
  statistics_.samples += batch.valid();
  statistics_.fill_ns.record(batch.fill_ns);
  for (auto& [id, record] : readers_)
    if (record.is_here()) serve(id, record);
  settle(slot);
  watch_fullness();
}

const Ring::SlotRecord* Ring::numbered(uint64_t number) const {
  for (const SlotRecord& slot : records_)
    if (slot.number == number && (slot.state == SlotState::kLeased || slot.state == SlotState::kKept)) return &slot;
  return nullptr;
}

Ring::SlotRecord* Ring::numbered(uint64_t number) {
  return const_cast<SlotRecord*>(static_cast<const Ring*>(this)->numbered(number));
}

// A filled slot that nobody has, and nobody waits for, may be filled anew.
void Ring::settle(SlotRecord& slot) {
  if (slot.state != SlotState::kLeased || !slot.holders.empty() || is_awaited(slot)) return;
  slot.state.change(is_shared() ? SlotState::kKept : SlotState::kFree);
  statistics_.held_ns.record(monotonic_ns() - slot.leased_at_ns);
}

void Ring::settle_all() {
  for (SlotRecord& slot : records_) settle(slot);
  watch_fullness();
}

void Ring::given_back(batch::Slot& slot) {
  SlotRecord& record = records_.at(slot.index);
  if (record.state != SlotState::kFilling)
    throw std::logic_error("slot " + std::to_string(slot.index) + " was given back, and nobody filled it");
  record.state.change(SlotState::kFree);
  watch_fullness();
}

std::optional<sampler::Position> Ring::window_begin() const {
  const SlotRecord* first = nullptr;
  for (uint64_t number = last_number_; number > 0; number--) {
    const SlotRecord* const slot = numbered(number);
    if (!slot) break;
    first = slot;
  }
  return first ? std::optional(first->batch.position) : std::nullopt;
}

void Ring::watch_fullness() {
  const bool filling =
      std::any_of(records_.begin(), records_.end(), [](const auto& slot) { return slot.state == SlotState::kFilling; });
  const bool full = !filling && !has_room();
  if (full == full_since_ns_.has_value()) return;
  full_ns_ = full_ns();
  full_since_ns_ = full ? std::optional(monotonic_ns()) : std::nullopt;
}

uint64_t Ring::full_ns() const { return full_ns_ + (full_since_ns_ ? monotonic_ns() - *full_since_ns_ : 0); }

Ring::Progress Ring::progress(ReaderId reader) const {
  const auto at = readers_.find(reader);
  return at == readers_.end() ? Progress() : Progress{at->second.taken, at->second.waited_us};
}

// Filled for the reader that is furthest behind, and not yet taken by its next().
size_t Ring::ready_count() const {
  uint64_t waiting = 0;
  for (const auto& [reader, record] : readers_)
    if (record.is_here()) waiting = std::max(waiting, record.sent - record.taken + (last_number_ + 1 - record.next));
  return waiting;
}

Ring::Levels Ring::levels() const {
  Levels levels;
  size_t leased = 0;
  for (const auto& slot : records_) {
    levels.free += slot.state == SlotState::kFree || slot.state == SlotState::kKept;
    levels.filling += slot.state == SlotState::kFilling;
    leased += slot.state == SlotState::kLeased;
  }
  levels.ready = std::min(ready_count(), leased);
  levels.held = leased - levels.ready;
  return levels;
}

}  // namespace spdld::delivery
