#include "daemon/delivery/ring.h"

#include <algorithm>

#include "daemon/base/cpu.h"

namespace spdld::delivery {

Ring::Ring(std::vector<batch::Slot> slots, memory::Access access, uint32_t readers)
    : slots_(std::move(slots)), places_(slots_.size()), access_(access), reader_count_(readers) {}

batch::Slot* Ring::take_free() {
  // The lowest free slot: a trainer that is slower than the loader keeps few slots in the caches.
  for (size_t i = 0; i < places_.size(); i++) {
    if (places_[i].state != State::kFree) continue;
    places_[i].state = State::kFilling;
    return &slots_[i];
  }
  return nullptr;
}

void Ring::filled(const batch::Batch& batch) {
  Place& place = places_.at(batch.slot->index);
  if (batch.run != run_ || readers_.empty()) return given_back(*batch.slot);
  place.state = State::kLeased;
  place.generation++;
  place.leased_at_ns = monotonic_ns();
  last_ = batch.position;
  ready_sum_ += ready_count();
  statistics_.batches++;
  statistics_.samples += batch.slice.count;
  statistics_.fill_ns.record(batch.fill_ns);
  for (auto& [reader, seat] : readers_) place.holders.push_back(reader);
  for (auto& [reader, seat] : readers_) {
    seat.sent++;
    seat.at->on_ready(batch, place.generation);
  }
  watch_fullness();
}

void Ring::given_back(batch::Slot& slot) {
  places_.at(slot.index).state = State::kFree;
  watch_fullness();
}

void Ring::join(uint32_t reader, Reader& at) { readers_[reader] = Seat{&at, 0, 0, 0}; }

void Ring::leave(uint32_t reader) {
  for (auto& place : places_)
    if (place.state == State::kLeased) end_lease(place, reader);
  readers_.erase(reader);
  watch_fullness();
}

bool Ring::release(uint32_t reader, uint32_t slot, uint64_t generation) {
  if (slot >= places_.size()) return false;
  Place& place = places_[slot];
  if (place.state != State::kLeased || place.generation != generation) return false;
  if (std::find(place.holders.begin(), place.holders.end(), reader) == place.holders.end()) return false;
  end_lease(place, reader);
  watch_fullness();
  return true;
}

void Ring::end_lease(Place& place, uint32_t reader) {
  std::erase(place.holders, reader);
  if (!place.holders.empty()) return;
  place.state = State::kFree;
  statistics_.held_ns.record(monotonic_ns() - place.leased_at_ns);
}

void Ring::note_progress(uint32_t reader, uint64_t taken, uint64_t waited_us) {
  const auto at = readers_.find(reader);
  if (at == readers_.end()) return;
  Seat& seat = at->second;
  seat.taken = std::clamp(taken, seat.taken, seat.sent);
  if (waited_us > seat.waited_us) {
    statistics_.starved_ns += (waited_us - seat.waited_us) * 1000;
    seat.waited_us = waited_us;
  }
}

void Ring::watch_fullness() {
  const bool full =
      std::all_of(places_.begin(), places_.end(), [](const Place& p) { return p.state == State::kLeased; });
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
  for (const auto& [reader, seat] : readers_) waiting = std::max(waiting, seat.sent - seat.taken);
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
