#include "daemon/media/image/tiff/layout.h"

#include <algorithm>
#include <string>

#include "daemon/media/image/stored_codec.h"

namespace spdld::image {
namespace {

// A compression that is decoded. No coded byte gives more than `bytes_per_byte`, and its decoder takes at most
// `memory`.
struct Compression {
  uint16_t number;
  uint64_t bytes_per_byte;
  uint64_t memory;
};

constexpr int kSamplesMax = 64;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr Compression kCompressions[] = {
    {COMPRESSION_NONE, 1, 0},
    {COMPRESSION_LZW, 2736, kMiB},            // 4,104 bytes in 12 bits
    {COMPRESSION_PACKBITS, 64, 0},            // 128 bytes in two
    {COMPRESSION_ADOBE_DEFLATE, 1032, kMiB},  // 258 bytes in two bits
    {COMPRESSION_DEFLATE, 1032, kMiB},
    {COMPRESSION_JPEG, 2048, 100 * kMiB},    // libtiff's own limit, for progressive ones
    {COMPRESSION_ZSTD, 32'768, 136 * kMiB},  // 128 KiB in four bytes; the largest window
};

const Compression* find_compression(uint16_t number) {
  const auto* found = std::find_if(std::begin(kCompressions), std::end(kCompressions),
                                   [&](const Compression& one) { return one.number == number; });
  return found == std::end(kCompressions) ? nullptr : found;
}

Result<TiffLayout::Kind> kind_of(uint16_t photometric, uint16_t compression) {
  switch (photometric) {
    case PHOTOMETRIC_MINISBLACK:
      return TiffLayout::Kind::kGrey;
    case PHOTOMETRIC_MINISWHITE:
      return TiffLayout::Kind::kGreyInverted;
    case PHOTOMETRIC_PALETTE:
      return TiffLayout::Kind::kPalette;
    case PHOTOMETRIC_RGB:
      return TiffLayout::Kind::kRgb;
    case PHOTOMETRIC_YCBCR:  // libjpeg makes RGB of it
      if (compression == COMPRESSION_JPEG) return TiffLayout::Kind::kRgb;
      return not_decoded(kTiffName, "YCbCr colours");
    case PHOTOMETRIC_SEPARATED:
      return not_decoded(kTiffName, "CMYK colours");
    default:
      return not_decoded(kTiffName, "colours of kind " + std::to_string(photometric));
  }
}

// Of floats alpha is dropped. Without a tag of extra samples the fourth of four is taken for alpha, as Pillow takes it.
TiffLayout::Alpha alpha_of(const TiffReader& page, const TiffLayout& layout) {
  if (layout.kind == TiffLayout::Kind::kPalette || layout.samples <= layout.colours() || layout.is_float())
    return TiffLayout::Alpha::kNone;
  uint16_t count = 0;
  uint16_t* kinds = nullptr;
  if (TIFFGetField(page.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) != 1 || count == 0 || kinds == nullptr)
    return layout.samples == 4 && layout.colours() == 3 ? TiffLayout::Alpha::kStraight : TiffLayout::Alpha::kNone;
  if (kinds[0] == EXTRASAMPLE_ASSOCALPHA) return TiffLayout::Alpha::kMultiplied;
  return kinds[0] == EXTRASAMPLE_UNASSALPHA ? TiffLayout::Alpha::kStraight : TiffLayout::Alpha::kNone;
}

Status check_floats(const TiffLayout& layout) {
  if (layout.bits != 32)
    return not_decoded(kTiffName, "floating-point samples of " + std::to_string(layout.bits) + " bits");
  if (layout.kind != TiffLayout::Kind::kGrey && layout.kind != TiffLayout::Kind::kRgb)
    return not_decoded(kTiffName, "floating-point samples that are inverted, or numbers of a palette");
  if (layout.samples < layout.colours()) return damaged(kTiffName, "it has fewer samples than colours");
  if (layout.samples > kSamplesMax) return not_decoded(kTiffName, "more than 64 samples in a pixel");
  return Done{};
}

Status check_samples(const TiffReader& page, const TiffLayout& layout) {
  const uint16_t format = page.small(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  if (format == SAMPLEFORMAT_IEEEFP) return check_floats(layout);
  if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)
    return not_decoded(kTiffName, "samples that have a sign or are complex numbers");
  const int bits = layout.bits;
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16)
    return not_decoded(kTiffName, "samples of " + std::to_string(bits) + " bits");
  if (layout.kind == TiffLayout::Kind::kPalette && bits > 8) return not_decoded(kTiffName, "a palette of 16 bits");
  if (layout.separate && bits < 8)
    return not_decoded(kTiffName, "planes of samples of " + std::to_string(bits) + " bits");
  if (layout.samples < layout.colours()) return damaged(kTiffName, "it has fewer samples than colours");
  if (layout.samples > kSamplesMax) return not_decoded(kTiffName, "more than 64 samples in a pixel");
  return Done{};
}

// Tiles reach over the picture's edges: all of them together must stay near its size.
Status check_tiles(TiffLayout& layout, const TiffReader& page) {
  constexpr uint64_t kTilePixelsMax = 2 * static_cast<uint64_t>(kPixelsMax);
  layout.tiled = TIFFIsTiled(page.get()) != 0;
  if (!layout.tiled) return Done{};
  layout.tile_width = page.number(TIFFTAG_TILEWIDTH);
  layout.tile_height = page.number(TIFFTAG_TILELENGTH);
  const uint64_t width = layout.tile_width, height = layout.tile_height;
  if (width == 0 || height == 0) return damaged(kTiffName, "its tiles have no pixels");
  const uint64_t across = (layout.width - 1) / width + 1, down = (layout.height - 1) / height + 1;
  if (width > kTilePixelsMax || height > kTilePixelsMax / width || across * down > kTilePixelsMax / (width * height))
    return damaged(kTiffName, "its tiles are much larger than the picture");
  return Done{};
}

}  // namespace

PixelFormat TiffLayout::format(const Pixels& wanted) const {
  const int bytes = is_float() ? 4 : bits == 16 ? 2 : 1;
  if (kind == Kind::kPalette) return {3, 1};
  if (alpha == Alpha::kMultiplied) return {4, bytes};
  if (alpha == Alpha::kStraight && wanted.colours == Colours::kRgba) return {4, bytes};
  return {colours(), bytes};
}

uint64_t TiffLayout::sample_bytes() const {
  const uint64_t row_bits = uint64_t{width} * static_cast<uint64_t>(samples) * static_cast<uint64_t>(bits);
  return (row_bits + 7) / 8 * height;
}

uint64_t TiffLayout::library_bytes() const {
  const uint64_t pixels = tiled ? uint64_t{tile_width} * tile_height : width;
  const uint64_t piece = pixels * static_cast<uint64_t>(samples) * (is_float() ? 4 : 2);  // a tile or a row
  const Compression* found = find_compression(compression);
  return 2 * piece + (64 << 10) + (found == nullptr ? 0 : std::min(found->memory, kMiB + 8 * sample_bytes()));
}

Result<TiffLayout> tiff_layout_of(const TiffReader& page, uint64_t coded_bytes) {
  TiffLayout layout;
  layout.width = page.number(TIFFTAG_IMAGEWIDTH);
  layout.height = page.number(TIFFTAG_IMAGELENGTH);
  if (layout.width == 0 || layout.height == 0) return damaged(kTiffName, "its header claims no pixels");
  const Claim claim{kTiffName, layout.width, layout.height};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough.error();
  const uint16_t orientation = page.small(TIFFTAG_ORIENTATION, 1);
  layout.orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
  layout.bits = page.small(TIFFTAG_BITSPERSAMPLE, 1);
  layout.samples = page.small(TIFFTAG_SAMPLESPERPIXEL, 1);
  layout.separate =
      page.small(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE && layout.samples > 1;
  layout.compression = page.small(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  const Compression* compression = find_compression(layout.compression);
  if (compression == nullptr || TIFFIsCODECConfigured(layout.compression) == 0)
    return not_decoded(kTiffName, "a compression of kind " + std::to_string(layout.compression));
  const auto kind = kind_of(page.small(TIFFTAG_PHOTOMETRIC, UINT16_MAX), layout.compression);
  if (!kind) return kind.error();
  layout.kind = *kind;
  if (const Status sound = check_samples(page, layout); !sound) return sound.error();
  layout.alpha = alpha_of(page, layout);
  if (const Status sound = check_tiles(layout, page); !sound) return sound.error();
  if (layout.sample_bytes() / compression->bytes_per_byte > coded_bytes)
    return claim.exceeds(coded_bytes, ", more than its ", "can hold");
  return layout;
}

}  // namespace spdld::image
