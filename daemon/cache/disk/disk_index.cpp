#include "daemon/cache/disk/disk_index.h"

#include <algorithm>
#include <limits>

namespace spdld::cache {
namespace {

// Dropped entries keep their places until the index is read again; this bounds them.
uint64_t places_max(uint64_t samples) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max() - 2;
  return samples > kMost / 2 ? kMost : std::min(kMost, 2 * samples + 1024);
}

}  // namespace

DiskIndex::DiskIndex(uint64_t samples) : words_(samples), places_(places_max(samples)) {}

void DiskIndex::fill(Place& place, const IndexRecord& record, uint32_t generation) {
  place.identity = record.identity;
  place.offset = record.offset & IndexRecord::kOffsetMax;
  place.is_prepared = record.form == Form::kPrepared;
  place.checksum = record.checksum;
  place.bytes = static_cast<uint32_t>(record.bytes);
  place.generation.store(generation, std::memory_order_relaxed);
}

bool DiskIndex::load(const IndexRecord& record, uint64_t file_bytes) {
  if (record.sample >= words_.size() || record.bytes == 0 || record.bytes > std::numeric_limits<uint32_t>::max() ||
      record.bytes > file_bytes || record.offset > file_bytes - record.bytes) {
    return false;
  }
  Word* word = words_.make(record.sample);
  if (!word) return false;
  // Nobody else is here: no locked instructions, which would wait for each word to come from memory.
  uint64_t entries = entries_.load(std::memory_order_relaxed), bytes = entry_bytes_.load(std::memory_order_relaxed);
  Place* place = place_of(word->load(std::memory_order_relaxed));
  if (place) {  // an older one of this sample
    --entries;
    bytes -= place->bytes;
  } else {
    place = places_taken_ < places_.size() ? places_.make(places_taken_) : nullptr;
    if (!place) return false;
    word->store(kFirst + places_taken_++, std::memory_order_relaxed);
  }
  fill(*place, record, 0);
  entries_.store(entries + 1, std::memory_order_relaxed);
  entry_bytes_.store(bytes + record.bytes, std::memory_order_relaxed);
  return true;
}

std::optional<DiskIndex::Entry> DiskIndex::find(uint64_t sample, uint32_t generation) const {
  const Word* word = words_.find(sample);
  const Place* place = word ? place_of(word->load(std::memory_order_acquire)) : nullptr;
  if (!place) return {};
  return Entry{record_of(sample, *place), place->generation.load(std::memory_order_relaxed) == generation};
}

void DiskIndex::confirm(uint64_t sample, uint32_t generation) {
  const Word* word = words_.find(sample);
  Place* place = word ? place_of(word->load(std::memory_order_acquire)) : nullptr;
  if (place) place->generation.store(generation, std::memory_order_relaxed);
}

std::optional<IndexRecord> DiskIndex::drop(uint64_t sample) {
  Word* word = words_.find(sample);
  uint32_t was = word ? word->load(std::memory_order_acquire) : kNothing;
  const Place* place = place_of(was);
  if (!place || !word->compare_exchange_strong(was, kNothing, std::memory_order_relaxed)) return {};
  entries_.fetch_sub(1, std::memory_order_relaxed);
  entry_bytes_.fetch_sub(place->bytes, std::memory_order_relaxed);
  return record_of(sample, *place);
}

bool DiskIndex::begin(uint64_t sample) {
  if (sample >= words_.size()) return false;
  const std::lock_guard lock(making_);
  Word* word = words_.make(sample);
  uint32_t nothing = kNothing;
  return word && places_taken_ < places_.size() &&
         word->compare_exchange_strong(nothing, kPending, std::memory_order_relaxed);
}

void DiskIndex::abandon(uint64_t sample) { words_.find(sample)->store(kNothing, std::memory_order_relaxed); }

bool DiskIndex::publish(const IndexRecord& record, uint32_t generation) {
  const std::lock_guard lock(making_);
  Place* place = places_taken_ < places_.size() ? places_.make(places_taken_) : nullptr;
  if (!place) return false;
  fill(*place, record, generation);
  entries_.fetch_add(1, std::memory_order_relaxed);
  entry_bytes_.fetch_add(record.bytes, std::memory_order_relaxed);
  words_.find(record.sample)->store(kFirst + places_taken_++, std::memory_order_release);
  return true;
}

}  // namespace spdld::cache
