#include "daemon/source/archives/kept_archives.h"

#include "daemon/source/files/content_read.h"
#include "daemon/source/kept/kept_records.h"

namespace spdld::source {
namespace {

void write_index(KeptWriter& writer, const ArchiveIndex& index) {
  writer.number(static_cast<uint64_t>(index.compression));
  writer.number(index.unpacker_bytes);
  writer.number(index.extensions.size());
  for (const std::string& extension : index.extensions) writer.text(extension);
  writer.text(index.keys);
  uint64_t end = 0;  // of the member before
  for (size_t sample = 0; sample < index.key_starts.size(); ++sample) {
    const uint64_t first = index.first_members[sample];
    const uint64_t last =
        sample + 1 < index.first_members.size() ? index.first_members[sample + 1] : index.members.size();
    writer.number(last - first);
    for (uint64_t i = first; i < last; ++i) {
      const Member& member = index.members[i];
      // Only a link has its bytes before the bytes of the member before it.
      writer.signed_number(static_cast<int64_t>(member.offset - end));
      writer.number(member.size);
      writer.number(member.extension);
      end = member.offset + member.size;
    }
  }
  write_remarks(writer, index.remarks);
}

bool read_members(KeptReader& reader, ArchiveIndex& index, uint64_t archive_size) {
  uint64_t end = 0;
  for (size_t start = 0; start < index.keys.size(); start = index.keys.find('\0', start) + 1) {
    index.key_starts.push_back(start);
    index.first_members.push_back(index.members.size());
    const uint64_t count = reader.number();
    if (count == 0 || count > kExtensionsMax) return false;  // no extension comes twice in a sample
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t offset = end + static_cast<uint64_t>(reader.signed_number());
      const uint64_t size = reader.number(), extension = reader.number();
      if (!reader.ok() || offset > archive_size || size > archive_size - offset) return false;
      if (extension >= index.extensions.size()) return false;
      index.members.push_back({offset, size & ((uint64_t{1} << 56) - 1), extension & 0xff});
      end = offset + size;
    }
  }
  return true;
}

}  // namespace

std::string kept_bytes_of(const ArchiveIndex& index) {
  KeptWriter writer;
  write_index(writer, index);
  return writer.take();
}

std::optional<ArchiveIndex> archive_index_in(std::string_view bytes, uint64_t archive_bytes) {
  KeptReader reader(bytes);
  ArchiveIndex index;
  const uint64_t compression = reader.number();
  if (compression > static_cast<uint64_t>(Compression::kZstd)) return {};
  index.compression = static_cast<Compression>(compression);
  index.unpacker_bytes = reader.number();
  const uint64_t bytes_max = content_bytes_max(index.compression, archive_bytes);
  const uint64_t extensions = reader.number();
  if (extensions > kExtensionsMax) return {};
  for (uint64_t i = 0; i < extensions; ++i) index.extensions.emplace_back(reader.text());
  index.keys = reader.text();
  if (!index.keys.empty() && index.keys.back() != '\0') return {};
  if (!read_members(reader, index, bytes_max) || !read_remarks(reader, index.remarks)) return {};
  return index;
}

}  // namespace spdld::source
