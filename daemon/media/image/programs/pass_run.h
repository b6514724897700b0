// Makes the pixels of one pass of a program: copied, converted from planes, or resampled by the kernels or the code
// that fits its pixels and its filter.
#pragma once

#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/programs/pass_rows.h"
#include "daemon/media/image/programs/pass_source.h"
#include "daemon/media/image/programs/scratch_inside.h"

namespace spdld::image {

// `planar`: the sink takes rows of planes as well.
void run_pass(const PassSource& source, const Pass& pass, Scratch::Inside& memory, bool planar, RowSink& sink);

}  // namespace spdld::image
