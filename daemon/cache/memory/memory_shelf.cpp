#include "daemon/cache/memory/memory_shelf.h"

#include <algorithm>
#include <memory>

namespace spdld::cache {

struct alignas(64) MemoryShelf::Header {
  store::Identity identity;
  uint64_t bytes = 0;      // of the entry, without this header
  uint64_t footprint = 0;  // all that it takes in its segment
  std::atomic<uint32_t> generation{0};
  bool own_segment = false;
  Form form = Form::kEncoded;

  uint8_t* memory() { return reinterpret_cast<uint8_t*>(this) + sizeof(Header); }
  static Header* of(uint8_t* memory) { return reinterpret_cast<Header*>(memory - sizeof(Header)); }
  // Stands in the word of a sample while its entry is being made.
  static Header* reserved() {
    static Header header;
    return &header;
  }
};

namespace {

constexpr uint64_t kAlignment = 64;

uint64_t footprint_of(uint64_t bytes) { return kAlignment + (bytes + kAlignment - 1) / kAlignment * kAlignment; }
uint64_t whole_pages(uint64_t bytes) {
  return (bytes + Mapping::kPageBytes - 1) / Mapping::kPageBytes * Mapping::kPageBytes;
}

}  // namespace

MemoryShelf::MemoryShelf(MemoryTier& tier, uint64_t samples) : tier_(tier), words_(samples) {
  static_assert(sizeof(Header) == kAlignment);
}

MemoryShelf::~MemoryShelf() {
  const std::lock_guard lock(tier_.mutex());
  tier_.remove_unused(*this, held_bytes_);
  empty();
}

void MemoryShelf::begin_use() {
  const std::lock_guard lock(tier_.mutex());
  if (uses_++ == 0) tier_.remove_unused(*this, held_bytes_);
}

void MemoryShelf::end_use() {
  const std::lock_guard lock(tier_.mutex());
  if (--uses_ == 0 && held_bytes_ != 0) tier_.add_unused(*this, held_bytes_);
}

bool MemoryShelf::is_used() {
  const std::lock_guard lock(tier_.mutex());
  return uses_ != 0;
}

void MemoryShelf::empty() {
  for (Mapping& segment : segments_) tier_.give_back(std::move(segment));
  segments_.clear();
  tier_.give(words_.clear());
  open_ = nullptr;
  open_left_ = 0;
  held_bytes_ = 0;
  entries_ = 0;
  entry_bytes_ = 0;
  wasted_bytes_ = 0;
}

MemoryShelf::Header* MemoryShelf::find_header(uint64_t sample) const {
  const Word* word = words_.find(sample);
  Header* header = word ? word->load(std::memory_order_acquire) : nullptr;
  return header == Header::reserved() ? nullptr : header;
}

bool MemoryShelf::find(uint64_t sample, uint32_t generation, Found& found) const {
  Header* header = find_header(sample);
  if (!header) return false;
  found.where = Found::Where::kMemory;
  found.confirmed = header->generation.load(std::memory_order_relaxed) == generation;
  found.form = header->form;
  found.identity = header->identity;
  found.memory = header->memory();
  found.bytes = header->bytes;
  return true;
}

void MemoryShelf::confirm(uint64_t sample, uint32_t generation) {
  if (Header* header = find_header(sample)) header->generation.store(generation, std::memory_order_relaxed);
}

bool MemoryShelf::drop(uint64_t sample) {
  Header* header = find_header(sample);
  // Nobody empties the shelf meanwhile: the caller uses it.
  if (!header || !words_.find(sample)->compare_exchange_strong(header, nullptr, std::memory_order_relaxed))
    return false;
  entries_.fetch_sub(1, std::memory_order_relaxed);
  entry_bytes_.fetch_sub(header->bytes, std::memory_order_relaxed);
  wasted_bytes_.fetch_add(header->footprint, std::memory_order_relaxed);
  return true;
}

bool MemoryShelf::has_room(uint64_t bytes) const {
  if (bytes == 0 || bytes > tier_.limit().max()) return false;
  const uint64_t need = footprint_of(bytes);
  return open_left_.load(std::memory_order_relaxed) >= need || tier_.available_bytes() >= whole_pages(need);
}

uint8_t* MemoryShelf::reserve(uint64_t sample, uint64_t bytes, Form form, uint32_t generation, Refusal& refusal) {
  refusal = Refusal::kTaken;
  if (find_header(sample)) return nullptr;
  refusal = Refusal::kNoRoom;
  if (sample >= words_.size() || !has_room(bytes)) return nullptr;
  const std::lock_guard lock(tier_.mutex());
  Word* word = word_to_write(sample);
  if (!word) return nullptr;
  if (word->load(std::memory_order_relaxed)) {
    refusal = Refusal::kTaken;
    return nullptr;
  }
  bool own_segment = false;
  const uint64_t footprint = footprint_of(bytes);
  uint8_t* memory = place(footprint, own_segment);
  if (!memory) return nullptr;
  refusal = Refusal::kNone;
  Header* header = std::construct_at(reinterpret_cast<Header*>(memory));
  header->bytes = bytes;
  header->footprint = footprint;
  header->generation.store(generation, std::memory_order_relaxed);
  header->own_segment = own_segment;
  header->form = form;
  word->store(Header::reserved(), std::memory_order_relaxed);
  ++uses_;
  return header->memory();
}

MemoryShelf::Word* MemoryShelf::word_to_write(uint64_t sample) {
  const uint64_t bytes = words_.missing_bytes(sample);
  if (bytes == 0) return words_.make(sample);
  if (!tier_.take(bytes)) return nullptr;
  Word* word = words_.make(sample);
  if (word) {
    held_bytes_ += bytes;
  } else {
    tier_.give(bytes);
  }
  return word;
}

uint8_t* MemoryShelf::place(uint64_t bytes, bool& own_segment) {
  uint64_t left = open_left_.load(std::memory_order_relaxed);
  if (left < bytes) {
    // The rest of an open segment is given up for small entries alone: at most an eighth of it is lost.
    if (bytes > tier_.segment_bytes() / 8) {
      own_segment = true;
      return place_alone(bytes);
    }
    Mapping segment = tier_.take_segment(tier_.segment_bytes(), whole_pages(bytes));
    if (!segment) return nullptr;
    open_ = segment.memory();
    left = segment.bytes();
    held_bytes_ += left;
    segments_.push_back(std::move(segment));
  }
  open_left_.store(left - bytes, std::memory_order_relaxed);
  open_ += bytes;
  return open_ - bytes;
}

uint8_t* MemoryShelf::place_alone(uint64_t bytes) {
  Mapping segment = tier_.take_segment(whole_pages(bytes), whole_pages(bytes));
  if (!segment) return nullptr;
  held_bytes_ += segment.bytes();
  segments_.push_back(std::move(segment));
  return segments_.back().memory();
}

void MemoryShelf::keep(uint64_t sample, uint8_t* memory, const store::Identity& identity) {
  Header* header = Header::of(memory);
  header->identity = identity;
  entries_.fetch_add(1, std::memory_order_relaxed);
  entry_bytes_.fetch_add(header->bytes, std::memory_order_relaxed);
  words_.find(sample)->store(header, std::memory_order_release);
}

void MemoryShelf::end_room(uint64_t sample, uint8_t* memory, bool kept) {
  const std::lock_guard lock(tier_.mutex());
  if (!kept) {
    take_away(Header::of(memory));
    words_.find(sample)->store(nullptr, std::memory_order_relaxed);
  }
  if (--uses_ == 0 && held_bytes_ != 0) tier_.add_unused(*this, held_bytes_);
}

void MemoryShelf::take_away(Header* header) {
  uint8_t* begin = reinterpret_cast<uint8_t*>(header);
  if (header->own_segment) {
    const auto own = std::find_if(segments_.begin(), segments_.end(), [&](auto& s) { return s.memory() == begin; });
    held_bytes_ -= own->bytes();
    tier_.give_back(std::move(*own));
    segments_.erase(own);
  } else if (begin + header->footprint == open_) {
    open_left_.fetch_add(header->footprint, std::memory_order_relaxed);
    open_ = begin;
  } else {
    wasted_bytes_.fetch_add(header->footprint, std::memory_order_relaxed);
  }
}

}  // namespace spdld::cache
