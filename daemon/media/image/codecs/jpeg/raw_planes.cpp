#include "daemon/media/image/codecs/jpeg/raw_planes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "daemon/media/image/codecs/jpeg/plane_rows.h"

namespace spdld::image {
namespace {

static_assert(kPlaneRowsMax == MAX_SAMP_FACTOR * DCTSIZE);

// 1 or 2 where luma has as many samples as chroma or twice as many; 0: neither.
uint8_t chroma_factor(int luma, int cb, int cr, int most) {
  if (cb != cr || luma != most || luma % cb != 0 || luma / cb > 2) return 0;
  return static_cast<uint8_t>(luma / cb);
}

// The part of the picture that is decoded: columns from `x`, and rows of MCUs.
struct RawPortion {
  int x = 0, first_mcu_row = 0, end_mcu_row = 0;
};

// Samples that a block of the component becomes, across and down: DCTSIZE, less of a reduced picture.
int block_size(const jpeg_component_info& component) {
#if JPEG_LIB_VERSION >= 70
  return component.DCT_v_scaled_size;
#else
  return component.DCT_scaled_size;
#endif
}

// Of the component whose blocks become the smallest, which is luma.
int block_size_min(const jpeg_decompress_struct& jpeg) {
#if JPEG_LIB_VERSION >= 70
  return jpeg.min_DCT_v_scaled_size;
#else
  return jpeg.min_DCT_scaled_size;
#endif
}

int lines_per_mcu_row(const jpeg_decompress_struct& jpeg) { return jpeg.max_v_samp_factor * block_size_min(jpeg); }

int mcu_rows(const jpeg_decompress_struct& jpeg, int lines) {
  return (lines + lines_per_mcu_row(jpeg) - 1) / lines_per_mcu_row(jpeg);
}

// How many rows of the plane are in a row of MCUs.
int plane_rows(const jpeg_decompress_struct& jpeg, int plane) {
  return jpeg.comp_info[plane].v_samp_factor * block_size(jpeg.comp_info[plane]);
}

uint8_t* take(jpeg_decompress_struct& jpeg, size_t bytes) {
  return static_cast<uint8_t*>((*jpeg.mem->alloc_large)(reinterpret_cast<j_common_ptr>(&jpeg), JPOOL_IMAGE, bytes));
}

// How many rows a row of MCUs has of each plane.
void count_rows(const jpeg_decompress_struct& jpeg, const PlanesTarget& target, PlaneRows& rows) {
  for (int c = 0; c < target.shape.planes(); ++c) rows.count[static_cast<size_t>(c)] = plane_rows(jpeg, c);
}

void number_rows(int mcu_row, PlaneRows& rows) {
  for (size_t c = 0; c < kPlanesMax; ++c) rows.first[c] = mcu_row * rows.count[c];
}

void read_mcu_row(jpeg_decompress_struct& jpeg, PlaneRows& rows) {
  std::array<JSAMPARRAY, kPlanesMax> planes;
  for (size_t c = 0; c < kPlanesMax; ++c) planes[c] = rows.rows[c].data();
  (void)jpeg_read_raw_data(&jpeg, planes.data(), static_cast<JDIMENSION>(lines_per_mcu_row(jpeg)));
}

void read_whole(jpeg_decompress_struct& jpeg, PlanesTarget& target) {
  jpeg.raw_data_out = TRUE;
  jpeg_start_decompress(&jpeg);
  target.raw_state = jpeg.global_state;
  PlaneRows rows;
  count_rows(jpeg, target, rows);
  for (size_t c = 0; c < kPlanesMax; ++c) {
    const size_t stride = target.layout.stride_bytes[c];
    uint8_t* row = take(jpeg, stride * static_cast<size_t>(rows.count[c]));
    for (int i = 0; i < rows.count[c]; ++i, row += stride) rows.rows[c][static_cast<size_t>(i)] = row;
  }
  const int end = mcu_rows(jpeg, target.shape.picture.height);
  for (int mcu_row = 0; mcu_row < end; ++mcu_row) {
    number_rows(mcu_row, rows);
    read_mcu_row(jpeg, rows);
    keep_rows(target.shape, target.layout, rows, target.memory);
  }
  end_kept_rows(target.layout, target.memory);
}

// libjpeg leaves out columns and rows only on their way to scanlines, and raw output only of whole pictures, though
// the two parts of it have nothing to do with each other: what is left out is decided before the inverse DCT, raw
// output takes what comes out of that. So the picture is started for scanlines of the cheapest kind, and none
// is read; then libjpeg is told that it was started for raw output.
// `box` is in the reduced picture's pixels.
RawPortion start_box(jpeg_decompress_struct& jpeg, const PlanesTarget& target, const Box& box) {
  jpeg.do_fancy_upsampling = FALSE;  // which would need neighbouring rows
  jpeg.out_color_space = jpeg.jpeg_color_space;
  jpeg_start_decompress(&jpeg);
  const Size& picture = target.shape.picture;
  RawPortion portion{0, 0, mcu_rows(jpeg, picture.height)};
  if (!is_smoothed(jpeg)) {
    const Box needed = with_neighbours(box, target.shape);
    auto x = static_cast<JDIMENSION>(needed.x), width = static_cast<JDIMENSION>(needed.width);
    if (width < jpeg.output_width) {
      jpeg_crop_scanline(&jpeg, &x, &width);
      portion.x = static_cast<int>(x);
    }
    portion.first_mcu_row = needed.y / lines_per_mcu_row(jpeg);
    portion.end_mcu_row = mcu_rows(jpeg, needed.y + needed.height);
    const auto skipped = static_cast<JDIMENSION>(portion.first_mcu_row * lines_per_mcu_row(jpeg));
    if (skipped > 0) (void)jpeg_skip_scanlines(&jpeg, skipped);
  }
  jpeg.global_state = target.raw_state;
  return portion;
}

// The part of the reduced picture that a box of the picture touches.
Box reduced(const Box& box, int reduction) {
  const int x = box.x / reduction, y = box.y / reduction;
  return {x, y, (box.x + box.width - 1) / reduction + 1 - x, (box.y + box.height - 1) / reduction + 1 - y};
}

void read_box(jpeg_decompress_struct& jpeg, PlanesTarget& target, const Box& box) {
  const RawPortion portion = start_box(jpeg, target, reduced(box, target.reduction));
  uint8_t* spare = take(jpeg, target.layout.stride_bytes[0]);
  PlaneRows rows;
  count_rows(jpeg, target, rows);
  for (int mcu_row = portion.first_mcu_row; mcu_row < portion.end_mcu_row; ++mcu_row) {
    number_rows(mcu_row, rows);
    point_at(target.shape, target.layout, target.memory, portion.x, spare, rows);
    read_mcu_row(jpeg, rows);
  }
}

// Of the picture at the scale that was set.
std::optional<PlanesShape> planes_shape(const jpeg_decompress_struct& jpeg) {
  PlanesShape shape{{static_cast<int>(jpeg.output_width), static_cast<int>(jpeg.output_height)}, 1, 1, false};
  if (jpeg.data_precision != 8) return std::nullopt;
  if (jpeg.jpeg_color_space == JCS_GRAYSCALE && jpeg.num_components == 1) {
    shape.grey = true;
    return shape;
  }
  if (jpeg.jpeg_color_space != JCS_YCbCr || jpeg.num_components != 3) return std::nullopt;
  const jpeg_component_info *y = jpeg.comp_info, *cb = y + 1, *cr = y + 2;
  const auto across = [](const jpeg_component_info* part) { return part->h_samp_factor * block_size(*part); };
  const auto down = [](const jpeg_component_info* part) { return part->v_samp_factor * block_size(*part); };
  const int smallest = block_size_min(jpeg);
  shape.chroma_across = chroma_factor(across(y), across(cb), across(cr), jpeg.max_h_samp_factor * smallest);
  shape.chroma_down = chroma_factor(down(y), down(cb), down(cr), jpeg.max_v_samp_factor * smallest);
  if (shape.chroma_across == 0 || shape.chroma_down == 0) return std::nullopt;
  return shape;
}

}  // namespace

void find_luma_shapes(jpeg_decompress_struct& jpeg, PlanesShapes& shapes) {
  find_planes_shapes(jpeg, shapes);
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i]) shapes[i] = PlanesShape{shapes[i]->picture, 1, 1, true};
  }
}

void find_planes_shapes(jpeg_decompress_struct& jpeg, PlanesShapes& shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    jpeg.scale_denom = 1u << i;
    jpeg_calc_output_dimensions(&jpeg);
    shapes[i] = planes_shape(jpeg);
    if (!shapes[0]) break;
    if (shapes[i] && std::max(shapes[i]->chroma_across, shapes[i]->chroma_down) << i > DCTSIZE) shapes[i].reset();
  }
  jpeg.scale_denom = 1;
}

bool is_smoothed(const jpeg_decompress_struct& jpeg) {
  if (!jpeg.progressive_mode || !jpeg.do_block_smoothing || jpeg.coef_bits == nullptr) return false;
  for (int c = 0; c < jpeg.num_components; ++c) {
    if (std::any_of(jpeg.coef_bits[c], jpeg.coef_bits[c] + DCTSIZE2, [](int bits) { return bits != 0; })) return true;
  }
  return false;
}

void read_planes(jpeg_decompress_struct& jpeg, PlanesTarget& target) {
  std::memset(target.memory, 0, PlanesLayout::kHeaderBytes);
  write_planes_header(target.shape, target.memory);
  jpeg.scale_denom = static_cast<unsigned>(target.reduction);
  // libjpeg neither keeps nor transforms the blocks of components that nobody needs. A header sets these to TRUE.
  for (int c = target.shape.planes(); c < jpeg.num_components; ++c) jpeg.comp_info[c].component_needed = FALSE;
  // All of the picture is also what a box needs, where raw_state is yet to be learned.
  if (target.box && target.raw_state != 0) {
    read_box(jpeg, target, *target.box);
  } else {
    read_whole(jpeg, target);
  }
}

}  // namespace spdld::image
