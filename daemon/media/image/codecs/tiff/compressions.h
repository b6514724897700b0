// The compressions of a TIFF's pages: which are decoded, what their decoders take, and the names of the others. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/media/image/codecs/tiff/reader.h"

namespace spdld::image {

inline constexpr uint64_t kTiffMiB = uint64_t{1} << 20;

struct TiffCompression {
  uint16_t number;
  uint64_t bytes_per_byte;  // no coded byte gives more; 0: a coded bit may give a whole row
  uint64_t memory;          // that its decoder takes at most
};

// nullptr: pages that are compressed so are not decoded.
const TiffCompression* find_tiff_compression(uint16_t number);
// In words that a user knows: "CCITT fax", "LERC compression".
std::string tiff_compression_name(uint16_t number);

constexpr bool is_fax(uint16_t compression) {
  return compression == COMPRESSION_CCITTRLE || compression == COMPRESSION_CCITTFAX3 ||
         compression == COMPRESSION_CCITTFAX4 || compression == COMPRESSION_CCITTRLEW;
}

}  // namespace spdld::image
