// The stores through which archives are read in long runs, and not member by member: remote archives in large blocks,
// where the source says access = "stream".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/source/data_files.h"
#include "daemon/store/streams/block_store.h"

namespace spdld::source {

// How a webdataset's archives are read, as config::SourceSpec has it.
struct ArchiveAccess {
  bool streams = false;
  uint64_t stream_bytes_max = 0;
};

// Constant after make(), but for what its stores do; any thread.
class ArchiveStreams {
 public:
  struct Archive {
    std::string name;  // its path or uri: of the locator, and in errors
    uint64_t bytes = 0;
    const DataFile* remote = nullptr;
    std::vector<uint32_t> useful = {};  // bytes of members in each block
  };

  // An archive without `remote` stays as it is.
  void make(const std::vector<Archive>& archives, const ArchiveAccess& access);

  // The store that has this archive under its name; null: it is read as it lies.
  store::streams::BlockStore* store_of(size_t archive) const {
    return archive < stores_.size() ? stores_[archive] : nullptr;
  }
  bool any() const { return ranges_ != nullptr; }
  unsigned concurrency() const { return ranges_ ? ranges_->concurrency() : 0; }

 private:
  std::vector<store::streams::BlockStore*> stores_;  // by archive
  std::unique_ptr<store::streams::BlockStore> ranges_;
};

}  // namespace spdld::source
