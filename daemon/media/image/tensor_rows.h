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
  config::DType dtype = config::DType::kUint8;  // kUint8, kFloat16, kBfloat16 or kFloat32
  config::Layout layout = config::Layout::kNhwc;
  Size size;
  // Applied to a value 0..255, by colour, in float32 (one fused multiply-add where the machine has it); uint8 takes
  // values as they are.
  std::array<float, 3> factor = {1, 1, 1}, offset = {0, 0, 0};
};

// Rows of pixels: interleaved RGB, or each row's red, green and blue values apart.
struct RgbRows {
  const uint8_t* first = nullptr;
  size_t stride_bytes = 0;  // from row to row
  size_t plane_bytes = 0;   // from a row's red values to its green ones, and on to its blue ones; 0: interleaved
};

// True: write_rows takes rows of planes, and needs less time for them.
bool prefers_planes(const TensorFormat& format);

// `rows` rows of size.width pixels become the tensor's rows from `first_row`. `out` is the whole tensor, aligned to its
// elements; nothing outside of these rows is written, and 64 bytes after the last pixel may be read. Large tensors of
// whole cache lines are written past the caches: call flush_rows() before another thread reads.
void write_rows(const TensorFormat& format, const RgbRows& from, int first_row, int rows, uint8_t* out);
void flush_rows();

}  // namespace spdld::image
