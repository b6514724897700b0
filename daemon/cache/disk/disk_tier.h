// The folder on the local disk that all shelves share. It locks the folder, counts its bytes, and decides which shelf
// goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/cache/disk/disk_shelf.h"
#include "daemon/cache/disk/disk_writer.h"
#include "daemon/cache/entries/entry.h"
#include "daemon/cache/entries/report.h"

namespace spdld::cache {

class DiskTier {
 public:
  // Makes and locks the folder, and looks at its shelves. Trouble throws no exception: fill() tells it.
  // `folder` empty: there is no disk.
  DiskTier(const std::filesystem::path& folder, uint64_t bytes_max);
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  bool is_on() const { return writer_.has_value(); }        // entries are found
  bool is_writable() const { return is_writable_.load(); }  // and put
  void stop();                                              // ends the writing, within DiskWriter::kEnd

  // Each open() is followed by a close(). open() reads the shelf's index; nullptr: there is no disk, or the index can't
  // be read. One thread at a time calls these two; any thread calls the others.
  DiskShelf* open(const ShelfKey& key, uint64_t samples);
  void close(DiskShelf& shelf);

  enum class Put : uint8_t {
    kQueued,
    kNoRoom,
    kNotNow,  // the queue is full, or the daemon ends
    kTaken,   // the disk has the sample, or it is on its way
  };
  // `entry` tells all but the shelf and the bytes.
  Put put(DiskShelf& shelf, DiskWrite entry, const uint8_t* bytes, uint64_t count);
  // Bytes that entries may still take: free bytes, and bytes of shelves that nobody uses.
  uint64_t available_bytes() const;
  // Whether put() may still take an entry of this size. Queued entries have their place already.
  bool has_room(const DiskShelf& shelf, uint64_t count) const;
  void count_damaged() { damaged_.fetch_add(1, std::memory_order_relaxed); }

  // Fills in the disk's part of the report, and of each shelf's report.
  void fill(Report& report) const;
  std::string trouble() const;

 private:
  Status take_folder();
  Status lock_folder();
  void look_at(const std::filesystem::path& folder);
  void keep_below_limit();
  void fail(const std::string& trouble);
  DiskShelf* find(const ShelfKey& key) const;
  bool load(DiskShelf& shelf);
  void tidy();
  bool has_unused() const;
  std::vector<std::unique_ptr<DiskShelf>>::iterator longest_unused();
  bool evict_one();
  void write(DiskWrite& write);
  int64_t next_time_ns();

  const std::filesystem::path folder_;
  Limit limit_;
  UniqueFd lock_;
  std::atomic<bool> is_writable_{false};
  std::atomic<uint64_t> damaged_{0}, evicted_{0};
  std::atomic<uint64_t> promised_{0};  // bytes of queued entries that are not taken from the limit yet
  mutable std::mutex mutex_;
  std::string trouble_;
  std::vector<std::unique_ptr<DiskShelf>> shelves_;
  int64_t last_time_ns_ = 0;
  std::optional<DiskWriter> writer_;  // last: it ends first
};

}  // namespace spdld::cache
