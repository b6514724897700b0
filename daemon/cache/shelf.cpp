#include <utility>

#include "daemon/cache/shelf_state.h"

namespace spdld::cache {

ShelfReport memory_report(const ShelfState& state) {
  ShelfReport report;
  report.key = state.key;
  report.samples = state.samples;
  report.memory_entries = state.memory.entries();
  report.memory_bytes = state.memory.entry_bytes();
  report.memory_wasted = state.memory.wasted_bytes();
  report.memory_left = state.memory.left_bytes();
  report.memory_hits = state.memory_hits.value();
  report.disk_hits = state.disk_hits.value();
  report.misses = state.misses.value();
  report.stale = state.stale.value();
  report.refused = state.refused.value();
  report.in_use = state.holders.load(std::memory_order_relaxed) != 0;
  return report;
}

Shelf::Shelf(std::shared_ptr<ShelfState> state) : state_(std::move(state)) {}
Shelf::~Shelf() { state_->owner.close(*state_); }

const ShelfKey& Shelf::key() const { return state_->key; }

Found Shelf::find(uint64_t sample) const {
  const Found found = look(sample);
  if (found.where == Found::Where::kNowhere) state_->misses.add();
  return found;
}

void Shelf::count_miss() { state_->misses.add(); }

Found Shelf::look(uint64_t sample) const {
  Found found;
  ShelfState& state = *state_;
  const uint32_t generation = state.generation.load(std::memory_order_relaxed);
  if (state.memory.find(sample, generation, found)) {
    state.memory_hits.add();
    return found;
  }
  const auto entry = state.disk ? state.disk->index().find(sample, generation) : std::nullopt;
  if (!entry) return found;
  state.disk_hits.add();
  found.where = Found::Where::kDisk;
  found.confirmed = entry->confirmed;
  found.form = entry->record.form;
  found.identity = entry->record.identity;
  found.bytes = entry->record.bytes;
  found.fd = state.disk->entries_fd();
  found.offset = entry->record.offset;
  return found;
}

void Shelf::confirm(uint64_t sample) {
  const uint32_t generation = state_->generation.load(std::memory_order_relaxed);
  state_->memory.confirm(sample, generation);
  if (state_->disk) state_->disk->index().confirm(sample, generation);
}

void Shelf::drop(uint64_t sample, bool damaged) {
  const bool from_memory = state_->memory.drop(sample);
  const bool from_disk = state_->disk && state_->disk->index().drop(sample);
  if (damaged && from_disk) {
    state_->disk_tier.count_damaged();
  } else if (from_memory || from_disk) {
    state_->stale.add();
  }
}

Shelf::Room::Room(Room&& other) noexcept { *this = std::move(other); }

Shelf::Room& Shelf::Room::operator=(Room&& other) noexcept {
  std::swap(shelf_, other.shelf_);
  std::swap(sample_, other.sample_);
  std::swap(memory_, other.memory_);
  std::swap(kept_, other.kept_);
  return *this;
}

Shelf::Room::~Room() {
  if (memory_) shelf_->memory.end_room(sample_, memory_, kept_);
}

void Shelf::Room::keep(const store::Identity& identity) {
  if (!memory_ || kept_) return;
  shelf_->memory.keep(sample_, memory_, identity);
  kept_ = true;
}

Shelf::Room Shelf::reserve(uint64_t sample, uint64_t bytes, Form form) {
  Room room;
  auto refusal = MemoryShelf::Refusal::kNone;
  room.memory_ =
      state_->memory.reserve(sample, bytes, form, state_->generation.load(std::memory_order_relaxed), refusal);
  if (room.memory_) {
    room.shelf_ = state_;
    room.sample_ = sample;
  } else if (refusal == MemoryShelf::Refusal::kNoRoom && !has_disk_room(bytes)) {
    state_->refused.add();
  }
  return room;
}

void Shelf::count_refused() { state_->refused.add(); }

bool Shelf::has_room(uint64_t bytes) const { return state_->memory.has_room(bytes); }

bool Shelf::has_disk_room(uint64_t bytes) const {
  return state_->disk && state_->disk_tier.has_room(*state_->disk, bytes);
}

bool Shelf::put_on_disk(uint64_t sample, const store::Identity& identity, const uint8_t* bytes, uint64_t count,
                        Form form) {
  if (!state_->disk) return false;
  const auto put = state_->disk_tier.put(
      *state_->disk, {nullptr, sample, identity, state_->generation.load(std::memory_order_relaxed), form}, bytes,
      count);
  // Where there is no room at all reserve() has counted it.
  if (put == DiskTier::Put::kNotNow && !state_->memory.has(sample)) state_->refused.add();
  return put == DiskTier::Put::kQueued;
}

bool Shelf::is_sound(uint64_t sample, std::span<const uint8_t> bytes) const {
  const auto entry = state_->disk ? state_->disk->index().find(sample, 0) : std::nullopt;
  return entry && entry->record.bytes == bytes.size() && entry->record.checksum == checksum_of(bytes);
}

ShelfReport Shelf::report() const {
  ShelfReport report = memory_report(*state_);
  if (state_->disk) {
    report.disk_entries = state_->disk->entries();
    report.disk_bytes = state_->disk->entry_bytes();
  }
  return report;
}

Shelf::Fill Shelf::memory_fill() const {
  return {state_->memory.entries(), state_->memory.entry_bytes(), state_->memory.left_bytes()};
}

Shelf::Fill Shelf::disk_fill() const {
  return state_->disk ? Fill{state_->disk->entries(), state_->disk->entry_bytes(), 0} : Fill{};
}

}  // namespace spdld::cache
