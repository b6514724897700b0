// The kernels that write rows of pixels into a tensor: value * factor + offset of each colour, in the tensor's type and
// layout. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "config/spec.h"
#include "daemon/base/picture.h"

namespace spdld::image {

struct TensorFormat {
  // kUint8, kUint16, kFloat16, kBfloat16 or kFloat32. Precondition: the first has pixels of 8 bits, the second of 16;
  // pixels of floats are grey or RGB, for the others.
  config::DType dtype = config::DType::kUint8;
  config::Layout layout = config::Layout::kNhwc;  // kNhwc or kNchw
  // Of kNchw: how many planes behind the plane before it a channel's plane begins. 1 for a picture by itself; the
  // frames of a clip whose channels come first lie between.
  int planes_apart = 1;
  Size size;  // of no pixels: each picture has its batch's, which the program fills in
  // Applied to a value, by channel, in float32 (one fused multiply-add where the machine has it);
  // uint8 and uint16 take values as they are.
  std::array<float, 4> factor = {1, 1, 1, 1}, offset = {0, 0, 0, 0};
  PixelFormat pixels = {};  // of the rows; the tensor has as many channels
};

// Of a picture's values.
size_t bytes_of(const TensorFormat& format);
// From a picture to the next one of the same tensor.
size_t step_bytes(const TensorFormat& format);

// Rows of pixels: interleaved, or, of RGB of 8 bits, each row's red, green and blue values apart.
struct RowsView {
  const uint8_t* first = nullptr;
  size_t stride_bytes = 0;  // from row to row
  size_t plane_bytes = 0;   // from a row's red values to its green ones, and on to its blue ones; 0: interleaved
};

// True: write_rows takes rows of planes, and needs less time for them.
bool prefers_planes(const TensorFormat& format);

// `rows` rows of size.width pixels become the tensor's rows from `first_row`. `out` is where the picture's values
// begin, aligned to its elements; nothing outside of these rows is written, and 64 bytes after the last pixel may be
// read. Rows of 16 bits are aligned to 2 bytes, and of floats to 4. Large tensors of whole cache lines are written past
// the caches: call flush_rows() before another thread reads.
void write_rows(const TensorFormat& format, const RowsView& from, int first_row, int rows, uint8_t* out);
void flush_rows();

}  // namespace spdld::image
