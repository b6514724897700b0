// The run lengths of a BMP (BI_RLE8 and BI_RLE4). Pure; any thread.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"
#include "daemon/media/image/codecs/bmp/header.h"
#include "daemon/media/image/codecs/picture_limits.h"

namespace spdld::image {

// Decodes all rows, and writes the palette's numbers of the rows [top, bottom), counted from the uppermost one, to
// `numbers`, whose rows are the picture's wide. Pixels that the code passes over are 0. Errors: kContent, where the
// code ends too early or leaves the picture.
Status decode_run_lengths(const BmpHeader& header, uint32_t top, uint32_t bottom, CpuWatch& watch, uint8_t* numbers);

}  // namespace spdld::image
