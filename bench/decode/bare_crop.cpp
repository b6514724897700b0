#include "bench/decode/bare_crop.h"

#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

namespace spdld::bench {

struct BareDecoder::Inside {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  ByteBuffer rows;
};

BareDecoder::BareDecoder() : inside_(std::make_unique<Inside>()) {
  inside_->jpeg.err = jpeg_std_error(&inside_->errors);
  jpeg_create_decompress(&inside_->jpeg);
}

BareDecoder::~BareDecoder() { jpeg_destroy_decompress(&inside_->jpeg); }

void BareDecoder::decode(const Photo& photo, const Box& box) {
  jpeg_decompress_struct& jpeg = inside_->jpeg;
  jpeg_mem_src(&jpeg, photo.jpeg.data(), photo.jpeg.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  auto x = static_cast<JDIMENSION>(box.x), width = static_cast<JDIMENSION>(box.width);
  if (width < jpeg.output_width) jpeg_crop_scanline(&jpeg, &x, &width);
  const auto skipped = static_cast<JDIMENSION>(box.y / 16 * 16), end = static_cast<JDIMENSION>(box.y + box.height);
  if (skipped > 0) jpeg_skip_scanlines(&jpeg, skipped);
  const size_t stride = size_t{jpeg.output_width} * 3;
  uint8_t* row = inside_->rows.resize(stride * (end - skipped));
  for (; jpeg.output_scanline < end; row += stride) jpeg_read_scanlines(&jpeg, &row, 1);
  jpeg_abort_decompress(&jpeg);
}

}  // namespace spdld::bench
