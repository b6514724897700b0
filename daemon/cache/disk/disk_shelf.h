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
#include "daemon/cache/entries/limit.h"
#include "proto/unique_fd.h"

namespace spdld::cache {

// The caller takes bytes from the limit before the shelf uses them on disk.
class DiskShelf {
 public:
  // Bytes of the header, and the file system's overhead for three files and a folder.
  static constexpr uint64_t kOverheadBytes = 16u << 10;

  // `folder` may be missing: the first entry makes it.
  DiskShelf(std::filesystem::path folder, ShelfHeader header, Limit& limit);
  void adopt();  // reads a folder's size and last use; the caller then takes footprint() from the limit

  const ShelfHeader& header() const { return header_; }
  const std::filesystem::path& folder() const { return folder_; }
  bool exists() const { return exists_.load(); }
  // The bytes that the limit counts for this shelf, and the bytes that one more entry will take.
  uint64_t footprint() const { return footprint_.load(std::memory_order_relaxed); }
  uint64_t need(uint64_t bytes) const { return (exists() ? 0 : kOverheadBytes) + kIndexRecordBytes + bytes; }
  // Any thread. Before the index is read, these come from the index file's size.
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

  // Reads the index, which cuts torn tails off; returns how many records were damaged. One thread, while nobody else
  // uses the shelf.
  Result<uint64_t> load();
  bool is_loaded() const { return index_ != nullptr; }
  void unload();
  // Removes its files, which gives their bytes back. Nobody else is using it.
  void remove();
  void set_samples(uint64_t samples) { header_.samples = samples; }  // of a shelf that does not exist yet
  // Gives the folder another name, under which nobody will look for it, so that it can be removed.
  Status rename_away();

  // The index, while it is loaded, and the descriptor for entries that were found there.
  DiskIndex& index() const { return *index_; }
  int entries_fd() const { return entries_file_.get(); }

  // Writes an entry so that it is found; the caller has taken need() from the limit. An error leaves the shelf's
  // entries as they were before. Where `is_late` says so, it stops with an error, too. The writing thread alone.
  Status append(IndexRecord record, std::span<const uint8_t> bytes, uint32_t generation,
                const std::function<bool()>& is_late);

  // The tier counts its holders, under the tier's lock, and the entries on their way to it (any thread).
  uint32_t holds = 0;
  std::atomic<uint32_t> pending{0};

  // Removes the three files of a folder that has no sound header or must go, and the folder itself if nothing else is
  // in it.
  static void remove_folder(const std::filesystem::path& folder);

 private:
  std::filesystem::path header_path() const { return folder_ / "shelf"; }
  std::filesystem::path index_path() const { return folder_ / "index"; }
  std::filesystem::path entries_path() const { return folder_ / "entries"; }
  Status open_files();
  Status create();
  void stamp() const;
  Status cut_off_rest();
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
  uint64_t rest_bytes_ = 0;  // behind those ends, of a failed append; the limit counts them as long as they are there
};

}  // namespace spdld::cache
