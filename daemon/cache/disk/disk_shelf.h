// One shelf's folder: `shelf` (its key in words), `index` and `entries` (the entries' bytes, one behind another; both
// append-only).
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "daemon/base/result.h"
#include "daemon/cache/disk/disk_index.h"
#include "daemon/cache/disk/shelf_header.h"
#include "daemon/cache/limit.h"
#include "proto/unique_fd.h"

namespace spdld::cache {

// What it takes on disk is taken from the limit before, by who calls.
class DiskShelf {
 public:
  // With the header, what the file system takes for three files and a folder.
  static constexpr uint64_t kOverheadBytes = 16u << 10;

  // `folder` may be missing: it is made with the first entry.
  DiskShelf(std::filesystem::path folder, ShelfHeader header, Limit& limit);
  void adopt();  // the folder is there: how large it is, and when it was used; footprint() is to be taken after

  const ShelfHeader& header() const { return header_; }
  const std::filesystem::path& folder() const { return folder_; }
  bool exists() const { return exists_.load(); }
  // What the limit counts for it; and what one more entry will take.
  uint64_t footprint() const { return footprint_.load(std::memory_order_relaxed); }
  uint64_t need(uint64_t bytes) const { return (exists() ? 0 : kOverheadBytes) + kIndexRecordBytes + bytes; }
  // Any thread; before the index is read, what its size says.
  uint64_t entries() const {
    const DiskIndex* index = counted_.load(std::memory_order_acquire);
    return index ? index->entries() : unread_entries_.load(std::memory_order_relaxed);
  }
  uint64_t entry_bytes() const {
    const DiskIndex* index = counted_.load(std::memory_order_acquire);
    return index ? index->entry_bytes() : unread_bytes_.load(std::memory_order_relaxed);
  }

  // The time of its last use, ns since 1970; kept in the folder.
  int64_t last_used_ns() const { return last_used_ns_; }
  void set_last_used_ns(int64_t time_ns);

  // Reads the index, which cuts torn tails off; returns how many records were damaged. One thread, nobody else using
  // it.
  Result<uint64_t> load();
  bool is_loaded() const { return index_ != nullptr; }
  void unload();
  // Removes its files, which gives their bytes back. Nobody else is using it.
  void remove();
  void set_samples(uint64_t samples) { header_.samples = samples; }  // of one that does not exist
  // To be removed, by another name, under which nobody will look for it.
  Status rename_away();

  // While it is loaded. Of an entry that was found there.
  DiskIndex& index() const { return *index_; }
  int entries_fd() const { return entries_file_.get(); }

  // Writes an entry and makes it found; need() is taken from the limit already. An error leaves it as it was before.
  // Stops with an error, too, where `is_late` says so. The writing thread alone.
  Status append(IndexRecord record, std::span<const uint8_t> bytes, uint32_t generation,
                const std::function<bool()>& is_late);

  // By the tier, under its lock: who holds it, and entries on their way to it (any thread).
  uint32_t holds = 0;
  std::atomic<uint32_t> pending{0};

  // Of a folder that has no sound header, or is to go: its three files, and the folder if nothing else is in it.
  static void remove_folder(const std::filesystem::path& folder);

 private:
  std::filesystem::path header_path() const { return folder_ / "shelf"; }
  std::filesystem::path index_path() const { return folder_ / "index"; }
  std::filesystem::path entries_path() const { return folder_ / "entries"; }
  Status open_files();
  Status create();
  void stamp() const;
  Status cut_to(uint64_t index_bytes, uint64_t entries_bytes);
  Status write(const IndexRecord& record, std::span<const uint8_t> bytes, const std::function<bool()>& is_late);

  std::filesystem::path folder_;
  ShelfHeader header_;
  Limit& limit_;
  std::atomic<int64_t> last_used_ns_{0};
  std::atomic<bool> exists_{false};
  std::atomic<uint64_t> footprint_{0}, unread_entries_{0}, unread_bytes_{0};
  std::unique_ptr<DiskIndex> index_;
  std::atomic<const DiskIndex*> counted_{nullptr};  // index_, for reports
  UniqueFd index_file_, entries_file_;
  uint64_t index_end_ = 0, entries_end_ = 0;
};

}  // namespace spdld::cache
