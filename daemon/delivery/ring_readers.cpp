// The reading side of a ring: its readers, their leases and their seeks.
#include <algorithm>

#include "daemon/delivery/ring.h"

namespace spdld::delivery {

void Ring::serve(ReaderId id, ReaderRecord& record) {
  if (record.state == ReaderState::kPaused) record.next = last_number_ + 1;
  if (record.state != ReaderState::kReading) return;
  size_t held = leases(id);
  for (; record.next <= last_number_ && held < leases_max(); record.next++) {
    SlotRecord* const slot = numbered(record.next);
    if (!slot || slot->batch.position < record.from) continue;
    if (slot->state == SlotState::kKept) slot->state.change(SlotState::kLeased);
    slot->holders.push_back(id);
    held++;
    record.sent++;
    const uint64_t start_ns = trace::begin(subject_), batch = slot->batch.number;
    record.at->on_ready(slot->batch, slot->generation, record.run);
    if (start_ns) trace(trace::What::kReady, id, batch, start_ns);
  }
}

void Ring::pause(ReaderId reader, uint32_t run, std::span<const LeaseId> keeps,
                 std::optional<sampler::Position> stays_at) {
  const auto at = readers_.find(reader);
  if (at == readers_.end() || !at->second.is_here()) return;
  ReaderRecord& record = at->second;
  record.run = run;
  const bool stays = stays_at && rewind(reader, record, *stays_at);
  record.state.change(stays ? ReaderState::kStaying : ReaderState::kPaused);
  if (!stays) record.next = last_number_ + 1;
  end_leases_but(reader, keeps);
  settle_all();
}

// false: not all of this run is there any more from that slot on.
bool Ring::rewind(ReaderId id, ReaderRecord& record, sampler::Position to) {
  const auto is_of_it = [&](const SlotRecord* slot) {
    return slot && slot->batch.run == run_ && slot->batch.position >= to;
  };
  uint64_t first = last_number_ + 1;
  while (is_of_it(numbered(first - 1))) std::erase(numbered(--first)->holders, id);
  record.next = first;
  return first > last_number_ ? !begun_ || last_ < to : numbered(first)->batch.position == to;
}

void Ring::forget_stays() {
  for (auto& [id, record] : readers_)
    if (record.state == ReaderState::kStaying) {
      record.state.change(ReaderState::kPaused);
      record.next = last_number_ + 1;
    }
  settle_all();
}

bool Ring::all_stay() const {
  return std::all_of(readers_.begin(), readers_.end(), [](const auto& reader) {
    return !reader.second.is_here() || reader.second.state == ReaderState::kStaying;
  });
}

void Ring::resume(ReaderId reader) {
  const auto at = readers_.find(reader);
  if (at == readers_.end() || !at->second.is_here()) return;
  if (at->second.state != ReaderState::kReading) at->second.state.change(ReaderState::kReading);
  serve(reader, at->second);
  settle_all();
}

void Ring::move(uint32_t run) {
  run_ = run;
  begun_ = false;
  forget_stays();
}

ReaderId Ring::join(Reader& at, sampler::Position from) {
  const ReaderId id = next_reader_++;
  ReaderRecord& record = readers_[id] = ReaderRecord{&at, from, last_number_ + 1};
  if (is_shared()) {
    while (record.next > 1 && numbered(record.next - 1)) record.next--;
    for (SlotRecord& slot : records_)
      if (slot.state == SlotState::kKept && is_awaited(slot)) slot.state.change(SlotState::kLeased);
    watch_fullness();
  }
  return id;
}

void Ring::begin(ReaderId reader) {
  const auto at = readers_.find(reader);
  if (at == readers_.end() || !at->second.is_here()) return;
  serve(reader, at->second);
  settle_all();
}

uint64_t Ring::behind(ReaderId reader) const {
  const auto at = readers_.find(reader);
  return at == readers_.end() ? 0 : last_number_ + 1 - at->second.next;
}

bool Ring::takes_next(const ReaderRecord& record) const {
  return record.is_here() && (!shared_ || record.from <= sampler::steps_on(last_, 1, shared_->steps_per_epoch));
}

bool Ring::is_abreast(ReaderId reader) const {
  const auto at = readers_.find(reader);
  return at != readers_.end() && std::none_of(readers_.begin(), readers_.end(), [&](const auto& other) {
           return takes_next(other.second) && other.second.next > at->second.next;
         });
}

std::optional<ReaderId> Ring::laggard() const {
  if (!is_shared() || has_room()) return std::nullopt;
  std::optional<ReaderId> last;
  uint64_t last_had = UINT64_MAX;  // number of the oldest batch that it has not given back
  bool another_waits = false;
  for (const auto& [id, record] : readers_) {
    if (!record.is_here()) continue;
    uint64_t oldest = record.next;
    for (const SlotRecord& slot : records_)
      if (std::find(slot.holders.begin(), slot.holders.end(), id) != slot.holders.end())
        oldest = std::min(oldest, slot.number);
    if (oldest < last_had) {
      last = id;
      last_had = oldest;
    }
  }
  for (const auto& [id, record] : readers_)
    another_waits |= id != last && takes_next(record) && behind(id) == 0 && leases(id) < leases_max();
  return another_waits ? last : std::nullopt;
}

void Ring::leave(ReaderId reader) {
  dismiss(reader, {});
  readers_.erase(reader);
}

void Ring::end_leases_but(ReaderId reader, std::span<const LeaseId> keeps) {
  for (uint32_t slot = 0; slot < records_.size(); slot++) {
    const LeaseId lease{slot, records_[slot].generation};
    if (std::find(keeps.begin(), keeps.end(), lease) == keeps.end()) end_lease(records_[slot], reader);
  }
}

void Ring::dismiss(ReaderId reader, std::span<const LeaseId> keeps) {
  end_leases_but(reader, keeps);
  if (const auto at = readers_.find(reader); at != readers_.end() && at->second.is_here())
    at->second.state.change(ReaderState::kDismissed);
  settle_all();
}

size_t Ring::departed() const {
  return static_cast<size_t>(std::count_if(readers_.begin(), readers_.end(), [this](const auto& reader) {
    return !reader.second.is_here() && leases(reader.first) > 0;
  }));
}

std::vector<LeaseId> Ring::leases_of(ReaderId reader) const {
  std::vector<LeaseId> leases;
  for (uint32_t slot = 0; slot < records_.size(); slot++) {
    const auto& holders = records_[slot].holders;
    if (std::find(holders.begin(), holders.end(), reader) != holders.end())
      leases.push_back({slot, records_[slot].generation});
  }
  return leases;
}

void Ring::trace(trace::What what, ReaderId reader, uint64_t batch, uint64_t start_ns) const {
  trace::note(subject_, {.start_ns = start_ns,
                         .duration_ns = monotonic_ns() - start_ns,
                         .batch = batch,
                         .index = static_cast<uint32_t>(reader),
                         .what = what});
}

bool Ring::release(ReaderId reader, const LeaseId& lease) {
  if (lease.slot >= records_.size()) return false;
  SlotRecord& slot = records_[lease.slot];
  if (slot.state != SlotState::kLeased || slot.generation != lease.generation) return false;
  if (std::find(slot.holders.begin(), slot.holders.end(), reader) == slot.holders.end()) return false;
  const bool is_awaited_again = std::any_of(readers_.begin(), readers_.end(), [&](const auto& other) {
    return other.second.state == ReaderState::kStaying && other.second.next <= slot.number;
  });
  const uint64_t start_ns = trace::begin(subject_), batch = slot.batch.number;
  end_lease(slot, reader);
  if (is_awaited_again) forget_stays();  // it can't be sent to this one again
  if (const auto at = readers_.find(reader); at->second.is_here()) serve(reader, at->second);
  released_ = true;
  spare_room_ = 0;
  watch_fullness();
  if (start_ns) trace(trace::What::kRelease, reader, batch, start_ns);
  return true;
}

void Ring::end_lease(SlotRecord& slot, ReaderId reader) {
  if (std::erase(slot.holders, reader) > 0) settle(slot);
}

void Ring::note_progress(ReaderId reader, uint64_t taken, uint64_t waited_us) {
  const auto at = readers_.find(reader);
  if (at == readers_.end()) return;
  ReaderRecord& record = at->second;
  record.taken = std::clamp(taken, record.taken, record.sent);
  note_held(reader, record);
  if (waited_us > record.waited_us) {
    statistics_.starved_ns += (waited_us - record.waited_us) * 1000;
    record.waited_us = waited_us;
  }
}

void Ring::note_held(ReaderId reader, const ReaderRecord& record) {
  const size_t leased = leases(reader), ready = record.sent - record.taken;
  held_room_ = std::max(held_room_, leased - std::min(leased, ready));
}

}  // namespace spdld::delivery
