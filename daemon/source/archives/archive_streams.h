// The stores through which archives are read in long runs, and not member by member: remote archives in large blocks,
// where the source says access = "stream", and compressed archives, which are unpacked from their beginning to their
// end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/spec.h"
#include "daemon/source/archives/archive_index.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/files/data_files.h"
#include "daemon/store/streams/block_store.h"

namespace spdld::source {

// How archives are read, as config::SourceSpec has it.
struct ArchiveAccess {
  config::Access access = config::Access::kAuto;
  uint64_t stream_bytes_max = config::kStreamBytes;
  std::shared_ptr<const Bounds> bounds = {};  // of local archives; null: anywhere
  std::string noun = "archive";               // for sentences
};

// Constant after make(), but for what its stores do; any thread.
class ArchiveStreams {
 public:
  struct Archive {
    const DataFile* file = nullptr;  // its name is of the locator, and in errors
    uint64_t bytes = 0;              // of its content, up to its last member's end
    Compression compression = Compression::kNone;
    uint64_t unpacker_bytes = 0;
    std::vector<uint32_t> useful = {};  // bytes of members in each block
  };

  // An archive that needs no stream stays as it is. Throws SetupError: an archive is compressed, and the source forbids
  // to stream it, or gives too little memory for it.
  void make(const std::vector<Archive>& archives, const ArchiveAccess& access);

  // The store that has this archive under its name; null: it is read as it lies.
  store::streams::BlockStore* store_of(size_t archive) const {
    return archive < places_.size() ? places_[archive].store : nullptr;
  }
  // Of the archive's content in that store.
  store::Identity identity_of(size_t archive) const { return places_[archive].identity; }
  bool any() const { return !places_.empty(); }
  bool any_packed() const { return unpacked_ != nullptr; }
  unsigned concurrency() const;
  uint64_t block_bytes_max() const { return block_bytes_max_; }  // that all blocks may take

 private:
  struct Place {
    store::streams::BlockStore* store = nullptr;
    store::Identity identity = {};
  };
  void make_ranges(const std::vector<Archive>& archives, uint64_t bytes_max);
  void make_unpacked(const std::vector<Archive>& archives, const ArchiveAccess& access, uint64_t bytes_max);

  std::vector<Place> places_;  // by archive; none: nothing is streamed
  std::unique_ptr<store::streams::BlockStore> ranges_, unpacked_;
  uint64_t block_bytes_max_ = 0;
};

}  // namespace spdld::source
