// The samples that the kernels of resample.h read for a pass, with their weights: of RGB, of grey, or of the planes of
// a picture.
#pragma once

#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/kernels/resample.h"
#include "daemon/media/image/programs/pass_source.h"
#include "daemon/media/image/programs/scratch_inside.h"

namespace spdld::image {

// Sets memory.horizontal and memory.vertical, and for planes whose chroma is smaller also the weights of chroma.
// Returns a band without its rows and without the memory that it writes. It borrows the source and the memory.
// Precondition: the source has planes, or has_kernels(). `inside`: of the pass.
Band band_of(const PassSource& source, const Pass& pass, const Box& inside, Scratch::Inside& memory);

}  // namespace spdld::image
