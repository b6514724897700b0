#include "daemon/media/image/codecs/progressive/coefficients.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace spdld::image::progressive {
namespace {

size_t aligned(size_t bytes) {
  return (bytes + baseline::kGroupAlignment - 1) / baseline::kGroupAlignment * baseline::kGroupAlignment;
}

size_t groups_for(int blocks, size_t in_group) { return (static_cast<size_t>(blocks) + in_group - 1) / in_group; }

// The bytes of a component's part: its marks of the rows down to `end_row`, and `rows` rows of `blocks` wanted blocks.
struct PartBytes {
  size_t nonzero, row;
  size_t groups;
  PartBytes(const Component& component, int end_row, int rows, int blocks, size_t in_group)
      : nonzero(
            aligned(static_cast<size_t>(component.blocks_across) * static_cast<size_t>(end_row) * sizeof(uint64_t))),
        row(aligned(groups_for(blocks, in_group) * baseline::group_samples(in_group) * sizeof(int16_t))),
        groups(row * static_cast<size_t>(rows)) {}
  size_t all() const { return nonzero + groups; }
};

}  // namespace

Coefficients::Coefficients() : in_group_(baseline::blocks_in_group()), places_(baseline::places_of(in_group_)) {}

uint64_t Coefficients::bytes_max(const Frame& frame) {
  uint64_t bytes = 0;
  for (size_t c = 0; c < frame.components; ++c) {
    const Component& component = frame.component[c];
    bytes += PartBytes(component, component.blocks_down, component.blocks_down, component.blocks_across,
                       baseline::kGroupBlocksMax)
                 .all();
  }
  return bytes;
}

bool Coefficients::begin(const Frame& frame, const Window& window) {
  if (in_group_ == 0) return false;
  frame_ = &frame;
  packed_ = nullptr;
  std::array<size_t, kComponentsMax> nonzero_bytes{}, groups_bytes{};
  size_t bytes = 0;
  for (size_t c = 0; c < frame.components; ++c) {
    const Component& component = frame.component[c];
    if (!component.is_wanted) continue;
    ComponentMemory& part = parts_[c];
    part.first = std::min(window.first_column * component.across, component.blocks_across);
    part.end = std::min(window.end_column * component.across, component.blocks_across);
    part.first_row = std::min(window.first_row * component.down, component.blocks_down);
    const int end_row = std::min(window.end_row * component.down, component.blocks_down);
    const PartBytes wanted(component, end_row, end_row - part.first_row, part.end - part.first, in_group_);
    part.row_samples = wanted.row / sizeof(int16_t);
    const int step = std::max<int>(component.steps[0], 1);
    part.dc_least = baseline::kDcMin / step;
    part.dc_most = baseline::kDcMax / step;
    nonzero_bytes[c] = wanted.nonzero;
    groups_bytes[c] = wanted.groups;
    bytes += wanted.all();
  }
  uint8_t* at = memory_.resize_aligned(bytes, baseline::kGroupAlignment);
  std::memset(at, 0, bytes);
  for (size_t c = 0; c < frame.components; ++c) {
    parts_[c].nonzero = reinterpret_cast<uint64_t*>(at);
    parts_[c].groups = reinterpret_cast<int16_t*>(at + nonzero_bytes[c]);
    at += nonzero_bytes[c] + groups_bytes[c];
  }
  return true;
}

Coefficients::Row Coefficients::row(size_t component, int block_row) {
  const ComponentMemory& part = parts_[component];
  const auto across = static_cast<size_t>(frame_->component[component].blocks_across);
  Row row{part.nonzero + across * static_cast<size_t>(block_row), nullptr, part.first, part.end};
  if (block_row >= part.first_row)
    row.groups = part.groups + part.row_samples * static_cast<size_t>(block_row - part.first_row);
  return row;
}

bool Coefficients::transform_row(size_t component, int block_row, uint8_t* const* lines) {
  const ComponentMemory& part = parts_[component];
  const Row row = this->row(component, block_row);
  const auto count = static_cast<size_t>(row.end - row.first);
  uint8_t* const last = last_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const int column = row.first + static_cast<int>(i), dc = *block(row, column);
    if (dc < part.dc_least || dc > part.dc_most) return false;
    last[i] = static_cast<uint8_t>(std::bit_width(row.nonzero[column] | 1) - 1);
  }
  baseline::BlockRow blocks{row.groups, {last, count}, frame_->component[component].steps, {}};
  for (size_t line = 0; line < kBlockSide; ++line)
    blocks.rows[line] = lines[line] + static_cast<ptrdiff_t>(row.first) * baseline::kBlockSide;
  const auto line = static_cast<size_t>(block_row % frame_->component[component].down);
  if (packed_ != nullptr) packed_->add(component, line, blocks);
  return baseline::transform(blocks);
}

bool Coefficients::transform(int mcu_row, const baseline::McuRows::Rows& rows) {
  for (size_t c = 0; c < frame_->components; ++c) {
    const Component& component = frame_->component[c];
    if (!component.is_wanted) continue;
    for (int y = 0; y < component.down; ++y) {
      const int block_row = mcu_row * component.down + y;
      if (block_row >= component.blocks_down) break;
      if (!transform_row(c, block_row, rows[c].data() + y * baseline::kBlockSide)) return false;
    }
  }
  return true;
}

}  // namespace spdld::image::progressive
