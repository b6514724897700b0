#include "daemon/store/unpack/compression.h"

#include <algorithm>
#include <array>

namespace spdld::store::unpack {
namespace {

struct Magic {
  Compression compression;
  std::string_view bytes, name;
};
constexpr std::array<Magic, 4> kMagics = {{{Compression::kGzip, "\x1f\x8b", "gzip"},
                                           {Compression::kZstd, "\x28\xb5\x2f\xfd", "zstd"},
                                           {Compression::kBzip2, "BZh", "bzip2"},
                                           {Compression::kXz,
                                            "\xfd"
                                            "7zXZ",
                                            "xz"}}};

}  // namespace

Compression compression_of(std::span<const uint8_t> start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  for (const Magic& magic : kMagics)
    if (text.starts_with(magic.bytes)) return magic.compression;
  // A frame to be skipped, as pzstd and the seekable format begin with.
  const bool is_skipped = text.size() >= 4 && (start[0] & 0xF0) == 0x50 && text.substr(1, 3) == "\x2a\x4d\x18";
  return is_skipped ? Compression::kZstd : Compression::kNone;
}

std::string_view name_of(Compression compression) {
  for (const Magic& magic : kMagics)
    if (magic.compression == compression) return magic.name;
  return {};
}

}  // namespace spdld::store::unpack
