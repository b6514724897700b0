#include "daemon/delivery/ring.h"

#include <algorithm>

#include "daemon/base/cpu.h"

namespace spdld::delivery {

Ring::Ring(std::vector<batch::Slot> slots, memory::Access access, uint32_t readers, uint32_t held_max)
    : slots_(std::move(slots)),
      places_(slots_.size()),
      access_(access),
      reader_count_(readers),
      depth_(static_cast<uint32_t>(slots_.size())),
      held_room_(std::max(held_max, 1u)) {}

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
  if (std::exchange(released_, false) || has_room() || spare_room_ >= slots_.size()) return false;
  spare_room_++;
  watch_fullness();
  return has_room();
}

// Leases of readers that have been dismissed don't count: those that are there may hold as much as ever.
bool Ring::has_room() const {
  size_t free = 0, taken_up = 0;
  for (const auto& place : places_) {
    free += place.state == State::kFree;
    taken_up += place.state == State::kFilling ||
                (place.state == State::kLeased && std::any_of(place.holders.begin(), place.holders.end(),
                                                              [this](ReaderId id) { return readers_.at(id).at; }));
  }
  return free > 0 && taken_up < depth_ + held_room_ + spare_room_;
}

batch::Slot* Ring::take_free() {
  if (!has_room()) return nullptr;
  // The lowest free slot: no more of them are touched than the trainer and the loader need.
  for (size_t i = 0; i < places_.size(); i++) {
    if (places_[i].state != State::kFree) continue;
    places_[i].state = State::kFilling;
    return &slots_[i];
  }
  return nullptr;
}

void Ring::filled(const batch::Batch& batch) {
  Place& place = places_.at(batch.slot->index);
  for (const auto& [reader, seat] : readers_)
    if (seat.at && batch.run == run_) place.holders.push_back(reader);
  if (place.holders.empty()) return given_back(*batch.slot);
  place.state = State::kLeased;
  place.generation++;
  place.leased_at_ns = monotonic_ns();
  last_ = batch.position;
  const size_t ready = ready_count();
  ready_sum_ += ready;
  ready_low_ = std::min(ready_low_, static_cast<uint32_t>(ready));
  statistics_.batches++;
  statistics_.samples += batch.slice.count;
  statistics_.fill_ns.record(batch.fill_ns);
  for (auto& [reader, seat] : readers_) {
    if (!seat.at) continue;
    seat.sent++;
    seat.at->on_ready(batch, place.generation);
  }
  watch_fullness();
}

void Ring::given_back(batch::Slot& slot) {
  places_.at(slot.index).state = State::kFree;
  watch_fullness();
}

ReaderId Ring::join(Reader& at) {
  readers_[next_reader_] = Seat{&at, 0, 0, 0};
  return next_reader_++;
}

void Ring::leave(ReaderId reader) {
  dismiss(reader, {});
  readers_.erase(reader);
}

void Ring::dismiss(ReaderId reader, std::span<const LeaseId> keeps) {
  for (uint32_t slot = 0; slot < places_.size(); slot++) {
    const LeaseId lease{slot, places_[slot].generation};
    if (std::find(keeps.begin(), keeps.end(), lease) == keeps.end()) end_lease(places_[slot], reader);
  }
  if (const auto seat = readers_.find(reader); seat != readers_.end()) seat->second.at = nullptr;
  watch_fullness();
}

std::vector<LeaseId> Ring::leases_of(ReaderId reader) const {
  std::vector<LeaseId> leases;
  for (uint32_t slot = 0; slot < places_.size(); slot++) {
    const auto& holders = places_[slot].holders;
    if (std::find(holders.begin(), holders.end(), reader) != holders.end())
      leases.push_back({slot, places_[slot].generation});
  }
  return leases;
}

bool Ring::release(ReaderId reader, const LeaseId& lease) {
  if (lease.slot >= places_.size()) return false;
  Place& place = places_[lease.slot];
  if (place.state != State::kLeased || place.generation != lease.generation) return false;
  if (std::find(place.holders.begin(), place.holders.end(), reader) == place.holders.end()) return false;
  end_lease(place, reader);
  released_ = true;
  spare_room_ = 0;
  watch_fullness();
  return true;
}

void Ring::end_lease(Place& place, ReaderId reader) {
  if (std::erase(place.holders, reader) == 0 || !place.holders.empty()) return;
  place.state = State::kFree;
  statistics_.held_ns.record(monotonic_ns() - place.leased_at_ns);
}

void Ring::note_progress(ReaderId reader, uint64_t taken, uint64_t waited_us) {
  const auto at = readers_.find(reader);
  if (at == readers_.end()) return;
  Seat& seat = at->second;
  seat.taken = std::clamp(taken, seat.taken, seat.sent);
  note_held(reader, seat);
  if (waited_us > seat.waited_us) {
    statistics_.starved_ns += (waited_us - seat.waited_us) * 1000;
    seat.waited_us = waited_us;
  }
}

void Ring::note_held(ReaderId reader, const Seat& seat) {
  const size_t leased = leases(reader), ready = seat.sent - seat.taken;
  held_room_ = std::max(held_room_, leased - std::min(leased, ready));
}

void Ring::watch_fullness() {
  const bool filling =
      std::any_of(places_.begin(), places_.end(), [](const Place& p) { return p.state == State::kFilling; });
  const bool full = !filling && !has_room();
  if (full == (full_since_ns_ != 0)) return;
  const uint64_t now_ns = monotonic_ns();
  if (!full) full_ns_ += now_ns - full_since_ns_;
  full_since_ns_ = full ? now_ns : 0;
}

uint64_t Ring::full_ns() const { return full_ns_ + (full_since_ns_ ? monotonic_ns() - full_since_ns_ : 0); }

double Ring::ready_mean() const {
  return statistics_.batches ? static_cast<double>(ready_sum_) / static_cast<double>(statistics_.batches) : 0;
}

// Sent to the reader that is furthest behind, and not yet taken by its next().
size_t Ring::ready_count() const {
  uint64_t waiting = 0;
  for (const auto& [reader, seat] : readers_)
    if (seat.at) waiting = std::max(waiting, seat.sent - seat.taken);
  return waiting;
}

Ring::Levels Ring::levels() const {
  Levels levels;
  size_t leased = 0;
  for (const auto& place : places_) {
    levels.free += place.state == State::kFree;
    levels.filling += place.state == State::kFilling;
    leased += place.state == State::kLeased;
  }
  levels.ready = std::min(ready_count(), leased);
  levels.held = leased - levels.ready;
  return levels;
}

}  // namespace spdld::delivery
