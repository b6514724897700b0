#include "daemon/media/image/programs/pass_rows.h"

#include <cstring>

namespace spdld::image {

PassRows::PassRows(const Pass& pass, const Box& inside, size_t pixel_bytes, ByteBuffer& padded, RowSink& sink)
    : pass_(pass),
      padded_memory_(padded),
      sink_(sink),
      inside_height_(inside.height),
      inside_bytes_(static_cast<size_t>(inside.width) * pixel_bytes),
      width_bytes_(static_cast<size_t>(pass.window.width) * pixel_bytes),
      top_(inside.y - pass.window.y),
      padded_(inside != pass.window) {
  const int left = inside.x - pass.window.x, right = pass.window.width - inside.width - left;
  left_bytes_ = static_cast<size_t>(pass.mirrored ? right : left) * pixel_bytes;
}

void PassRows::clear() { std::memset(padded_memory_.data(), 0, width_bytes_); }

void PassRows::give_black() {
  padded_memory_.resize(width_bytes_ + PixelRows::kSlackBytes);
  clear();
  give(0, pass_.window.height, padded_row());
}

void PassRows::begin() {
  if (!padded_) return;
  padded_memory_.resize(width_bytes_ + PixelRows::kSlackBytes);
  clear();
  for (int y = 0; y < top_; ++y) give(y, 1, padded_row());
}

void PassRows::end() {
  if (!padded_) return;
  clear();
  for (int y = top_ + inside_height_; y < pass_.window.height; ++y) give(y, 1, padded_row());
}

void PassRows::take(int first, int rows, const RowsView& view) {
  if (!padded_) return give(top_ + first, rows, view);
  const uint8_t* row = view.first;
  for (int y = 0; y < rows; ++y, row += view.stride_bytes) {
    std::memcpy(padded_memory_.data() + left_bytes_, row, inside_bytes_);
    give(top_ + first + y, 1, padded_row());
  }
}

// Rows of the window before it is flipped, from its row `first`.
void PassRows::give(int first, int rows, const RowsView& view) {
  if (!pass_.flipped) return sink_.take(first, rows, view);
  RowsView row = view;
  for (int y = 0; y < rows; ++y, row.first += view.stride_bytes)
    sink_.take(pass_.window.height - 1 - first - y, 1, row);
}

}  // namespace spdld::image
