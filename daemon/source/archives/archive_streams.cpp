#include "daemon/source/archives/archive_streams.h"

#include <algorithm>
#include <utility>

#include "daemon/base/random.h"
#include "daemon/source/files/listed_file.h"
#include "daemon/source/listings.h"
#include "daemon/store/object_view.h"
#include "daemon/store/streams/range_filler.h"
#include "daemon/store/streams/unpack_filler.h"

namespace spdld::source {
namespace {

using store::streams::BlockStore;
using store::streams::RangeFiller;
using store::streams::UnpackFiller;
using Archive = ArchiveStreams::Archive;

constexpr uint64_t kUnpackersMax = 16;
constexpr uint64_t kViewBytes = 2 * ByteBuffer::room_for(store::ObjectView::kBlockMax);

UnpackFiller::Open opener_of(const Archive& archive, const ArchiveAccess& access) {
  using Opened = Result<std::unique_ptr<store::View>>;
  if (archive.file->store)
    return [store = archive.file->store, object = archive.file->object,
            identity = archive.file->identity](const std::stop_token& stop) -> Opened {
      return std::unique_ptr<store::View>(std::make_unique<store::ObjectView>(*store, object, identity, stop, true));
    };
  return [path = archive.file->name, identity = archive.file->identity, access](const std::stop_token&) -> Opened {
    return open_listed_file(access.bounds.get(), path, identity, "the " + access.noun + ' ' + path);
  };
}

// Of what a compressed archive holds: another one where the archive is another one.
store::Identity unpacked_identity(const Archive& archive) {
  const auto changed = static_cast<uint64_t>(archive.file->identity.changed);
  return {archive.bytes, static_cast<int64_t>(mix_bits(changed ^ mix_bits(archive.file->identity.size)))};
}

}  // namespace

void ArchiveStreams::make(const std::vector<Archive>& archives, const ArchiveAccess& access) {
  bool has_ranges = false, has_packed = false;
  for (const Archive& archive : archives) {
    const bool is_packed = archive.compression != Compression::kNone;
    if (is_packed && access.access == config::Access::kRanges)
      throw SetupError(Trouble::kUsage, "the archive " + archive.file->name + " is compressed by " +
                                            std::string(name_of(archive.compression)) +
                                            ", and source.access = \"ranges\" reads samples in any order: write access "
                                            "= \"stream\", or leave it out.");
    has_packed = has_packed || is_packed;
    has_ranges = has_ranges || (!is_packed && archive.file->store && access.access == config::Access::kStream);
  }
  if (!has_ranges && !has_packed) return;
  places_.resize(archives.size());
  const uint64_t part = access.stream_bytes_max / (has_ranges && has_packed ? 2 : 1);
  if (has_ranges) make_ranges(archives, part);
  if (has_packed) make_unpacked(archives, access, part);
}

void ArchiveStreams::make_ranges(const std::vector<Archive>& archives, uint64_t bytes_max) {
  std::vector<BlockStore::Object> objects;
  std::vector<RangeFiller::Object> ranges;
  for (const Archive& archive : archives) {
    if (!archive.file->store || archive.compression != Compression::kNone) continue;
    objects.push_back({archive.file->name, archive.file->identity.size, archive.useful});
    ranges.push_back({archive.file->store, archive.file->object, archive.file->identity});
  }
  ranges_ =
      std::make_unique<BlockStore>(std::move(objects), std::make_unique<RangeFiller>(std::move(ranges)), bytes_max);
  block_bytes_max_ += bytes_max;
  for (size_t i = 0; i < archives.size(); ++i)
    if (archives[i].file->store && archives[i].compression == Compression::kNone)
      places_[i] = {ranges_.get(), archives[i].file->identity};
}

// A quarter of the memory is for what unpacks, the rest for blocks.
void ArchiveStreams::make_unpacked(const std::vector<Archive>& archives, const ArchiveAccess& access,
                                   uint64_t bytes_max) {
  std::vector<BlockStore::Object> objects;
  std::vector<UnpackFiller::Object> packed;
  uint64_t most = 0;
  for (const Archive& archive : archives) {
    if (archive.compression == Compression::kNone) continue;
    const uint64_t needed = archive.unpacker_bytes + (!archive.file->store ? 0 : kViewBytes);
    if (needed > bytes_max / 4)
      throw SetupError(
          Trouble::kUsage,
          "unpacking the " + access.noun + ' ' + archive.file->name + " takes " + std::to_string((needed >> 20) + 1) +
              " MiB, and source.stream_bytes_max allows " + std::to_string(bytes_max / 4 >> 20) +
              " MiB for that, a quarter: write source.stream_bytes_max = \"" +
              std::to_string(((needed >> 20) + 1) * 4 * (access.stream_bytes_max / bytes_max)) + " MiB\" or more.");
    most = std::max(most, needed);
    objects.push_back({archive.file->name, archive.bytes, archive.useful});
    packed.push_back({archive.file->name, archive.compression, archive.bytes, opener_of(archive, access)});
  }
  const uint64_t decoders = std::clamp<uint64_t>(bytes_max / 4 / std::max<uint64_t>(most, 1), 1, kUnpackersMax);
  const uint64_t block_bytes = bytes_max - decoders * most;
  unpacked_ = std::make_unique<BlockStore>(
      std::move(objects), std::make_unique<UnpackFiller>(std::move(packed), static_cast<unsigned>(decoders)),
      block_bytes);
  block_bytes_max_ += block_bytes;
  for (size_t i = 0; i < archives.size(); ++i)
    if (archives[i].compression != Compression::kNone) places_[i] = {unpacked_.get(), unpacked_identity(archives[i])};
}

unsigned ArchiveStreams::concurrency() const {
  return std::max(ranges_ ? ranges_->concurrency() : 0, unpacked_ ? unpacked_->concurrency() : 0);
}

ArchiveAccess SourceOpening::access(const FileKind& kind) const {
  return {spec.access, spec.stream_bytes_max, places.bounds, std::string(kind.noun)};
}

}  // namespace spdld::source
