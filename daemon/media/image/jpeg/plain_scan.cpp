#include "daemon/media/image/jpeg/plain_scan.h"

#include <algorithm>
#include <cstring>

#include "daemon/media/image/jpeg/plane_rows.h"

namespace spdld::image {
namespace {

static_assert(kPlaneRowsMax == baseline::kFactorMax * baseline::kBlockSide && kPlanesMax == baseline::kComponentsMax);

bool take_code(const JHUFF_TBL* table, baseline::CodeLengths& code) {
  if (table == nullptr) return false;
  std::copy(std::begin(table->bits), std::end(table->bits), code.counts.begin());
  code.counts[0] = 0;
  std::copy(std::begin(table->huffval), std::end(table->huffval), code.symbols.begin());
  return true;
}

bool take_component(const jpeg_decompress_struct& jpeg, const jpeg_component_info& from, baseline::Component& to) {
  const auto in_table = [](int number) { return number >= 0 && number < NUM_HUFF_TBLS; };
  if (!in_table(from.dc_tbl_no) || !in_table(from.ac_tbl_no) || !in_table(from.quant_tbl_no)) return false;
  // A scan of one component has an MCU for each block (T.81, A.2.2).
  const bool is_alone = jpeg.comps_in_scan == 1;
  to.across = is_alone ? 1 : from.h_samp_factor;
  to.down = is_alone ? 1 : from.v_samp_factor;
  to.blocks_across = static_cast<int>(from.width_in_blocks);
  const JQUANT_TBL* steps = jpeg.quant_tbl_ptrs[from.quant_tbl_no];
  if (steps == nullptr) return false;
  std::copy(std::begin(steps->quantval), std::end(steps->quantval), to.steps.begin());
  return take_code(jpeg.dc_huff_tbl_ptrs[from.dc_tbl_no], to.dc) &&
         take_code(jpeg.ac_huff_tbl_ptrs[from.ac_tbl_no], to.ac);
}

int parts(int whole, int part) { return (whole + part - 1) / part; }

}  // namespace

// False: a picture of another kind.
bool PlainScan::describe(const jpeg_decompress_struct& jpeg, const PlanesShape& shape) {
  const int count = jpeg.comps_in_scan;
  const bool is_baseline = jpeg.progressive_mode == FALSE && jpeg.arith_code == FALSE && jpeg.data_precision == 8;
  if (!is_baseline || count != jpeg.num_components || (count != 1 && count != 3)) return false;
  frame_.components = static_cast<size_t>(count);
  for (size_t c = 0; c < frame_.components; ++c) {
    const jpeg_component_info& component = *jpeg.cur_comp_info[c];
    if (!take_component(jpeg, component, frame_.component[c])) return false;
    plane_[c] = static_cast<size_t>(&component - jpeg.comp_info);
    frame_.component[c].is_wanted = plane_[c] < static_cast<size_t>(shape.planes());
  }
  across_ = DCTSIZE * (count == 1 ? 1 : jpeg.max_h_samp_factor);
  down_ = DCTSIZE * (count == 1 ? 1 : jpeg.max_v_samp_factor);
  frame_.mcus_across = parts(shape.picture.width, across_);
  frame_.restart_interval = jpeg.restart_interval;
  return true;
}

// Of each plane a row of MCUs on its way to memory that is kept; or, where there is a box, one row for what lies below
// the planes.
uint8_t* PlainScan::lay_rows(const Target& target, PlaneRows& rows) {
  rows.count = {};
  for (size_t c = 0; c < frame_.components; ++c) rows.count[plane_[c]] = frame_.component[c].down * DCTSIZE;
  const auto& strides = target.layout.stride_bytes;
  size_t bytes = strides[0];
  for (size_t c = 0; c < kPlanesMax && !target.box; ++c) bytes += strides[c] * static_cast<size_t>(rows.count[c]);
  uint8_t* first = row_memory_.resize(bytes + PlanesLayout::kAlignment);
  const size_t beyond = reinterpret_cast<uintptr_t>(first) % PlanesLayout::kAlignment;
  first += (PlanesLayout::kAlignment - beyond) % PlanesLayout::kAlignment;
  uint8_t* row = first;
  for (size_t c = 0; c < kPlanesMax && !target.box; ++c)
    for (int i = 0; i < rows.count[c]; ++i, row += strides[c]) rows.rows[c][static_cast<size_t>(i)] = row;
  return first;
}

bool PlainScan::read_mcu_row(int mcu_row, const Target& target, uint8_t* spare, PlaneRows& rows) {
  for (size_t c = 0; c < kPlanesMax; ++c) rows.first[c] = mcu_row * rows.count[c];
  if (target.box) point_at(target.shape, target.layout, target.memory, 0, spare, rows);
  baseline::McuRows::Rows to{};
  for (size_t c = 0; c < frame_.components; ++c) to[c] = rows.rows[plane_[c]];
  if (!rows_.read(to)) return false;
  if (!target.box) keep_rows(target.shape, target.layout, rows, target.memory);
  return true;
}

PlainScan::Outcome PlainScan::read(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded,
                                   const Target& target, const std::function<bool(uint64_t)>& goes_on) {
  if (!describe(jpeg, target.shape)) return Outcome::kLeft;
  const Size& picture = target.shape.picture;
  const Box box = target.box ? with_neighbours(*target.box, target.shape) : Box{0, 0, picture.width, picture.height};
  if (!rows_.begin(frame_, coded, {box.x / across_, parts(box.x + box.width, across_)})) return Outcome::kLeft;
  PlaneRows rows;
  uint8_t* const spare = lay_rows(target, rows);
  std::memset(target.memory, 0, PlanesLayout::kHeaderBytes);
  write_planes_header(target.shape, target.memory);
  const int first_row = box.y / down_, end_row = parts(box.y + box.height, down_);
  for (int mcu_row = 0; mcu_row < end_row; ++mcu_row) {
    if (!goes_on(frame_.blocks_in_row())) return Outcome::kStopped;
    const bool is_sound = mcu_row < first_row ? rows_.skip() : read_mcu_row(mcu_row, target, spare, rows);
    if (!is_sound) return Outcome::kLeft;
  }
  if (!target.box) end_kept_rows(target.layout, target.memory);
  return target.to_end && !rows_.is_at_end() ? Outcome::kLeft : Outcome::kDone;
}

}  // namespace spdld::image
