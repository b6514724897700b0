// The pictures of the sample that a decode thread runs, as far as they are decoded. Outputs that start from one field
// in one way share a decoding: each says beforehand which part it needs (ask), the first of them that runs decodes the
// part that covers all of these, and the others find it there. Samples are the same from any part, so that sharing
// never changes a pixel. Memory is reused from sample to sample. One thread.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/picture.h"
#include "daemon/media/image/codecs/pixels.h"
#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

// How decode-image decodes.
struct DecodeWay {
  bool exif = true;     // upright, as the EXIF orientation says
  bool fast = false;    // smaller, where the first resize leaves little of it: such pictures have no form to keep
  bool strict = false;  // damage anywhere in a picture is bad content
  Pixels pixels;        // to give
  friend bool operator==(const DecodeWay&, const DecodeWay&) = default;

  // Its part that decides the bytes of a form that is kept, as a text: "", or ", not turned, strict". A strict way may
  // not use what another way has made: it would not find out that this comes from damaged bytes.
  std::string form_text() const;
};

// A field's picture, as outputs want it decoded.
struct Wanted {
  size_t field = 0;  // its number
  DecodeWay way;
  friend bool operator==(const Wanted&, const Wanted&) = default;
};

struct Decoding {
  Wanted wanted;
  int reduction = 1;  // of planes
  Size picture;
  Box box;               // the part of the picture that is decoded, or is to be
  bool is_done = false;  // then the pixels are in `planes`, or else in `rows`
  std::optional<PlanesView> planes = {};
  PixelRows rows = {};
  ByteBuffer memory = {};  // of the planes, where nobody keeps them
  ByteBuffer form = {};    // that is kept, where its keeper has no memory for it
};

class Decodings {
 public:
  // Forgets what was asked for and decoded of this field: a new sample is run.
  void forget(size_t field);

  // The size of the picture, where an output has asked for a part of it.
  std::optional<Size> picture_of(const Wanted& wanted) const;
  // `box` of the picture is needed too. The result stays in its place until the next forget(). It is done only where
  // its part has the box.
  Decoding& ask(const Wanted& wanted, const Size& picture, int reduction, const Box& box);

  // Gives back larger buffers, and forgets everything.
  void shrink(size_t bytes_max);

 private:
  std::deque<Decoding> all_;  // the first used_ are in use
  size_t used_ = 0;
};

}  // namespace spdld::image
