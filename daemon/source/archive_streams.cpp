#include "daemon/source/archive_streams.h"

#include <utility>

#include "daemon/store/streams/range_filler.h"

namespace spdld::source {

using store::streams::BlockStore;
using store::streams::RangeFiller;

void ArchiveStreams::make(const std::vector<Archive>& archives, const ArchiveAccess& access) {
  if (!access.streams) return;
  std::vector<BlockStore::Object> objects;
  std::vector<RangeFiller::Object> ranges;
  for (const Archive& archive : archives) {
    if (archive.remote == nullptr) continue;
    objects.push_back({archive.name, archive.bytes, archive.useful});
    ranges.push_back({archive.remote->store, archive.remote->object, archive.remote->identity});
  }
  if (objects.empty()) return;
  ranges_ = std::make_unique<BlockStore>(std::move(objects), std::make_unique<RangeFiller>(std::move(ranges)),
                                         access.stream_bytes_max);
  for (const Archive& archive : archives) stores_.push_back(archive.remote == nullptr ? nullptr : ranges_.get());
}

}  // namespace spdld::source
