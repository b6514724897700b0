// One shelf's entries in memory. An entry is a header of 64 bytes and its bytes behind it, in a segment; an array has a
// word for each sample, which points to the entry's header.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "daemon/cache/entries/entry.h"
#include "daemon/cache/entries/paged_array.h"
#include "daemon/cache/memory/memory_tier.h"

namespace spdld::cache {

// Any thread. `generation` numbers the openings of the shelf: an entry is confirmed in the generation that its header
// names.
class MemoryShelf {
 public:
  MemoryShelf(MemoryTier& tier, uint64_t samples);
  ~MemoryShelf();  // nobody may be using it
  MemoryShelf(const MemoryShelf&) = delete;
  MemoryShelf& operator=(const MemoryShelf&) = delete;

  // While somebody uses the shelf its memory stays. Each use is ended once; a room from reserve() is a use, too.
  void begin_use();
  void end_use();
  bool is_used();

  // False: not here. Takes no lock.
  bool find(uint64_t sample, uint32_t generation, Found& found) const;
  bool has(uint64_t sample) const { return find_header(sample) != nullptr; }
  void confirm(uint64_t sample, uint32_t generation);
  bool drop(uint64_t sample);  // false: there was nothing

  enum class Refusal : uint8_t { kNone, kNoRoom, kTaken };  // kTaken: another thread has put it in, or is about to
  // Memory for an entry's bytes, aligned to 64; nullptr: see refusal.
  uint8_t* reserve(uint64_t sample, uint64_t bytes, Form form, uint32_t generation, Refusal& refusal);
  void keep(uint64_t sample, uint8_t* memory, const store::Identity& identity);
  void end_room(uint64_t sample, uint8_t* memory, bool kept);
  bool has_room(uint64_t bytes) const;

  uint64_t entries() const { return entries_.load(std::memory_order_relaxed); }
  uint64_t entry_bytes() const { return entry_bytes_.load(std::memory_order_relaxed); }
  uint64_t wasted_bytes() const { return wasted_bytes_.load(std::memory_order_relaxed); }
  uint64_t left_bytes() const { return open_left_.load(std::memory_order_relaxed); }  // in the segment it fills

 private:
  friend class MemoryTier;
  struct Header;
  using Word = std::atomic<Header*>;

  // The following need the tier's mutex held.
  void empty();  // gives all its memory back
  uint64_t held_bytes() const { return held_bytes_; }
  Word* word_to_write(uint64_t sample);
  uint8_t* place(uint64_t bytes, bool& own_segment);
  uint8_t* place_alone(uint64_t bytes);
  void take_away(Header* header);

  Header* find_header(uint64_t sample) const;

  MemoryTier& tier_;
  PagedArray<Word> words_;
  std::vector<Mapping> segments_;
  uint8_t* open_ = nullptr;  // where the next entry goes
  std::atomic<uint64_t> open_left_{0};
  uint64_t held_bytes_ = 0, uses_ = 0;
  std::atomic<uint64_t> entries_{0}, entry_bytes_{0}, wasted_bytes_{0};
};

}  // namespace spdld::cache
