#include "daemon/source/files/content_read.h"

#include <array>
#include <span>

#include "daemon/base/result.h"
#include "daemon/store/unpack/unpacked_view.h"

namespace spdld::source {
namespace {

Compression compression_in(store::View& file, const std::string& path) {
  std::array<uint8_t, store::unpack::kMagicBytes> start{};
  const Result<uint64_t> got = file.read(0, start);
  if (!got) throw SetupError(got.error().trouble, got.error().message);
  const Compression compression = store::unpack::compression_of(std::span(start).first(*got));
  if (is_unpacked(compression)) return compression;
  // A text may begin with these letters, too.
  const bool has_ending = (compression == Compression::kXz && path.ends_with(".xz")) ||
                          (compression == Compression::kBzip2 && path.ends_with(".bz2"));
  if (has_ending)
    throw SetupError(Trouble::kUsage, path + " is compressed by " + std::string(name_of(compression)) +
                                          ", which is not read: write it with gzip or zstd.");
  return Compression::kNone;
}

}  // namespace

Content read_content(store::View& file, const std::string& path, std::atomic<uint64_t>& done,
                     const std::stop_token& stop, const ReadContent& read) {
  Content content{compression_in(file, path)};
  if (content.compression == Compression::kNone) {
    read(file, done);
    return content;
  }
  store::unpack::UnpackedView unpacked(file, content.compression, done, stop);
  const auto find_damage = [&] {
    Result<std::string> damage = unpacked.find_damage();
    if (!damage) throw SetupError(damage.error().trouble, damage.error().message);
    return std::move(*damage);
  };
  std::atomic<uint64_t> unpacked_bytes{0};
  try {
    read(unpacked, unpacked_bytes);
  } catch (const SetupError& error) {
    if (error.trouble() == Trouble::kStopping || error.trouble() == Trouble::kMemory) throw;
    const std::string damage = find_damage();
    if (!damage.empty()) throw SetupError(Trouble::kContent, path + ": " + damage + '.');  // the better reason
    throw;
  }
  content.damage = find_damage();
  content.unpacker_bytes = unpacked.memory_bytes();
  done.fetch_add(file.size() - unpacked.packed_position(), std::memory_order_relaxed);
  return content;
}

uint64_t content_bytes_max(Compression compression, uint64_t file_bytes) {
  return compression == Compression::kNone ? file_bytes : store::unpack::unpacked_bytes_max(file_bytes);
}

std::string_view content_name(std::string_view path) {
  for (const std::string_view ending : {".gz", ".gzip", ".zst", ".zstd"})
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  return path;
}

}  // namespace spdld::source
