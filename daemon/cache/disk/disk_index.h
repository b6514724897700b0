// The index in memory of a shelf's entries on disk: 4 bytes a sample and 40 an entry, allocated as they are needed.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "daemon/cache/disk/index_file.h"
#include "daemon/cache/entries/paged_array.h"

namespace spdld::cache {

class DiskIndex {
 public:
  explicit DiskIndex(uint64_t samples);

  // Takes a record of the index file, while nobody else uses this object. False: the record can't be true of an entries
  // file of `file_bytes`.
  bool load(const IndexRecord& record, uint64_t file_bytes);

  // Any thread, without a lock.
  struct Entry {
    IndexRecord record;
    bool confirmed = false;
  };
  std::optional<Entry> find(uint64_t sample, uint32_t generation) const;
  void confirm(uint64_t sample, uint32_t generation);
  std::optional<IndexRecord> drop(uint64_t sample);  // the dropped record

  // For a sample whose entry is on its way to the disk: begin(), then publish() or abandon(). False: the entry is there
  // or on its way already, or there can be no more entries. Any thread (a lock is inside).
  bool begin(uint64_t sample);
  void abandon(uint64_t sample);
  bool publish(const IndexRecord& record, uint32_t generation);

  uint64_t entries() const { return entries_.load(std::memory_order_relaxed); }
  uint64_t entry_bytes() const { return entry_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Place {  // of an entry; constant once a word leads to it, but for `generation`
    store::Identity identity;
    uint64_t offset : 63 = 0, is_prepared : 1 = 0;
    uint64_t checksum = 0;
    uint32_t bytes = 0;
    std::atomic<uint32_t> generation{0};
  };
  using Word = std::atomic<uint32_t>;  // kNothing, kPending, or kFirst + the number of its place
  static constexpr uint32_t kNothing = 0, kPending = 1, kFirst = 2;

  Place* place_of(uint32_t word) const { return word < kFirst ? nullptr : places_.find(word - kFirst); }
  void fill(Place& place, const IndexRecord& record, uint32_t generation);
  static IndexRecord record_of(uint64_t sample, const Place& place) {
    const Form form = place.is_prepared ? Form::kPrepared : Form::kEncoded;
    return {sample, place.identity, place.offset, place.bytes, place.checksum, form};
  }

  std::mutex making_;  // of pages, and of places
  PagedArray<Word> words_;
  PagedArray<Place> places_;
  uint32_t places_taken_ = 0;
  std::atomic<uint64_t> entries_{0}, entry_bytes_{0};
};

}  // namespace spdld::cache
