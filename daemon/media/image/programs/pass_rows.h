// The rows that a pass gives: the rows of its inside (geometry.h, inside_of), with black around them where the window
// is larger, from the lowest to the highest where the pass is flipped.
#pragma once

#include <cstddef>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/picture.h"
#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/kernels/tensor_rows.h"

namespace spdld::image {

// Takes the rows of a pass's window, in any order, each exactly once. Its caller may write over them when it returns.
class RowSink {
 public:
  virtual void take(int first_row, int rows, const RowsView& view) = 0;

 protected:
  ~RowSink() = default;
};

class PassRows {
 public:
  // Borrows all but the sizes. `padded`: memory for a row of the window.
  PassRows(const Pass& pass, const Box& inside, size_t pixel_bytes, ByteBuffer& padded, RowSink& sink);

  bool is_padded() const { return padded_; }
  // Gives black rows alone.
  void give_black();
  // Give the rows above the inside, before take(), and the rows below it, after take().
  void begin();
  void end();
  // Rows of the inside, from its row `first` on.
  void take(int first, int rows, const RowsView& view);

 private:
  void clear();
  RowsView padded_row() const { return {padded_memory_.data(), 0, 0}; }
  void give(int first, int rows, const RowsView& view);

  const Pass& pass_;
  ByteBuffer& padded_memory_;
  RowSink& sink_;
  const int inside_height_;
  const size_t inside_bytes_, width_bytes_;  // of a row
  size_t left_bytes_;                        // of black before a row of the inside
  int top_;                                  // rows of black above it
  bool padded_;
};

}  // namespace spdld::image
