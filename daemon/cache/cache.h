// The node's cache of samples that were read: their bytes as fetched, or the planes of their pictures. All pipelines
// and jobs share it. Memory first, then a folder on a local disk, which outlives the daemon.
//
// Epochs in random order make recency useless, so entries stay ("fill once and keep"): every epoch hits the same share,
// where a least-recently-used cache that is a little too small hits nothing. When memory or disk is full, nothing more
// is put in, with one exception: unused shelves make room for shelves in use, the longest unused first.
//
// A Shelf is one field of one data set, as fetched or in one prepared form; each entry says whether it has that form,
// since not every sample can be prepared. Its entries lie one behind another in large segments of memory,
// which are given back only with the whole shelf: so a reader of an entry needs neither a lock nor a reference to the
// entry, only to its shelf. The byte limits count whole segments (on disk: files) with their indexes and are never
// passed. They do not count the disk's index in memory: 4 bytes a sample and 40 an entry, for shelves in use.
//
// The folder has one sub-folder for each shelf, named by a hash of its key, with three files (daemon/cache/disk/):
// `shelf` tells the key in words, `index` is read when the shelf is opened, `entries` has the bytes. Nothing is synced:
// checksums show entries that a crash has torn, and these are left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cache/entries/entry.h"
#include "daemon/cache/entries/report.h"
#include "daemon/store/object.h"

namespace spdld::cache {

struct Settings {
  uint64_t ram_bytes_max = 0;      // 0: nothing is kept in memory
  std::filesystem::path folder{};  // empty: no disk. Is made where it is missing; one daemon alone uses it (flock)
  uint64_t disk_bytes_max = 0;
};

// In the words of pipelines: "encoded"; else the first word of the representation, which is "decoded" for planes.
std::string_view form_name(const ShelfKey& key);

class Cache;
class ShelfState;

// A pipeline's hold on a shelf. Any thread calls; find() takes no lock and allocates nothing.
class Shelf {
 public:
  ~Shelf();
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;

  const ShelfKey& key() const;
  // Counts a hit or a miss.
  Found find(uint64_t sample) const;
  // Counts a hit alone, for a caller that looks at several shelves and says with count_miss() which of them lacks it.
  Found look(uint64_t sample) const;
  void count_miss();
  // Says that the sample's file was checked, and is still the file that the entry was made from.
  void confirm(uint64_t sample);
  // Says that the file has changed, or that the entry is damaged: find() no longer gives the entry, and a new entry may
  // take its place. The memory stays as it is while the shelf is held: somebody may be reading it. (An entry on disk
  // may be found again after a restart, if nothing took its place; it will turn out changed or damaged again.)
  void drop(uint64_t sample, bool damaged);

  // Room for an entry that the caller writes, aligned to 64 bytes; nobody finds the entry before keep(). nullptr: there
  // is no room, or another thread is putting this sample in, so that the caller must use memory of its own. A held room
  // keeps its shelf's memory, and may outlive the Shelf.
  class Room {
   public:
    Room() = default;
    Room(Room&&) noexcept;
    Room& operator=(Room&&) noexcept;
    ~Room();  // gives back memory that was not kept
    uint8_t* memory() const { return memory_; }
    explicit operator bool() const { return memory_ != nullptr; }
    // From here on the entry is found, and its memory is constant: it may still be read through memory().
    void keep(const store::Identity& identity);

   private:
    friend class Shelf;
    std::shared_ptr<ShelfState> shelf_;  // set with memory_
    uint64_t sample_ = 0;
    uint8_t* memory_ = nullptr;
    bool kept_ = false;
  };
  Room reserve(uint64_t sample, uint64_t bytes, Form form = Form::kEncoded);
  // Whether reserve() may still succeed for entries of this size. If not, nobody needs to make more than is used at
  // once.
  bool has_room(uint64_t bytes) const;
  // A sample was not kept for want of room, and nobody has asked reserve() for it.
  void count_refused();
  // Whether put_on_disk() may still succeed for entries of this size.
  bool has_disk_room(uint64_t bytes) const;
  // Copies an entry to the queue of the disk's writing thread. The entry may be in memory, too: on disk it outlives the
  // daemon. False: there is no disk, the disk is full, its queue is full (then another epoch brings the entry again),
  // or the disk has the sample already. An entry may still be lost where another shelf must go for it, or where the
  // disk refuses it.
  bool put_on_disk(uint64_t sample, const store::Identity& identity, const uint8_t* bytes, uint64_t count,
                   Form form = Form::kEncoded);
  // Whether these bytes, read from the place that find() gave (kDisk), are the bytes that were put there. If not, call
  // drop(sample, true). About 0.1 ns a byte.
  bool is_sound(uint64_t sample, std::span<const uint8_t> bytes) const;

  ShelfReport report() const;
  // The entries in memory, or on disk, with their bytes, and the bytes that were taken for further ones. No lock.
  struct Fill {
    uint64_t entries = 0, bytes = 0, left = 0;
  };
  Fill memory_fill() const;
  Fill disk_fill() const;

  explicit Shelf(std::shared_ptr<ShelfState> state);  // called by Cache::open

 private:
  std::shared_ptr<ShelfState> state_;
};

class Cache {
 public:
  // Reads the folder's index. Trouble with the folder is no reason not to start: report().disk_trouble says it.
  explicit Cache(const Settings& settings);
  // Waits for entries queued for the disk, at most 2 seconds and the time of one write(). A shelf that is still held
  // can be read, but nothing is put on disk any more; the folder stays locked until that shelf goes.
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  bool is_on() const;
  // The shelf of this key, which is made where there is none. Its entries count as unconfirmed where nobody held it. It
  // may read the shelf's index from disk: not for the control thread.
  std::shared_ptr<Shelf> open(const ShelfKey& key, uint64_t samples);
  // Bytes that a shelf might still get in memory (on disk): free bytes, and bytes of shelves that nobody uses.
  uint64_t available_bytes() const;
  uint64_t available_disk_bytes() const;
  Report report() const;
  std::string disk_trouble() const;  // as report() has it

 private:
  class Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace spdld::cache
