#include "daemon/media/image/codecs/jpeg/progressive_scans.h"

#include <algorithm>
#include <numeric>

#include "daemon/media/image/codecs/jpeg/codec.h"
#include "daemon/media/image/codecs/jpeg/header_values.h"
#include "daemon/media/image/codecs/jpeg/scans.h"
#include "daemon/media/image/codecs/jpeg/segments.h"

namespace spdld::image {
uint64_t ProgressiveScans::memory_bytes(const jpeg_decompress_struct& jpeg) {
  progressive::Frame frame;
  frame.components = std::min(static_cast<size_t>(jpeg.num_components), baseline::kComponentsMax);
  for (size_t c = 0; c < frame.components; ++c) {
    frame.component[c].blocks_across = static_cast<int>(jpeg.comp_info[c].width_in_blocks);
    frame.component[c].blocks_down = static_cast<int>(jpeg.comp_info[c].height_in_blocks);
  }
  return progressive::Coefficients::bytes_max(frame);
}

// False: a picture of another kind.
bool ProgressiveScans::describe(const jpeg_decompress_struct& jpeg, const PlanesShape& shape) {
  const bool is_progressive = jpeg.progressive_mode != FALSE && jpeg.arith_code == FALSE && jpeg.data_precision == 8;
  if (!is_progressive || (jpeg.num_components != 1 && jpeg.num_components != 3)) return false;
  const bool is_alone = jpeg.num_components == 1;
  frame_.components = static_cast<size_t>(jpeg.num_components);
  across_ = DCTSIZE * (is_alone ? 1 : jpeg.max_h_samp_factor);
  down_ = DCTSIZE * (is_alone ? 1 : jpeg.max_v_samp_factor);
  frame_.mcus_across = parts(shape.picture.width, across_);
  frame_.mcus_down = parts(shape.picture.height, down_);
  for (size_t c = 0; c < frame_.components; ++c) {
    const jpeg_component_info& from = jpeg.comp_info[c];
    progressive::Component& to = frame_.component[c];
    to.across = is_alone ? 1 : from.h_samp_factor;
    to.down = is_alone ? 1 : from.v_samp_factor;
    to.blocks_across = static_cast<int>(from.width_in_blocks);
    to.blocks_down = static_cast<int>(from.height_in_blocks);
    to.is_wanted = c < static_cast<size_t>(shape.planes());
    if (from.quant_tbl_no < 0 || from.quant_tbl_no >= NUM_QUANT_TBLS) return false;
    const JQUANT_TBL* steps = jpeg.quant_tbl_ptrs[from.quant_tbl_no];
    if (steps == nullptr || from.component_id < 0 || from.component_id > UINT8_MAX) return false;
    std::copy(std::begin(steps->quantval), std::end(steps->quantval), to.steps.begin());
    ids_[c] = static_cast<uint8_t>(from.component_id);
    accuracy_[c].fill(kNone);
    if (std::find(ids_.begin(), ids_.begin() + static_cast<ptrdiff_t>(c), ids_[c]) !=
        ids_.begin() + static_cast<ptrdiff_t>(c))
      return false;
  }
  return true;
}

bool ProgressiveScans::take_first_scan(const jpeg_decompress_struct& jpeg) {
  for (size_t i = 0; i < NUM_HUFF_TBLS; ++i) {
    has_dc_[i] = copy_code(jpeg.dc_huff_tbl_ptrs[i], dc_codes_[i]);
    has_ac_[i] = copy_code(jpeg.ac_huff_tbl_ptrs[i], ac_codes_[i]);
  }
  restart_interval_ = jpeg.restart_interval;
  scan_.components = static_cast<size_t>(jpeg.comps_in_scan);
  scan_.first = jpeg.Ss;
  scan_.last = jpeg.Se;
  scan_.high = jpeg.Ah;
  scan_.low = jpeg.Al;
  if (scan_.components > frame_.components) return false;
  for (size_t i = 0; i < scan_.components; ++i) {
    const jpeg_component_info& component = *jpeg.cur_comp_info[i];
    scan_.component[i] = static_cast<size_t>(&component - jpeg.comp_info);
    const int code = jpeg.Ss == 0 ? component.dc_tbl_no : component.ac_tbl_no;
    if (code < 0 || code >= NUM_HUFF_TBLS) return false;
    code_of_[i] = static_cast<uint8_t>(code);
  }
  return true;
}

// A DHT segment (T.81, B.2.4.2).
bool ProgressiveScans::take_codes(std::span<const uint8_t> segment) {
  constexpr size_t kLengths = 16;
  while (!segment.empty()) {
    const uint8_t kind = segment[0] >> 4, number = segment[0] & 15;
    if (kind > 1 || number >= NUM_HUFF_TBLS || segment.size() < 1 + kLengths) return false;
    Code code;
    std::copy_n(segment.begin() + 1, kLengths, code.counts.begin() + 1);
    const size_t symbols = std::accumulate(code.counts.begin(), code.counts.end(), size_t{0});
    if (symbols > code.symbols.size() || segment.size() < 1 + kLengths + symbols) return false;
    std::copy_n(segment.begin() + 1 + kLengths, symbols, code.symbols.begin());
    (kind == 0 ? dc_codes_ : ac_codes_)[number] = code;
    (kind == 0 ? has_dc_ : has_ac_)[number] = true;
    segment = segment.subspan(1 + kLengths + symbols);
  }
  return true;
}

// A scan's header (T.81, B.2.3). Its components come in the frame's order; of other orders libjpeg refuses most.
bool ProgressiveScans::take_scan(std::span<const uint8_t> segment) {
  scan_.components = segment.empty() ? 0 : segment[0];
  const bool has_size =
      scan_.components >= 1 && scan_.components <= frame_.components && segment.size() == 4 + 2 * scan_.components;
  if (!has_size) return false;
  for (size_t i = 0; i < scan_.components; ++i) {
    const auto end = ids_.begin() + static_cast<ptrdiff_t>(frame_.components);
    const auto at = std::find(ids_.begin(), end, segment[1 + 2 * i]);
    if (at == end) return false;
    scan_.component[i] = static_cast<size_t>(at - ids_.begin());
    if (i > 0 && scan_.component[i] <= scan_.component[i - 1]) return false;
    const uint8_t codes = segment[2 + 2 * i];
    code_of_[i] = segment[1 + 2 * scan_.components] == 0 ? codes >> 4 : codes & 15;
  }
  const auto rest = segment.last(3);
  scan_.first = rest[0];
  scan_.last = rest[1];
  scan_.high = rest[2] >> 4;
  scan_.low = rest[2] & 15;
  return true;
}

// Whether encoders write such a scan at this place; then its tables.
bool ProgressiveScans::begin_scan() {
  const bool is_dc = scan_.first == 0;
  if (is_dc ? scan_.last != 0 : scan_.components != 1 || scan_.last < scan_.first || scan_.last >= DCTSIZE2)
    return false;
  if (scan_.low > progressive::kLowMax || (scan_.high != 0 && scan_.high != scan_.low + 1)) return false;
  scan_.restart_interval = restart_interval_;
  int blocks = 0;
  for (size_t i = 0; i < scan_.components; ++i) {
    const size_t c = scan_.component[i];
    blocks += frame_.component[c].across * frame_.component[c].down;
    if (std::find(scan_.component.begin(), scan_.component.begin() + static_cast<ptrdiff_t>(i), c) !=
        scan_.component.begin() + static_cast<ptrdiff_t>(i))
      return false;
    Accuracy& accuracy = accuracy_[c];
    if (!is_dc && accuracy[0] == kNone) return false;
    const auto first = accuracy.begin() + scan_.first, end = accuracy.begin() + scan_.last + 1;
    const int8_t before = scan_.high == 0 ? kNone : static_cast<int8_t>(scan_.high);
    if (!std::all_of(first, end, [&](int8_t bit) { return bit == before; })) return false;
    std::fill(first, end, static_cast<int8_t>(scan_.low));
    const size_t code = code_of_[i];
    if (is_dc && scan_.high != 0) continue;
    if (code >= NUM_HUFF_TBLS || !(is_dc ? has_dc_ : has_ac_)[code]) return false;
    if (is_dc) {
      scan_.dc[i] = dc_tables_.find(dc_codes_[code]);
      if (scan_.dc[i] == nullptr) return false;
    } else {
      scan_.band = band_tables_.find(ac_codes_[code]);
      if (scan_.band == nullptr) return false;
    }
  }
  return scan_.components == 1 || blocks <= static_cast<int>(baseline::kMcuBlocksMax);
}

// Otherwise libjpeg may smooth the picture.
bool ProgressiveScans::is_complete() const {
  return std::all_of(accuracy_.begin(), accuracy_.begin() + static_cast<ptrdiff_t>(frame_.components),
                     [](const Accuracy& accuracy) {
                       return std::all_of(accuracy.begin(), accuracy.end(), [](int8_t bit) { return bit == 0; });
                     });
}

// The marker segments between two scans, whose restart markers may be left over.
OwnDecoding ProgressiveScans::find_scan(bool at_once) {
  for (size_t at = 0;;) {
    const size_t from = at;
    at = next_marker(coded_, at);
    if (at_once && at != from) return OwnDecoding::kLeft;
    if (at + 1 >= coded_.size()) return OwnDecoding::kLeft;
    const uint8_t found = coded_[at + 1];
    if (found == 0xFF || marker::is_restart(found)) {
      at += found == 0xFF ? 1 : 2;
      continue;
    }
    ended_ = found == marker::kEnd;
    if (ended_) return OwnDecoding::kDone;
    if (at + 3 >= coded_.size()) return OwnDecoding::kLeft;
    const size_t length = static_cast<size_t>(coded_[at + 2]) << 8 | coded_[at + 3];
    if (length < 2 || length > coded_.size() - at - 2) return OwnDecoding::kLeft;
    const auto segment = coded_.subspan(at + 4, length - 2);
    at += 2 + length;
    if (found == marker::kScan) {
      coded_ = coded_.subspan(at);
      return take_scan(segment) ? OwnDecoding::kDone : OwnDecoding::kLeft;
    }
    const bool is_interval = found == marker::kRestartInterval && segment.size() == 2;
    if (is_interval) restart_interval_ = static_cast<uint32_t>(segment[0]) << 8 | segment[1];
    const bool says_nothing = marker::is_application(found) || found == marker::kComment;
    if (!is_interval && !says_nothing && !(found == marker::kHuffman && take_codes(segment))) return OwnDecoding::kLeft;
  }
}

OwnDecoding ProgressiveScans::read_scan(const OwnTarget& target, const GoesOn& goes_on) {
  reader_.begin(frame_, scan_, coded_, coefficients_);
  const bool is_wanted = scan_.components > 1 || frame_.component[scan_.component[0]].is_wanted;
  const int end = target.to_end ? reader_.rows() : is_wanted ? reader_.rows_to(window_.end_row) : 0;
  for (int row = 0; row < end; ++row) {
    if (!goes_on(reader_.blocks_in_row())) return OwnDecoding::kStopped;
    if (!reader_.read_row()) return OwnDecoding::kLeft;
  }
  if (target.to_end && !reader_.is_at_marker()) return OwnDecoding::kLeft;
  coded_ = coded_.subspan(reader_.passed());
  return OwnDecoding::kDone;
}

OwnDecoding ProgressiveScans::write_rows(const OwnTarget& target, const GoesOn& goes_on) {
  std::array<int, kPlanesMax> lines{};
  uint64_t blocks = 0;
  for (size_t c = 0; c < frame_.components; ++c) {
    lines[c] = frame_.component[c].down * DCTSIZE;
    blocks += static_cast<uint64_t>(frame_.component[c].across * frame_.component[c].down);
  }
  writer_.begin(target, lines);
  for (int mcu_row = window_.first_row; mcu_row < window_.end_row; ++mcu_row) {
    if (!goes_on(blocks * static_cast<uint64_t>(frame_.mcus_across))) return OwnDecoding::kStopped;
    if (!coefficients_.transform(mcu_row, writer_.rows_of(mcu_row).rows)) return OwnDecoding::kLeft;
    writer_.keep();
  }
  writer_.end();
  return OwnDecoding::kDone;
}

OwnDecoding ProgressiveScans::read(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded,
                                   const OwnTarget& target, const GoesOn& goes_on) {
  if (!describe(jpeg, target.shape) || !take_first_scan(jpeg)) return OwnDecoding::kLeft;
  const bool is_all_wanted = target.shape.planes() == jpeg.num_components;
  if (target.to_end && !is_all_wanted) return OwnDecoding::kLeft;
  const Box box = needed_box(target);
  window_ = {box.x / across_, parts(box.x + box.width, across_), box.y / down_, parts(box.y + box.height, down_)};
  if (!coefficients_.begin(frame_, window_)) return OwnDecoding::kLeft;
  if (target.packed != nullptr) {
    begin_packing(target.shape, frame_.component, *target.packed);
    coefficients_.pack(*target.packed);
  }
  coded_ = coded;
  for (int scans = 0; scans < Codec::kScansMax; ++scans) {
    if (!begin_scan()) return OwnDecoding::kLeft;
    if (const auto read = read_scan(target, goes_on); read != OwnDecoding::kDone) return read;
    if (find_scan(target.to_end) != OwnDecoding::kDone) return OwnDecoding::kLeft;
    if (ended_) return is_complete() ? write_rows(target, goes_on) : OwnDecoding::kLeft;
  }
  return OwnDecoding::kLeft;
}

}  // namespace spdld::image
