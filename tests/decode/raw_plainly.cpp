#include "tests/decode/raw_plainly.h"

#include <cstdio>  // jpeglib.h needs FILE and does not include it
#include <cstdlib>
#include <stdexcept>

#include <jpeglib.h>

#include "tests/support/jpeg_maker.h"

namespace spdld::test {
namespace {

[[noreturn]] void throw_error(j_common_ptr common) {
  char text[JMSG_LENGTH_MAX];
  common->err->format_message(common, text);
  throw std::runtime_error(text);
}

std::vector<RawPlane> read_all(jpeg_decompress_struct& jpeg) {
  std::vector<RawPlane> planes(static_cast<size_t>(jpeg.num_components));
  for (size_t c = 0; c < planes.size(); ++c) {
    const jpeg_component_info& component = jpeg.comp_info[c];
    planes[c].stride = static_cast<int>(component.width_in_blocks) * DCTSIZE;
    planes[c].samples.resize(static_cast<size_t>(planes[c].stride) * jpeg.total_iMCU_rows *
                             static_cast<size_t>(component.v_samp_factor) * DCTSIZE);
  }
  const int lines = jpeg.max_v_samp_factor * DCTSIZE;
  for (size_t mcu_row = 0; jpeg.output_scanline < jpeg.output_height; ++mcu_row) {
    std::vector<std::vector<JSAMPROW>> rows(planes.size());
    std::vector<JSAMPARRAY> pointers;
    for (size_t c = 0; c < planes.size(); ++c) {
      const size_t count = static_cast<size_t>(jpeg.comp_info[c].v_samp_factor) * DCTSIZE;
      for (size_t i = 0; i < count; ++i) {
        rows[c].push_back(planes[c].samples.data() + static_cast<size_t>(planes[c].stride) * (mcu_row * count + i));
      }
      pointers.push_back(rows[c].data());
    }
    jpeg_read_raw_data(&jpeg, pointers.data(), static_cast<JDIMENSION>(lines));
  }
  return planes;
}

}  // namespace

std::vector<RawPlane> raw_plainly(const std::vector<uint8_t>& bytes) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = throw_error;
  jpeg_create_decompress(&jpeg);
  std::vector<RawPlane> planes;
  try {
    jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
    jpeg_read_header(&jpeg, TRUE);
    jpeg.raw_data_out = TRUE;
    jpeg_start_decompress(&jpeg);
    planes = read_all(jpeg);
  } catch (const std::runtime_error&) {
    planes.clear();
  }
  jpeg_destroy_decompress(&jpeg);
  return planes;
}

std::vector<uint8_t> make_sampled_jpeg(int width, int height, const std::vector<Sampling>& sampling, uint32_t seed) {
  const int channels = static_cast<int>(sampling.size());
  std::vector<uint8_t> pixels = make_pixels(width, height, channels, seed);
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = throw_error;
  jpeg_create_compress(&jpeg);
  uint8_t* memory = nullptr;
  unsigned long size = 0;  // jpeg_mem_dest's type
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  for (size_t c = 0; c < sampling.size(); ++c) {
    jpeg.comp_info[c].h_samp_factor = sampling[c].across;
    jpeg.comp_info[c].v_samp_factor = sampling[c].down;
  }
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = pixels.data() + static_cast<size_t>(width) * sampling.size() * jpeg.next_scanline;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::vector<uint8_t> bytes(memory, memory + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return bytes;
}

}  // namespace spdld::test
