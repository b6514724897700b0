// Pictures as a JPEG of some quality leaves them: a picture is encoded and decoded again. One object a decode thread,
// which keeps its memory from picture to picture.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/base/picture.h"

namespace spdld::image {

inline constexpr int kJpegSideMax = 65'500;  // libjpeg's

class JpegRoundTrip {
 public:
  virtual ~JpegRoundTrip() = default;

  // `pixels` are rows of RGB or grey of 8 bits without gaps, and get the values that Pillow's save() with this
  // `quality`, 1 to 100, and open() leave: libjpeg's standard tables, and chroma at half the size. Precondition: no
  // side is longer than kJpegSideMax. Throws std::bad_alloc where there is no memory.
  virtual void run(uint8_t* pixels, const Size& size, int channels, int quality) = 0;
};

std::unique_ptr<JpegRoundTrip> make_jpeg_round_trip();

}  // namespace spdld::image
