// How an archive is compressed, as its first bytes say it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace spdld::store::unpack {

enum class Compression : uint8_t {
  kNone,
  kGzip,   // RFC 1952
  kZstd,   // RFC 8878
  kBzip2,  // known by name alone, as the following
  kXz
};

inline constexpr size_t kMagicBytes = 6;  // that compression_of() looks at

// kNone: something else, or it is too short.
Compression compression_of(std::span<const uint8_t> start);
std::string_view name_of(Compression compression);  // "gzip"; empty: kNone
// Whether there is an Unpacker for it.
inline bool is_unpacked(Compression compression) {
  return compression == Compression::kGzip || compression == Compression::kZstd;
}

}  // namespace spdld::store::unpack
