#include "daemon/media/image/codecs/baseline/mcu_rows.h"

#include <algorithm>

namespace spdld::image::baseline {
namespace {

constexpr uint8_t kEndOfImage = 0xD9;

}  // namespace

McuRows::McuRows() : in_group_(blocks_in_group()), places_(places_of(in_group_)) {
  if (in_group_ == 0) return;
  const size_t groups = kChunkMcus * kMcuBlocksMax / in_group_;
  coefficients_.resize(groups * group_samples(in_group_) + kGroupSlack);
}

bool McuRows::begin(const Frame& frame, std::span<const uint8_t> coded, Columns wanted) {
  if (in_group_ == 0) return false;
  frame_ = &frame;
  wanted_ = wanted;
  std::fill(coefficients_.begin(), coefficients_.end(), int16_t{0});  // a picture that was given up left some
  int16_t* groups = first_group(coefficients_.data());
  block_count_ = 0;
  for (size_t c = 0; c < frame.components; ++c) {
    const Component& component = frame.component[c];
    const DcTable* dc = dc_tables_.find(component.dc);
    const AcTable* ac = ac_tables_.find(component.ac);
    const int blocks = component.across * component.down;
    if (dc == nullptr || ac == nullptr || block_count_ + static_cast<size_t>(blocks) > kMcuBlocksMax) return false;
    for (int i = 0; i < blocks; ++i)
      blocks_[block_count_++] = {c, dc, ac, i % component.across, i / component.across, component.is_wanted};
    ComponentState& state = states_[c];
    state.predicted = 0;
    const int step = std::max<int>(component.steps[0], 1);
    state.dc_least = kDcMin / step;
    state.dc_most = kDcMax / step;
    for (int row = 0; row < component.down; ++row) {
      state.groups[static_cast<size_t>(row)] = groups;
      groups += static_cast<size_t>(kChunkMcus * component.across) / in_group_ * group_samples(in_group_);
    }
  }
  restarts_in_ = frame.restart_interval == 0 ? UINT32_MAX : frame.restart_interval;
  next_restart_ = 0;
  scan_ = coded;
  number_ = 0;
  next_point_ = kNoPoint;
  writer_ = nullptr;
  packed_ = nullptr;
  index_.reset();
  has_gaps_ = false;
  coded_.begin(coded, bits_);
  return true;
}

void McuRows::write(ScanIndexWriter& index) {
  writer_ = &index;
  next_point_ = 0;
}

bool McuRows::go_to(int row, const ScanIndex& index) {
  index_ = index;
  row_ = row;
  has_gaps_ = static_cast<uint32_t>(wanted_.first + frame_->mcus_across - wanted_.end) >= index.spacing();
  if (has_gaps_) return true;
  mcu_ = 0;
  return jump_to(mcu_of(row, 0), static_cast<uint32_t>(frame_->mcus())) && skip_to(0);
}

// From `mcu_`, which is this MCU, back to the last point up to it. The bytes up to MCU `end` are to be read from there.
bool McuRows::jump_to(uint32_t mcu, uint32_t end) {
  const uint32_t spacing = index_->spacing(), from = mcu / spacing, to = (end - 1) / spacing + 1;
  const ScanPoint point = index_->point(from);
  const size_t first = point.bit / 8;
  // A byte 0xFF has its zero behind it.
  const size_t last = to < index_->points() ? std::min(index_->point(to).bit / 8 + 2, scan_.size()) : scan_.size();
  if (first > last) return false;
  coded_.begin(scan_.subspan(first, last - first), bits_);
  bits_.refill();
  bits_.drop(static_cast<int>(point.bit % 8));
  for (size_t c = 0; c < frame_->components; ++c) states_[c].predicted = point.predicted[c];
  number_ = from * spacing;
  next_point_ = number_ + spacing;
  mcu_ -= static_cast<int>(mcu - number_);
  if (const uint32_t interval = frame_->restart_interval; interval != 0) {
    // A marker that stands at the point was not passed yet.
    const uint32_t passed = number_ == 0 ? 0 : (number_ - 1) / interval;
    next_restart_ = static_cast<uint8_t>(passed & 7);
    restarts_in_ = (passed + 1) * interval - number_;
  }
  return true;
}

// A reader knows what stands at a point, so that it finds an index of another scan wrong.
bool McuRows::pass_point() {
  ScanPoint here{coded_.position(bits_), {}};
  for (size_t c = 0; c < frame_->components; ++c) here.predicted[c] = states_[c].predicted;
  if (writer_ != nullptr) {
    next_point_ += writer_->spacing();
    return writer_->add(here);
  }
  const ScanPoint known = index_->point(number_ / index_->spacing());
  next_point_ += index_->spacing();
  return here.bit % 8 == known.bit % 8 &&
         std::equal(here.predicted.begin(), here.predicted.begin() + frame_->components, known.predicted.begin());
}

bool McuRows::pass_restart() {
  if (!coded_.pass_restart(bits_, next_restart_)) return false;
  restarts_in_ = frame_->restart_interval;
  for (ComponentState& state : states_) state.predicted = 0;
  return true;
}

bool McuRows::begin_mcu() {
  if (number_ == next_point_ && !pass_point()) return false;
  number_++;
  if (restarts_in_ == 0 && !pass_restart()) return false;
  if (frame_->restart_interval != 0) restarts_in_--;
  coded_.provide(bits_);
  return true;
}

bool McuRows::skip_to(int mcu_end) {
  for (; mcu_ < mcu_end; ++mcu_) {
    if (!begin_mcu()) return false;
    for (size_t i = 0; i < block_count_; ++i) {
      const Block& block = blocks_[i];
      int difference = 0;
      if (!read_dc(bits_, *block.dc, difference) || !skip_ac(bits_, *block.ac)) return false;
      states_[block.component].predicted += difference;
    }
  }
  return true;
}

bool McuRows::read_chunk(int mcu_end, const Rows& rows) {
  const int first = mcu_;
  for (; mcu_ < mcu_end; ++mcu_) {
    if (!begin_mcu()) return false;
    for (size_t i = 0; i < block_count_; ++i) {
      const Block& block = blocks_[i];
      ComponentState& state = states_[block.component];
      int difference = 0;
      if (!read_dc(bits_, *block.dc, difference)) return false;
      state.predicted += difference;
      if (!block.is_wanted) {
        if (!skip_ac(bits_, *block.ac)) return false;
        continue;
      }
      if (state.predicted < state.dc_least || state.predicted > state.dc_most) return false;
      const Component& component = frame_->component[block.component];
      const auto at_y = static_cast<size_t>(block.at_y);
      const auto at_x = static_cast<size_t>((mcu_ - first) * component.across + block.at_x);
      int16_t* const coefficients = block_in(state.groups[at_y], at_x, in_group_);
      coefficients[0] = static_cast<int16_t>(state.predicted);
      int last = 0;
      if (!read_ac(bits_, *block.ac, places_, coefficients, last)) return false;
      state.last[at_y][at_x] = static_cast<uint8_t>(last);
    }
  }
  return transform_chunk(first, mcu_end, rows);
}

bool McuRows::transform_chunk(int first_mcu, int mcu_end, const Rows& rows) {
  for (size_t c = 0; c < frame_->components; ++c) {
    const Component& component = frame_->component[c];
    if (!component.is_wanted) continue;
    const int first = first_mcu * component.across;
    const int count = std::min(mcu_end * component.across, component.blocks_across) - first;
    for (size_t y = 0; y < static_cast<size_t>(component.down); ++y) {
      BlockRow row{states_[c].groups[y],
                   {states_[c].last[y].data(), static_cast<size_t>(std::max(count, 0))},
                   component.steps,
                   {}};
      for (size_t line = 0; line < kBlockSide; ++line)
        row.rows[line] = rows[c][y * kBlockSide + line] + static_cast<ptrdiff_t>(first) * kBlockSide;
      if (packed_ != nullptr) packed_->add(c, y, row);
      if (!transform(row)) return false;
    }
  }
  return true;
}

bool McuRows::skip() {
  mcu_ = 0;
  return skip_to(frame_->mcus_across) && coded_.holds(bits_);
}

bool McuRows::read(const Rows& rows) {
  mcu_ = has_gaps_ ? wanted_.first : 0;
  if (has_gaps_ && !jump_to(mcu_of(row_, wanted_.first), mcu_of(row_, wanted_.end))) return false;
  row_++;
  if (!skip_to(wanted_.first)) return false;
  while (mcu_ < wanted_.end)
    if (!read_chunk(std::min(mcu_ + kChunkMcus, wanted_.end), rows)) return false;
  return (has_gaps_ || skip_to(frame_->mcus_across)) && coded_.holds(bits_);
}

bool McuRows::is_at_end() const { return coded_.is_at_marker(bits_) && coded_.marker() == kEndOfImage; }

}  // namespace spdld::image::baseline
