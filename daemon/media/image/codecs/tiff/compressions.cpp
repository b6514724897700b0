#include "daemon/media/image/codecs/tiff/compressions.h"

#include <algorithm>
#include <iterator>

namespace spdld::image {
namespace {

constexpr TiffCompression kDecoded[] = {
    {COMPRESSION_NONE, 1, 0},
    {COMPRESSION_CCITTRLE, 0, 0},
    {COMPRESSION_CCITTFAX3, 0, 0},
    {COMPRESSION_CCITTFAX4, 0, 0},
    {COMPRESSION_CCITTRLEW, 0, 0},
    {COMPRESSION_LZW, 2736, kTiffMiB},            // 4,104 bytes in 12 bits
    {COMPRESSION_PACKBITS, 64, 0},                // 128 bytes in two
    {COMPRESSION_ADOBE_DEFLATE, 1032, kTiffMiB},  // 258 bytes in two bits
    {COMPRESSION_DEFLATE, 1032, kTiffMiB},
    {COMPRESSION_JPEG, 2048, 100 * kTiffMiB},    // libtiff's own limit, for progressive ones
    {COMPRESSION_ZSTD, 32'768, 136 * kTiffMiB},  // 128 KiB in four bytes; the largest window
};

struct Name {
  uint16_t number;
  const char* words;
};
constexpr Name kNames[] = {
    {COMPRESSION_CCITTRLE, "CCITT fax compression (modified Huffman)"},
    {COMPRESSION_CCITTFAX3, "CCITT fax compression (Group 3)"},
    {COMPRESSION_CCITTFAX4, "CCITT fax compression (Group 4)"},
    {COMPRESSION_CCITTRLEW, "CCITT fax compression (modified Huffman)"},
    {COMPRESSION_LZW, "LZW compression"},
    {COMPRESSION_OJPEG, "JPEG data of the old style (TIFF 6.0)"},
    {COMPRESSION_JPEG, "JPEG data"},
    {COMPRESSION_T85, "JBIG compression"},
    {COMPRESSION_T43, "JBIG compression"},
    {COMPRESSION_NEXT, "NeXT's run-length compression"},
    {COMPRESSION_PACKBITS, "PackBits compression"},
    {COMPRESSION_THUNDERSCAN, "ThunderScan compression"},
    {COMPRESSION_IT8CTPAD, "IT8 compression"},
    {COMPRESSION_IT8LW, "IT8 compression"},
    {COMPRESSION_IT8MP, "IT8 compression"},
    {COMPRESSION_IT8BL, "IT8 compression"},
    {COMPRESSION_PIXARFILM, "Pixar's film compression"},
    {COMPRESSION_PIXARLOG, "Pixar's log compression"},
    {COMPRESSION_DEFLATE, "Deflate compression"},
    {COMPRESSION_ADOBE_DEFLATE, "Deflate compression"},
    {COMPRESSION_DCS, "Kodak's DCS compression"},
    {COMPRESSION_JBIG, "JBIG compression"},
    {COMPRESSION_SGILOG, "SGI's LogLuv compression"},
    {COMPRESSION_SGILOG24, "SGI's LogLuv compression"},
    {33003, "JPEG 2000 data"},  // Aperio's scanners of slides
    {33004, "JPEG 2000 data"},
    {33005, "JPEG 2000 data"},
    {COMPRESSION_JP2000, "JPEG 2000 data"},
    {COMPRESSION_LERC, "LERC compression"},
    {34892, "lossy JPEG data of a DNG"},
    {COMPRESSION_LZMA, "LZMA compression"},
    {COMPRESSION_ZSTD, "Zstandard compression"},
    {COMPRESSION_WEBP, "WebP data"},
    {COMPRESSION_JXL, "JPEG XL data"},
    {52546, "JPEG XL data"},  // of a DNG
};

}  // namespace

const TiffCompression* find_tiff_compression(uint16_t number) {
  const auto* found = std::find_if(std::begin(kDecoded), std::end(kDecoded),
                                   [&](const TiffCompression& one) { return one.number == number; });
  return found == std::end(kDecoded) ? nullptr : found;
}

std::string tiff_compression_name(uint16_t number) {
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& one) { return one.number == number; });
  return found == std::end(kNames) ? "a compression that is not known" : found->words;
}

}  // namespace spdld::image
