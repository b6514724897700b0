#include "daemon/delivery/ring.h"

#include <algorithm>

#include "daemon/base/cpu.h"

namespace spdld::delivery {

Ring::Ring(std::vector<batch::Slot> slots, memory::Access access, uint32_t readers, uint32_t held_max)
    : slots_(std::move(slots)),
      places_(slots_.size()),
      access_(access),
      reader_count_(readers),
      credit_(UINT32_MAX),
      steps_per_epoch_(1),
      depth_(static_cast<uint32_t>(slots_.size())),
      held_room_(std::max(held_max, 1u)) {}

Ring::Ring(std::vector<batch::Slot> slots, memory::Access access, const Shared& shared)
    : slots_(std::move(slots)),
      places_(slots_.size()),
      access_(access),
      reader_count_(1),
      credit_(shared.credit),
      steps_per_epoch_(shared.steps_per_epoch),
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

bool Ring::is_awaited(const Place& place) const {
  return std::any_of(readers_.begin(), readers_.end(), [&](const auto& reader) {
    return reader.second.at && reader.second.next <= place.number && reader.second.from <= place.batch.position;
  });
}

bool Ring::is_held(const Place& place) const {
  return std::any_of(place.holders.begin(), place.holders.end(), [this](ReaderId id) { return readers_.at(id).at; });
}

// Leases of dismissed readers don't count: the other readers may hold as much as ever.
size_t Ring::in_use() const {
  return static_cast<size_t>(std::count_if(places_.begin(), places_.end(), [this](const Place& place) {
    return place.state == State::kFilling || (place.state == State::kLeased && (is_held(place) || is_awaited(place)));
  }));
}

size_t Ring::room_max() const { return depth_ + held_room_ + spare_room_; }

bool Ring::is_paused() const {
  bool any = false, all = true;
  for (const auto& [id, seat] : readers_)
    if (seat.at) any = true, all &= seat.paused;
  return any && all;
}

bool Ring::has_room() const {
  if (is_paused()) return false;
  const bool any_free = std::any_of(places_.begin(), places_.end(), [](const Place& place) {
    return place.state == State::kFree || place.state == State::kKept;
  });
  return any_free && in_use() < room_max();
}

// The lowest free slot: no more of them are touched than the trainers and the loader need. A shared ring that
// has touched as many takes the slot with the oldest batch.
batch::Slot* Ring::take_free() {
  if (!has_room()) return nullptr;
  size_t given_up = 0;  // to readers that have gone
  for (const Place& place : places_) given_up += place.state == State::kLeased && !is_held(place) && !is_awaited(place);
  const size_t touched_max = is_shared() ? room_max() + depth_ + given_up : places_.size();
  Place* chosen = nullptr;
  for (size_t i = 0; i < places_.size(); i++) {
    Place& place = places_[i];
    if (place.state == State::kFree && (i < touched_max || !chosen)) {
      chosen = &place;
      break;
    }
    if (place.state == State::kKept && (!chosen || place.number < chosen->number)) chosen = &place;
  }
  chosen->state = State::kFilling;
  return &slots_[static_cast<size_t>(chosen - places_.data())];
}

void Ring::filled(const batch::Batch& batch) {
  Place& place = places_.at(batch.slot->index);
  const bool any = std::any_of(readers_.begin(), readers_.end(), [](const auto& reader) { return reader.second.at; });
  const bool wanted = batch.run == run_ && (any || is_shared());
  if (!wanted) return given_back(*batch.slot);
  const size_t ready = ready_count();
  place.state = State::kLeased;
  place.generation++;
  place.leased_at_ns = monotonic_ns();
  place.number = ++last_number_;
  place.batch = batch;
  begun_ = true;
  last_ = batch.position;
  ready_sum_ += ready;
  ready_low_ = std::min(ready_low_, static_cast<uint32_t>(ready));
  statistics_.batches++;
  statistics_.samples += batch.slice.count;
  statistics_.fill_ns.record(batch.fill_ns);
  for (auto& [id, seat] : readers_)
    if (seat.at) serve(id, seat);
  settle(place);
  watch_fullness();
}

void Ring::serve(ReaderId id, Seat& seat) {
  if (seat.paused) {
    if (!seat.stays) seat.next = last_number_ + 1;
    return;
  }
  size_t held = leases(id);
  for (; seat.next <= last_number_ && held < credit_; seat.next++) {
    Place* const place = numbered(seat.next);
    if (!place || place->batch.position < seat.from) continue;
    place->state = State::kLeased;
    place->holders.push_back(id);
    held++;
    seat.sent++;
    seat.at->on_ready(place->batch, place->generation, seat.run);
  }
}

const Ring::Place* Ring::numbered(uint64_t number) const {
  for (const Place& place : places_)
    if (place.number == number && (place.state == State::kLeased || place.state == State::kKept)) return &place;
  return nullptr;
}

Ring::Place* Ring::numbered(uint64_t number) {
  return const_cast<Place*>(static_cast<const Ring*>(this)->numbered(number));
}

// A filled slot that nobody has or waits for.
void Ring::settle(Place& place) {
  if (place.state != State::kLeased || !place.holders.empty() || is_awaited(place)) return;
  place.state = is_shared() ? State::kKept : State::kFree;
  statistics_.held_ns.record(monotonic_ns() - place.leased_at_ns);
}

void Ring::settle_all() {
  for (Place& place : places_) settle(place);
  watch_fullness();
}

void Ring::pause(ReaderId reader, uint32_t run, std::span<const LeaseId> keeps,
                 std::optional<sampler::Position> stays_at) {
  const auto at = readers_.find(reader);
  if (at == readers_.end() || !at->second.at) return;
  Seat& seat = at->second;
  seat.run = run;
  seat.paused = true;
  seat.stays = stays_at && rewind(reader, seat, *stays_at);
  if (!seat.stays) seat.next = last_number_ + 1;
  end_leases_but(reader, keeps);
  settle_all();
}

// false: not all of this run is there any more from that place on.
bool Ring::rewind(ReaderId id, Seat& seat, sampler::Position to) {
  const auto is_of_it = [&](const Place* place) {
    return place && place->batch.run == run_ && place->batch.position >= to;
  };
  uint64_t first = last_number_ + 1;
  while (is_of_it(numbered(first - 1))) std::erase(numbered(--first)->holders, id);
  seat.next = first;
  return first > last_number_ ? !begun_ || last_ < to : numbered(first)->batch.position == to;
}

void Ring::forget_stays() {
  for (auto& [id, seat] : readers_)
    if (std::exchange(seat.stays, false)) seat.next = last_number_ + 1;
  settle_all();
}

bool Ring::all_stay() const {
  return std::all_of(readers_.begin(), readers_.end(),
                     [](const auto& reader) { return !reader.second.at || reader.second.stays; });
}

void Ring::resume(ReaderId reader) {
  const auto at = readers_.find(reader);
  if (at == readers_.end() || !at->second.at) return;
  at->second.paused = at->second.stays = false;
  serve(reader, at->second);
  settle_all();
}

void Ring::move(uint32_t run) {
  run_ = run;
  begun_ = false;
  forget_stays();
}

void Ring::given_back(batch::Slot& slot) {
  places_.at(slot.index).state = State::kFree;
  watch_fullness();
}

ReaderId Ring::join(Reader& at, sampler::Position from) {
  const ReaderId id = next_reader_++;
  Seat& seat = readers_[id] = Seat{&at, from, last_number_ + 1};
  if (is_shared()) {
    while (seat.next > 1 && numbered(seat.next - 1)) seat.next--;
    for (Place& place : places_)
      if (place.state == State::kKept && is_awaited(place)) place.state = State::kLeased;
    watch_fullness();
  }
  return id;
}

void Ring::begin(ReaderId reader) {
  const auto at = readers_.find(reader);
  if (at == readers_.end() || !at->second.at) return;
  serve(reader, at->second);
  settle_all();
}

std::optional<sampler::Position> Ring::window_begin() const {
  const Place* first = nullptr;
  for (uint64_t number = last_number_; number > 0; number--) {
    const Place* const place = numbered(number);
    if (!place) break;
    first = place;
  }
  return first ? std::optional(first->batch.position) : std::nullopt;
}

uint64_t Ring::behind(ReaderId reader) const {
  const auto at = readers_.find(reader);
  return at == readers_.end() ? 0 : last_number_ + 1 - at->second.next;
}

bool Ring::is_abreast(ReaderId reader) const {
  const auto at = readers_.find(reader);
  if (at == readers_.end()) return false;
  const sampler::Position next = sampler::steps_on(last_, 1, steps_per_epoch_);
  return std::none_of(readers_.begin(), readers_.end(), [&](const auto& other) {
    const Seat& seat = other.second;
    return seat.at && seat.from <= next && seat.next > at->second.next;
  });
}

std::optional<ReaderId> Ring::laggard() const {
  if (!is_shared() || has_room()) return std::nullopt;
  std::optional<ReaderId> last;
  uint64_t last_had = UINT64_MAX;  // number of the oldest batch that it has not given back
  bool another_waits = false;
  for (const auto& [id, seat] : readers_) {
    if (!seat.at) continue;
    uint64_t oldest = seat.next;
    for (const Place& place : places_)
      if (std::find(place.holders.begin(), place.holders.end(), id) != place.holders.end())
        oldest = std::min(oldest, place.number);
    if (oldest < last_had) last = id, last_had = oldest;
  }
  const sampler::Position next = sampler::steps_on(last_, 1, steps_per_epoch_);
  for (const auto& [id, seat] : readers_)
    another_waits |= seat.at && id != last && behind(id) == 0 && leases(id) < credit_ && seat.from <= next;
  return another_waits ? last : std::nullopt;
}

void Ring::leave(ReaderId reader) {
  dismiss(reader, {});
  readers_.erase(reader);
}

void Ring::end_leases_but(ReaderId reader, std::span<const LeaseId> keeps) {
  for (uint32_t slot = 0; slot < places_.size(); slot++) {
    const LeaseId lease{slot, places_[slot].generation};
    if (std::find(keeps.begin(), keeps.end(), lease) == keeps.end()) end_lease(places_[slot], reader);
  }
}

void Ring::dismiss(ReaderId reader, std::span<const LeaseId> keeps) {
  end_leases_but(reader, keeps);
  if (const auto seat = readers_.find(reader); seat != readers_.end()) seat->second.at = nullptr;
  settle_all();
}

size_t Ring::departed() const {
  return static_cast<size_t>(std::count_if(readers_.begin(), readers_.end(), [this](const auto& reader) {
    return !reader.second.at && leases(reader.first) > 0;
  }));
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
  const bool is_awaited_again = std::any_of(readers_.begin(), readers_.end(), [&](const auto& other) {
    return other.second.stays && other.second.next <= place.number;
  });
  end_lease(place, reader);
  if (is_awaited_again) forget_stays();  // it can't be sent to this one again
  if (const auto at = readers_.find(reader); at->second.at) serve(reader, at->second);
  released_ = true;
  spare_room_ = 0;
  watch_fullness();
  return true;
}

void Ring::end_lease(Place& place, ReaderId reader) {
  if (std::erase(place.holders, reader) > 0) settle(place);
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

// Filled for the reader that is furthest behind, and not yet taken by its next().
size_t Ring::ready_count() const {
  uint64_t waiting = 0;
  for (const auto& [reader, seat] : readers_)
    if (seat.at) waiting = std::max(waiting, seat.sent - seat.taken + (last_number_ + 1 - seat.next));
  return waiting;
}

Ring::Levels Ring::levels() const {
  Levels levels;
  size_t leased = 0;
  for (const auto& place : places_) {
    levels.free += place.state == State::kFree || place.state == State::kKept;
    levels.filling += place.state == State::kFilling;
    leased += place.state == State::kLeased;
  }
  levels.ready = std::min(ready_count(), leased);
  levels.held = leased - levels.ready;
  return levels;
}

}  // namespace spdld::delivery
