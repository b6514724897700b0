#include "tests/support/makers/jpeg_maker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>  // jpeglib.h needs FILE and does not include it
#include <cstdlib>
#include <random>
#include <stdexcept>

#include <jpeglib.h>

namespace spdld::test {
namespace {

[[noreturn]] void throw_error(j_common_ptr common) {
  char text[JMSG_LENGTH_MAX];
  common->err->format_message(common, text);
  throw std::runtime_error(text);
}

void set_sampling(jpeg_compress_struct& jpeg, const JpegOptions& options) {
  static constexpr std::array<Sampling, 5> kLuma = {{{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}}};
  std::vector<Sampling> sampling = options.sampling;
  if (sampling.empty() && !options.grey && !options.cmyk) sampling = {kLuma[static_cast<size_t>(options.subsampling)]};
  for (size_t c = 0; c < sampling.size(); ++c) {
    jpeg.comp_info[c].h_samp_factor = sampling[c].across;
    jpeg.comp_info[c].v_samp_factor = sampling[c].down;
  }
}

// {components, their indices, first and last coefficient, high and low bit}
using Scans = std::vector<jpeg_scan_info>;

Scans unfinished_scans(int components) {
  Scans scans;
  jpeg_scan_info dc{components, {0, 1, 2, 0}, 0, 0, 0, 0};
  scans.push_back(dc);
  for (int c = 0; c < components; ++c) scans.push_back({1, {c, 0, 0, 0}, 1, 63, 0, 2});
  return scans;
}

Scans separate_scans(int components) {
  Scans scans;
  for (int c = 0; c < components; ++c) scans.push_back({1, {c, 0, 0, 0}, 0, 63, 0, 0});
  return scans;
}

Scans progression(int number, int components) {
  Scans scans;
  const auto bands = [&](int first, int last, int high, int low) {
    for (int c = components - 1; c >= 0; --c) scans.push_back({1, {c, 0, 0, 0}, first, last, high, low});
  };
  const auto dc = [&](int high, int low) { scans.push_back({components, {0, 1, 2, 0}, 0, 0, high, low}); };
  if (number == 1) {
    dc(0, 0), bands(1, 63, 0, 0);
  } else if (number == 2) {
    bands(0, 0, 0, 2), bands(1, 63, 0, 2), bands(0, 0, 2, 1), bands(1, 63, 2, 1), bands(1, 63, 1, 0), bands(0, 0, 1, 0);
  } else {
    dc(0, 1), bands(1, 1, 0, 0), bands(2, 5, 0, 3), bands(6, 62, 0, 1), bands(63, 63, 0, 1), dc(1, 0);
    bands(2, 5, 3, 2), bands(2, 5, 2, 1), bands(6, 62, 1, 0), bands(2, 5, 1, 0), bands(63, 63, 1, 0);
  }
  return scans;
}

void write_exif(jpeg_compress_struct& jpeg, int orientation, bool big_endian) {
  const auto value = static_cast<uint8_t>(orientation);
  const std::array<uint8_t, 32> big = {'E', 'x',  'i', 'f', 0, 0, 'M', 'M', 0, 42,    0, 0, 0, 8, 0, 1,
                                       1,   0x12, 0,   3,   0, 0, 0,   1,   0, value, 0, 0, 0, 0, 0, 0};
  const std::array<uint8_t, 32> little = {'E',  'x', 'i', 'f', 0, 0, 'I', 'I', 42,    0, 8, 0, 0, 0, 1, 0,
                                          0x12, 1,   3,   0,   1, 0, 0,   0,   value, 0, 0, 0, 0, 0, 0, 0};
  const auto& bytes = big_endian ? big : little;
  jpeg_write_marker(&jpeg, JPEG_APP0 + 1, bytes.data(), static_cast<unsigned>(bytes.size()));
}

void set_up(jpeg_compress_struct& jpeg, const JpegOptions& options, Scans& scans) {
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  if (options.cmyk) jpeg_set_colorspace(&jpeg, JCS_YCCK);
  set_sampling(jpeg, options);
  if (options.optimized) jpeg.optimize_coding = TRUE;
  jpeg.arith_code = options.arithmetic ? TRUE : FALSE;
  jpeg.restart_interval = static_cast<unsigned>(options.restart_interval);
  if (options.unfinished) scans = unfinished_scans(jpeg.num_components);
  if (options.separate_scans) scans = separate_scans(jpeg.num_components);
  if (options.progressive && options.progression != 0) scans = progression(options.progression, jpeg.num_components);
  if (!scans.empty()) {
    jpeg.scan_info = scans.data();
    jpeg.num_scans = static_cast<int>(scans.size());
  } else if (options.progressive) {
    jpeg_simple_progression(&jpeg);
  }
}

std::vector<RawPlane> read_raw(jpeg_decompress_struct& jpeg) {
  std::vector<RawPlane> planes(static_cast<size_t>(jpeg.num_components));
  for (size_t c = 0; c < planes.size(); ++c) {
    const jpeg_component_info& component = jpeg.comp_info[c];
    planes[c].sampling = {component.h_samp_factor, component.v_samp_factor};
    planes[c].width = static_cast<int>(component.downsampled_width);
    planes[c].height = static_cast<int>(component.downsampled_height);
    planes[c].stride = static_cast<int>(component.width_in_blocks) * component.DCT_scaled_size;
    planes[c].samples.resize(static_cast<size_t>(planes[c].stride) * jpeg.total_iMCU_rows *
                             static_cast<size_t>(component.v_samp_factor * component.DCT_scaled_size));
  }
  const int lines = jpeg.max_v_samp_factor * jpeg.min_DCT_scaled_size;
  for (size_t mcu_row = 0; jpeg.output_scanline < jpeg.output_height; ++mcu_row) {
    std::vector<std::vector<JSAMPROW>> rows(planes.size());
    std::vector<JSAMPARRAY> pointers;
    for (size_t c = 0; c < planes.size(); ++c) {
      const auto count = static_cast<size_t>(planes[c].sampling.down * jpeg.comp_info[c].DCT_scaled_size);
      for (size_t i = 0; i < count; ++i) {
        rows[c].push_back(planes[c].samples.data() + static_cast<size_t>(planes[c].stride) * (mcu_row * count + i));
      }
      pointers.push_back(rows[c].data());
    }
    jpeg_read_raw_data(&jpeg, pointers.data(), static_cast<JDIMENSION>(lines));
  }
  return planes;
}

// Calls `read` for the picture whose header was read, and ends it; false when libjpeg reports an error.
template <typename Read>
bool read_jpeg(const std::vector<uint8_t>& bytes, const Read& read) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = throw_error;
  jpeg_create_decompress(&jpeg);
  bool is_read = false;
  try {
    jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
    jpeg_read_header(&jpeg, TRUE);
    read(jpeg);
    is_read = true;
  } catch (const std::runtime_error&) {
  }
  jpeg_destroy_decompress(&jpeg);
  return is_read;
}

}  // namespace

std::vector<uint8_t> make_pixels(int width, int height, int channels, uint32_t seed) {
  std::mt19937 random(seed);
  const auto uniform = [&](double low, double high) { return low + (high - low) * (random() / 4294967296.0); };
  struct Wave {
    double fx, fy, phase, height;
  };
  std::vector<std::array<Wave, 4>> waves(static_cast<size_t>(channels));
  for (auto& channel : waves) {
    for (Wave& wave : channel) wave = {uniform(-0.1, 0.1), uniform(-0.1, 0.1), uniform(0, 6.28), uniform(10, 45)};
  }
  const double edge_x = uniform(0.2, 0.8) * width, edge_y = uniform(0.2, 0.8) * height, step = uniform(-60, 60);
  std::vector<uint8_t> pixels;
  pixels.reserve(static_cast<size_t>(width) * static_cast<size_t>(height) * waves.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const auto& channel : waves) {
        double value = 128 + ((x > edge_x) != (y > edge_y) ? step : 0) + uniform(-8, 8);
        for (const Wave& wave : channel) value += wave.height * std::sin(wave.fx * x + wave.fy * y + wave.phase);
        pixels.push_back(static_cast<uint8_t>(std::clamp(value, 0.0, 255.0)));
      }
    }
  }
  return pixels;
}

std::vector<uint8_t> make_jpeg(int width, int height, const JpegOptions& options) {
  const int channels = options.grey ? 1 : options.cmyk ? 4 : 3;
  const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
  std::vector<uint8_t> pixels =
      options.flat ? std::vector<uint8_t>(count, 255) : make_pixels(width, height, channels, options.seed);
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
  jpeg.in_color_space = options.grey ? JCS_GRAYSCALE : options.cmyk ? JCS_CMYK : JCS_RGB;
  Scans scans;
  set_up(jpeg, options, scans);
  jpeg_start_compress(&jpeg, TRUE);
  if (options.exif_orientation > 0) write_exif(jpeg, options.exif_orientation, options.exif_big_endian);
  const auto stride = static_cast<size_t>(width) * static_cast<size_t>(channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = pixels.data() + stride * jpeg.next_scanline;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::vector<uint8_t> bytes(memory, memory + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return bytes;
}

JpegOptions coded(int coding, Subsampling subsampling) {
  JpegOptions options;
  options.subsampling = subsampling;
  options.grey = coding == 1;
  options.progressive = coding == 2;
  options.restart_interval = coding == 3 ? 5 : 0;
  options.separate_scans = coding == 4;
  options.unfinished = coding == 5;
  return options;
}

std::vector<uint8_t> decode_plainly(const std::vector<uint8_t>& bytes, int& width, int& height) {
  std::vector<uint8_t> pixels;
  const bool is_read = read_jpeg(bytes, [&](jpeg_decompress_struct& jpeg) {
    jpeg.out_color_space = jpeg.num_components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&jpeg);
    width = static_cast<int>(jpeg.output_width);
    height = static_cast<int>(jpeg.output_height);
    const size_t stride = size_t{jpeg.output_width} * static_cast<size_t>(jpeg.output_components);
    pixels.resize(stride * jpeg.output_height);
    while (jpeg.output_scanline < jpeg.output_height) {
      JSAMPROW row = pixels.data() + stride * jpeg.output_scanline;
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
  });
  return is_read ? pixels : std::vector<uint8_t>();
}

std::vector<RawPlane> raw_plainly(const std::vector<uint8_t>& bytes, int reduction) {
  std::vector<RawPlane> planes;
  read_jpeg(bytes, [&](jpeg_decompress_struct& jpeg) {
    jpeg.raw_data_out = TRUE;
    jpeg.scale_denom = static_cast<unsigned>(reduction);
    jpeg_start_decompress(&jpeg);
    planes = read_raw(jpeg);
  });
  return planes;
}

}  // namespace spdld::test
