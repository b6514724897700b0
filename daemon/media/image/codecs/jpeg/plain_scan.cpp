#include "daemon/media/image/codecs/jpeg/plain_scan.h"

#include <algorithm>

#include "daemon/media/image/codecs/jpeg/header_values.h"

namespace spdld::image {
namespace {

static_assert(kPlaneRowsMax == baseline::kFactorMax * baseline::kBlockSide && kPlanesMax == baseline::kComponentsMax);

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
  return copy_code(jpeg.dc_huff_tbl_ptrs[from.dc_tbl_no], to.dc) &&
         copy_code(jpeg.ac_huff_tbl_ptrs[from.ac_tbl_no], to.ac);
}

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
  frame_.mcus_down = parts(shape.picture.height, down_);
  frame_.restart_interval = jpeg.restart_interval;
  return true;
}

// Whether the scan has the components in the order of the planes.
bool PlainScan::is_in_order(const PlanesShape& shape) const {
  for (size_t c = 0; c < static_cast<size_t>(shape.planes()); ++c)
    if (plane_[c] != c) return false;
  return true;
}

bool PlainScan::read_mcu_row(int mcu_row) {
  const PlaneRows& rows = writer_.rows_of(mcu_row);
  baseline::McuRows::Rows to{};
  for (size_t c = 0; c < frame_.components; ++c) to[c] = rows.rows[plane_[c]];
  if (!rows_.read(to)) return false;
  writer_.keep();
  return true;
}

size_t PlainScan::index_bytes(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded,
                              const PlanesShape& shape) {
  return describe(jpeg, shape) ? baseline::spacing_of(frame_.mcus(), coded.size()).bytes() : 0;
}

OwnDecoding PlainScan::read_rows(int first, int end, const OwnTarget& target, std::span<const uint8_t> known,
                                 const GoesOn& goes_on) {
  std::array<int, kPlanesMax> lines{};
  for (size_t c = 0; c < frame_.components; ++c) lines[plane_[c]] = frame_.component[c].down * DCTSIZE;
  writer_.begin(target, lines);
  const auto index = baseline::ScanIndex::view(known, frame_.mcus());
  if (!known.empty() && (!index || !rows_.go_to(first, *index))) return OwnDecoding::kLeft;
  for (int mcu_row = index ? first : 0; mcu_row < end; ++mcu_row) {
    if (!goes_on(frame_.blocks_in_row())) return OwnDecoding::kStopped;
    const bool is_sound = mcu_row < first ? rows_.skip() : read_mcu_row(mcu_row);
    if (!is_sound) return OwnDecoding::kLeft;
  }
  writer_.end();
  return target.to_end && !rows_.is_at_end() ? OwnDecoding::kLeft : OwnDecoding::kDone;
}

OwnDecoding PlainScan::read(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded, const OwnTarget& target,
                            const Indexes& indexes, const GoesOn& goes_on) {
  if (!describe(jpeg, target.shape)) return OwnDecoding::kLeft;
  const Box box = needed_box(target);
  if (!rows_.begin(frame_, coded, {box.x / across_, parts(box.x + box.width, across_)})) return OwnDecoding::kLeft;
  if (target.packed != nullptr && is_in_order(target.shape)) {
    begin_packing(target.shape, frame_.component, *target.packed);
    rows_.pack(*target.packed);
  }
  const int first = box.y / down_, end = parts(box.y + box.height, down_);
  if (indexes.made.empty()) return read_rows(first, end, target, indexes.known, goes_on);
  baseline::ScanIndexWriter writer(indexes.made, baseline::spacing_of(frame_.mcus(), coded.size()));
  rows_.write(writer);
  const OwnDecoding outcome = read_rows(first, end, target, indexes.known, goes_on);
  bool is_whole = outcome == OwnDecoding::kDone;
  for (int mcu_row = end; is_whole && mcu_row < frame_.mcus_down; ++mcu_row) {
    if (!goes_on(frame_.blocks_in_row())) return OwnDecoding::kStopped;  // else an index without points would be kept
    is_whole = rows_.skip();
  }
  if (is_whole) writer.finish(coded);
  return outcome;
}

}  // namespace spdld::image
