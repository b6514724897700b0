#include "daemon/media/image/codecs/jpeg/portion.h"

#include <algorithm>
#include <array>

#include "daemon/media/image/codecs/jpeg/raw_planes.h"
#include "daemon/media/image/codecs/pixels.h"

namespace spdld::image {
namespace {

// Adobe's CMYK is stored inverted. v * k / 255, rounded as Pillow rounds it, of the inverted values.
void cmyk_to_rgb(const uint8_t* cmyk, JDIMENSION width, uint8_t* rgb) {
  for (JDIMENSION x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) {
      const int black = cmyk[3], product = (255 - cmyk[c]) * black + 128;
      rgb[c] = static_cast<uint8_t>(std::max(0, black - (((product >> 8) + product) >> 8)));
    }
  }
}

}  // namespace

// Starts the decoder and moves it to the portion's first row, leaving out what is to its left, right and top. Chroma
// that was sampled down is interpolated from the neighbouring chroma sample, so a portion's edge needs one more to be
// exact; libjpeg itself takes care of the rows when whole rows of blocks are left out.
void start_portion(jpeg_decompress_struct& jpeg, Portion& portion) {
  jpeg.out_color_space = jpeg.num_components == 4 ? JCS_CMYK : portion.is_grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  portion.x = 0;
  portion.width = jpeg.output_width;
  if (is_smoothed(jpeg)) return;

  const auto across = static_cast<JDIMENSION>(jpeg.max_h_samp_factor),
             down = static_cast<JDIMENSION>(jpeg.max_v_samp_factor);
  const auto left = static_cast<JDIMENSION>(portion.box.x), right = left + static_cast<JDIMENSION>(portion.box.width);
  JDIMENSION first = left - std::min(left, across);
  JDIMENSION width = std::min(jpeg.output_width, right + across) - first;
  if (width < jpeg.output_width) {
    jpeg_crop_scanline(&jpeg, &first, &width);
    portion.x = first;
    portion.width = width;
  }
  // libjpeg decodes one row of MCUs above the row that it skips to, for its first two lines to have their neighbours,
  // unless those are skipped as well.
  const JDIMENSION skipped = static_cast<JDIMENSION>(portion.box.y) / down * down;
  if (skipped > 0) (void)jpeg_skip_scanlines(&jpeg, skipped);
}

void read_portion(jpeg_decompress_struct& jpeg, PortionTarget& target) {
  const auto first = static_cast<JDIMENSION>(target.portion.box.y);
  const JDIMENSION end = first + static_cast<JDIMENSION>(target.portion.box.height);
  const bool inks = jpeg.out_color_space == JCS_CMYK;
  std::array<JSAMPROW, 4> lines;
  while (jpeg.output_scanline < end) {
    const JDIMENSION at = jpeg.output_scanline;
    // Rows above the box land where its first row will be.
    JDIMENSION count = at < first ? 1 : std::min<JDIMENSION>(inks ? 1 : lines.size(), end - at);
    uint8_t* row = target.first + target.stride_bytes * (at < first ? 0 : at - first);
    for (JDIMENSION i = 0; i < count; ++i) lines[i] = inks ? target.line : row + target.stride_bytes * i;
    count = jpeg_read_scanlines(&jpeg, lines.data(), count);
    if (count == 0) break;  // can't be: this source never asks to be called again
    if (!inks) continue;
    uint8_t* const rgb = target.portion.is_grey ? target.line + size_t{target.portion.width} * 4 : row;
    cmyk_to_rgb(target.line, target.portion.width, rgb);
    if (target.portion.is_grey) convert_row({3, 1}, rgb, {Colours::kGrey, 8}, row, target.portion.width);
  }
}

void read_below_portion(jpeg_decompress_struct& jpeg, PortionTarget& target) {
  JSAMPROW line = target.line;
  while (jpeg.output_scanline < jpeg.output_height) (void)jpeg_read_scanlines(&jpeg, &line, 1);
  (void)jpeg_finish_decompress(&jpeg);
}

}  // namespace spdld::image
