#include "daemon/media/image/codecs/tiff/layout.h"

#include <algorithm>
#include <string>

#include "daemon/media/image/codecs/stored_codec.h"
#include "daemon/media/image/codecs/tiff.h"
#include "daemon/media/image/codecs/tiff/compressions.h"

namespace spdld::image {
namespace {

constexpr int kSamplesMax = 64;

const char* words_of_photometric(uint16_t photometric) {
  switch (photometric) {
    case PHOTOMETRIC_MASK:
      return "a page that is a mask of transparency";
    case PHOTOMETRIC_ITULAB:
      return "ITU Lab colours";
    case PHOTOMETRIC_CFA:
      return "the raw data of a camera's sensor";
    case 34892:  // of a DNG
      return "the linear raw data of a camera's sensor";
    case PHOTOMETRIC_LOGL:
    case PHOTOMETRIC_LOGLUV:
      return "LogLuv colours";
    default:
      return "colours of a kind that TIFF does not define";
  }
}

Result<TiffKind> kind_of_ycbcr(const TiffReader& page, TiffLayout& layout) {
  if (layout.compression == COMPRESSION_JPEG) return TiffKind::kRgb;  // libjpeg makes RGB of it
  uint16_t across = 1, down = 1;
  TIFFGetFieldDefaulted(page.get(), TIFFTAG_YCBCRSUBSAMPLING, &across, &down);
  layout.luma_each = uint32_t{across} * down;
  if (layout.samples != 3 || layout.bits != 8)
    return not_decoded(kTiffName, "YCbCr colours that are not three samples of 8 bits");
  if (layout.separate && layout.luma_each != 1)
    return not_decoded(kTiffName, "YCbCr colours in planes of different sizes");
  return TiffKind::kYcbcr;
}

// A page without the tag has grey with white as 0, as Pillow takes it, where it can't have RGB.
Result<TiffKind> kind_of(const TiffReader& page, TiffLayout& layout) {
  uint16_t photometric = layout.samples < 3 ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_RGB;
  TIFFGetField(page.get(), TIFFTAG_PHOTOMETRIC, &photometric);
  switch (photometric) {
    case PHOTOMETRIC_MINISBLACK:
      return TiffKind::kGrey;
    case PHOTOMETRIC_MINISWHITE:
      return TiffKind::kGreyInverted;
    case PHOTOMETRIC_PALETTE:
      return TiffKind::kPalette;
    case PHOTOMETRIC_RGB:
      return TiffKind::kRgb;
    case PHOTOMETRIC_YCBCR:
      return kind_of_ycbcr(page, layout);
    case PHOTOMETRIC_SEPARATED:
      if (page.small(TIFFTAG_INKSET, INKSET_CMYK) == INKSET_CMYK && layout.samples >= 4) return TiffKind::kCmyk;
      return not_decoded(kTiffName, "other inks than cyan, magenta, yellow and black");
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
      layout.has_lab_offset = photometric == PHOTOMETRIC_ICCLAB;
      if (layout.samples >= 3 && layout.bits == 8) return TiffKind::kLab;
      return not_decoded(kTiffName, "Lab colours that are not three samples of 8 bits");
    default:
      return not_decoded(kTiffName, words_of_photometric(photometric));
  }
}

// Of floats alpha is dropped. Without a tag of extra samples the fourth of four is taken for alpha, as Pillow takes it.
TiffLayout::Alpha alpha_of(const TiffReader& page, const TiffLayout& layout) {
  const bool may_have = layout.kind != TiffKind::kPalette && layout.kind <= TiffKind::kRgb;
  if (!may_have || layout.samples <= layout.colours() || layout.is_float()) return TiffLayout::Alpha::kNone;
  uint16_t count = 0;
  uint16_t* kinds = nullptr;
  if (TIFFGetField(page.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) != 1 || count == 0 || kinds == nullptr)
    return layout.samples == 4 && layout.colours() == 3 ? TiffLayout::Alpha::kStraight : TiffLayout::Alpha::kNone;
  if (kinds[0] == EXTRASAMPLE_ASSOCALPHA) return TiffLayout::Alpha::kMultiplied;
  return kinds[0] == EXTRASAMPLE_UNASSALPHA ? TiffLayout::Alpha::kStraight : TiffLayout::Alpha::kNone;
}

// White that is stored as 0 counts for whole numbers alone.
Status check_floats(TiffLayout& layout) {
  if (layout.kind == TiffKind::kGreyInverted) layout.kind = TiffKind::kGrey;
  if (layout.bits != 32)
    return not_decoded(kTiffName, "floating-point samples of " + std::to_string(layout.bits) + " bits");
  if (layout.kind != TiffKind::kGrey && layout.kind != TiffKind::kRgb)
    return not_decoded(kTiffName, "floating-point samples that are neither grey nor RGB");
  if (layout.samples < layout.colours()) return damaged(kTiffName, "it has fewer samples than colours");
  if (layout.samples > kSamplesMax) return not_decoded(kTiffName, "more than 64 samples in a pixel");
  return Done{};
}

Status check_samples(const TiffReader& page, TiffLayout& layout) {
  const uint16_t format = page.small(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  if (format == SAMPLEFORMAT_IEEEFP) return check_floats(layout);
  if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)
    return not_decoded(kTiffName, "samples that have a sign or are complex numbers");
  const int bits = layout.bits;
  if (bits < 1 || bits > 16) return not_decoded(kTiffName, "samples of " + std::to_string(bits) + " bits");
  if (layout.kind == TiffKind::kPalette && bits > 8)
    return not_decoded(kTiffName, "a palette of more than 256 colours");
  if (is_fax(layout.compression) && (bits != 1 || (layout.samples != 1 && !layout.separate)))
    return damaged(kTiffName, "CCITT fax compression is for samples of 1 bit, and its header claims others");
  if (layout.compression == COMPRESSION_JPEG && bits != 8)
    return not_decoded(kTiffName, "lossless JPEG data, or JPEG data of more than 8 bits");
  uint16_t predictor = 1;
  if (TIFFGetField(page.get(), TIFFTAG_PREDICTOR, &predictor) == 1 && predictor != 1 && bits != 8 && bits != 16)
    return not_decoded(kTiffName, "a predictor for samples of " + std::to_string(bits) + " bits");
  if (layout.samples < layout.colours()) return damaged(kTiffName, "it has fewer samples than colours");
  if (layout.samples > kSamplesMax) return not_decoded(kTiffName, "more than 64 samples in a pixel");
  return Done{};
}

// XMP counts where the page has no tag.
int orientation_of(const TiffReader& page) {
  uint16_t orientation = 0;
  if (TIFFGetField(page.get(), TIFFTAG_ORIENTATION, &orientation) == 1)
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
  uint32_t bytes = 0;
  const uint8_t* xmp = nullptr;
  if (TIFFGetField(page.get(), TIFFTAG_XMLPACKET, &bytes, &xmp) != 1 || xmp == nullptr) return 1;
  return picture_orientation({}, {xmp, bytes});
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

int TiffLayout::colours() const {
  if (kind == TiffKind::kCmyk) return 4;
  return kind <= TiffKind::kPalette ? 1 : 3;
}

PixelFormat TiffLayout::format(const Pixels& wanted) const {
  const int bytes = is_float() ? 4 : bits > 8 ? 2 : 1;
  if (kind == TiffKind::kPalette) return {3, 1};
  if (alpha == Alpha::kMultiplied) return {4, bytes};
  if (alpha == Alpha::kStraight && wanted.colours == Colours::kRgba) return {4, bytes};
  return {colours(), bytes};
}

uint64_t TiffLayout::sample_bytes() const {
  const uint64_t pixels = uint64_t{width} * height;
  if (kind == TiffKind::kYcbcr) return pixels + 2 * (pixels / luma_each);
  const uint64_t row_bits = uint64_t{width} * static_cast<uint64_t>(samples) * static_cast<uint64_t>(bits);
  return (row_bits + 7) / 8 * height;
}

uint64_t TiffLayout::library_bytes() const {
  uint64_t pixels = tiled ? uint64_t{tile_width} * tile_height : width;
  uint64_t each = static_cast<uint64_t>(samples) * (is_float() ? 4 : 2);
  if (kind == TiffKind::kYcbcr) {  // whole strips, as they are stored and as RGB with alpha
    if (!tiled) pixels *= strip_height;
    each += sizeof(uint32_t);
  }
  const uint64_t piece = pixels * each;                                                       // a tile or a row
  const uint64_t runs = is_fax(compression) ? 32 * uint64_t{tiled ? tile_width : width} : 0;  // of two rows
  const uint64_t table = kind == TiffKind::kLab ? kTiffMiB : 0;                               // lcms2's
  const TiffCompression* found = find_tiff_compression(compression);
  return 2 * piece + runs + table + (64 << 10) +
         (found == nullptr ? 0 : std::min(found->memory, kTiffMiB + 8 * sample_bytes()));
}

Result<TiffLayout> tiff_layout_of(const TiffReader& page, uint64_t coded_bytes) {
  TiffLayout layout;
  layout.width = page.number(TIFFTAG_IMAGEWIDTH);
  layout.height = page.number(TIFFTAG_IMAGELENGTH);
  if (layout.width == 0 || layout.height == 0) return damaged(kTiffName, "its header claims no pixels");
  const Claim claim{kTiffName, layout.width, layout.height};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough.error();
  layout.orientation = orientation_of(page);
  layout.bits = page.small(TIFFTAG_BITSPERSAMPLE, 1);
  layout.samples = page.small(TIFFTAG_SAMPLESPERPIXEL, 1);
  layout.separate =
      page.small(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE && layout.samples > 1;
  layout.compression = page.small(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  const TiffCompression* compression = find_tiff_compression(layout.compression);
  if (compression == nullptr || TIFFIsCODECConfigured(layout.compression) == 0)
    return not_decoded(kTiffName, tiff_compression_name(layout.compression));
  const auto kind = kind_of(page, layout);
  if (!kind) return kind.error();
  layout.kind = *kind;
  if (const Status sound = check_samples(page, layout); !sound) return sound.error();
  layout.alpha = alpha_of(page, layout);
  if (const Status sound = check_tiles(layout, page); !sound) return sound.error();
  layout.strip_height = std::min(std::max(page.number(TIFFTAG_ROWSPERSTRIP, layout.height), 1U), layout.height);
  const uint64_t coded_max = compression->bytes_per_byte == 0 ? (uint64_t{layout.height} - 1) / 8  // a bit a row
                                                              : layout.sample_bytes() / compression->bytes_per_byte;
  if (coded_max > coded_bytes) return claim.exceeds(coded_bytes, ", more than its ", "can hold");
  return layout;
}

}  // namespace spdld::image
