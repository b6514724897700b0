// The lines of one field of a frame, and lines between them that are interpolated from the frame alone: no other frame
// decides a pixel. Pure functions; any thread.
//
// The filter is the spatial one of FFmpeg's bwdif (libavfilter/vf_bwdif.c, filter_intra), whose coefficients come from
// the deinterlacer of Martin Weston for BBC R&D: a line is (5077 (b + c) - 981 (a + d)) / 8192 of the field's lines a
// and b above and c and d below it. At the border the field's last line stands for the lines outside.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spdld::ffmpeg {

// One plane, of samples of 1 or 2 bytes. A negative stride is a plane that lies upside down.
struct Lines {
  const uint8_t* first = nullptr;
  ptrdiff_t stride_bytes = 0;
  size_t line_bytes = 0;  // a multiple of the sample's
  int height = 0;
};

// Samples of one byte are at most 255. Samples of two bytes are in the machine's order, and at most `most`.
struct Samples {
  int bytes = 1;
  int most = 255;
};

// Writes all lines to `out`: the field's own as they are, and the others interpolated. The field has the lines 0, 2,
// 4 ..., or else the lines 1, 3, 5 .... A plane of one line is copied.
void fill_field(const Lines& woven, const Samples& samples, bool has_even_lines, uint8_t* out, size_t out_stride_bytes);

}  // namespace spdld::ffmpeg
