#include "daemon/media/image/codecs/jpeg/plane_writer.h"

#include <cstring>

namespace spdld::image {

Box needed_box(const OwnTarget& target) {
  const Size& picture = target.shape.picture;
  return target.box ? with_neighbours(*target.box, target.shape) : Box{0, 0, picture.width, picture.height};
}

// Of each plane a row of MCUs on its way to memory that is kept; or, where there is a box, one row for what lies below
// the planes.
void PlaneWriter::begin(const OwnTarget& target, const std::array<int, kPlanesMax>& lines) {
  target_ = &target;
  rows_.count = lines;
  const auto& strides = target.layout.stride_bytes;
  size_t bytes = strides[0];
  for (size_t c = 0; c < kPlanesMax && !target.box; ++c) bytes += strides[c] * static_cast<size_t>(rows_.count[c]);
  spare_ = memory_.resize_aligned(bytes, PlanesLayout::kAlignment);
  uint8_t* row = spare_;
  for (size_t c = 0; c < kPlanesMax && !target.box; ++c)
    for (int i = 0; i < rows_.count[c]; ++i, row += strides[c]) rows_.rows[c][static_cast<size_t>(i)] = row;
  std::memset(target.memory, 0, PlanesLayout::kHeaderBytes);
  write_planes_header(target.shape, target.memory);
}

const PlaneRows& PlaneWriter::rows_of(int mcu_row) {
  for (size_t c = 0; c < kPlanesMax; ++c) rows_.first[c] = mcu_row * rows_.count[c];
  if (target_->box) point_at(target_->shape, target_->layout, target_->memory, 0, spare_, rows_);
  return rows_;
}

void PlaneWriter::keep() {
  if (!target_->box) keep_rows(target_->shape, target_->layout, rows_, target_->memory);
}

void PlaneWriter::end() {
  if (!target_->box) end_kept_rows(target_->layout, target_->memory);
}

}  // namespace spdld::image
