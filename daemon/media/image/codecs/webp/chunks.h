// The structure of a WebP, found without decoding anything. Source: "WebP Container Specification" (Google, RFC 9649).
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"

namespace spdld::image {

struct WebpOutline {
  uint32_t width = 0, height = 0;    // of the canvas
  Box frame;                         // of the picture, or of the first frame, on the canvas
  int orientation = 1;               // that its EXIF or XMP tells; 1 where they do not
  std::span<const uint8_t> profile;  // of the first ICCP chunk; empty: there is none
  bool lossless = false;
  bool has_alpha_plane = false;  // beside a lossy picture
  bool has_alpha = false;
  // The frame's chunks: ALPH, where there is one, to the end of "VP8 " or "VP8L".
  std::span<const uint8_t> coded;
  std::span<const uint8_t> file;  // without bytes behind it
  uint64_t frames = 1;
  bool canvas_has_alpha = false;  // says the header of an animation
};

// Reads all chunks, which must all be there; bytes behind the file's own length are ignored. Of an animation it gives
// the first frame. kContent: the bytes are cut off, or are not laid out as a WebP.
Result<WebpOutline> webp_outline_of(std::span<const uint8_t> webp);

}  // namespace spdld::image
