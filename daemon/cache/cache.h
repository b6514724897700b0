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

#include "daemon/base/result.h"
#include "daemon/store/object.h"

namespace spdld::cache {

// The form of one entry.
enum class Form : uint8_t {
  kEncoded,  // bytes as fetched
  kPrepared  // the form that its shelf's key names, which the samples' medium makes of them, such as a picture's planes
};

struct Settings {
  uint64_t ram_bytes_max = 0;      // 0: nothing is kept in memory
  std::filesystem::path folder{};  // empty: no disk. Is made where it is missing; one daemon alone uses it (flock)
  uint64_t disk_bytes_max = 0;
};

// The key of a shelf's samples. Two pipelines with the same key share the shelf.
struct ShelfKey {
  std::string uri;          // of the source
  std::string fingerprint;  // of the listing
  std::string field;        // its name
  // The prepared form that its entries may have, with the versions of all that decides its bytes ("planes 1,
  // libjpeg-turbo 2.1.5"); empty: all entries are bytes as fetched.
  std::string representation = {};
  Form form() const { return representation.empty() ? Form::kEncoded : Form::kPrepared; }
  friend auto operator<=>(const ShelfKey&, const ShelfKey&) = default;
};
// In the words of pipelines: "encoded"; else the first word of the representation, which is "decoded" for planes.
std::string_view form_name(const ShelfKey& key);

// The place of one sample's entry.
struct Found {
  enum class Where : uint8_t { kNowhere, kMemory, kDisk } where = Where::kNowhere;
  // Whether the file was checked since the shelf was opened last. Else the entry may be used only after the file was
  // found to still have `identity`, and confirm() was called.
  bool confirmed = false;
  Form form = Form::kEncoded;
  store::Identity identity;
  const uint8_t* memory = nullptr;  // kMemory: aligned to 64 bytes
  uint64_t bytes = 0;
  int fd = -1;  // kDisk: borrowed, for as long as the shelf is held
  uint64_t offset = 0;
};

struct ShelfReport {
  ShelfKey key;
  uint64_t samples = 0;                                 // of the data set
  uint64_t memory_entries = 0, memory_bytes = 0;        // bytes of entries, without free parts of segments
  uint64_t memory_wasted = 0;                           // bytes of dropped entries, and of rooms that were not kept
  uint64_t memory_left = 0;                             // bytes left in the segment where its next entry goes
  uint64_t disk_entries = 0, disk_bytes = 0;            // not opened since the start: by its index's size
  uint64_t memory_hits = 0, disk_hits = 0, misses = 0;  // results of find() since the daemon started
  uint64_t stale = 0;                                   // entries whose file had changed
  uint64_t refused = 0;                                 // entries that found room neither in memory nor then on disk
  bool in_use = false;
};

struct Report {
  uint64_t ram_bytes = 0, ram_bytes_max = 0;    // in segments
  uint64_t disk_bytes = 0, disk_bytes_max = 0;  // in files, with the file system's overhead
  std::string folder, disk_trouble;  // why the disk is not used (any more); empty: it is used, or not asked for
  uint64_t damaged = 0;              // entries on disk that failed their checksum
  uint64_t evicted = 0;              // unused shelves that made room, in memory and on disk
  std::vector<ShelfReport> shelves;
};

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

  // Memory is taken from the system in pieces of this size (a sixteenth of the limit where that is small); an entry
  // that is larger than an eighth of a piece gets a piece of its own.
  static constexpr uint64_t kSegmentBytes = 32u << 20;

 private:
  class Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace spdld::cache
