// The memory that a decode thread keeps for the passes of programs: weights, bands, rows and pictures between passes.
// Each use sets what it needs anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/image/adjustments/adjustment.h"
#include "daemon/media/image/kernels/planes_rows.h"
#include "daemon/media/image/kernels/resample.h"
#include "daemon/media/image/kernels/resample_any.h"
#include "daemon/media/image/kernels/resample_fixed.h"
#include "daemon/media/image/kernels/weights.h"
#include "daemon/media/image/programs/image_program.h"
#include "daemon/media/work_guard.h"

namespace spdld::image {

constexpr uint64_t kSamplesInANs = 4;  // that a resampling takes, about

struct Scratch::Inside {
  AxisWeights horizontal, vertical;                // of RGB, or luma
  AxisWeights chroma_horizontal, chroma_vertical;  // where chroma is smaller
  AnyResampler any;                                // of other pixels
  FixedResampler fixed;                            // by other filters
  std::vector<int> nearest;                        // pixels of a row
  std::vector<int> nearest_rows;
  PlanesRows rows;             // of planes, for other filters
  ByteBuffer columns, turned;  // of resample_band
  ByteBuffer band, padded;     // rows on their way out
  ByteBuffer pictures[2];      // between passes, in turn
  TaggedColours colours;       // of a video
  Adjuster adjuster;
  media::WorkGuard* guard = nullptr;  // of the sample that is worked on
};

// A piece of scratch: `size` bytes from an address on which any vector instruction can work.
inline uint8_t* aligned(ByteBuffer& memory, size_t size) {
  constexpr size_t kAligned = 64;  // the most that a vector of any machine in question wants
  auto address = reinterpret_cast<uintptr_t>(memory.resize(size + 2 * kAligned));
  return reinterpret_cast<uint8_t*>((address + kAligned - 1) / kAligned * kAligned);
}

}  // namespace spdld::image
