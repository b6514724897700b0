// Formats whose pictures are decoded from the top to the bottom, and turned and converted afterwards. A format gives
// its header and its rows as they are stored; the decoder that is made of it does the rest in the same way for every
// format: limits, EXIF orientation, conversion to the wanted pixels. One object a decode thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"
#include "daemon/media/image/codecs/frames.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/picture_limits.h"
#include "daemon/media/image/codecs/pixels.h"

namespace spdld::image {

struct StoredOutline {
  uint32_t width = 0, height = 0;  // in pixels, as they are stored
  int orientation = 1;             // 1 to 8, as EXIF defines it
  PixelFormat format = {};         // of the rows that decode() gives
  uint64_t library_bytes = 0;      // the most memory that decode() takes beside the rows
  uint64_t frames = 1;             // ImageDecoder::frames()
  bool are_pages = false;          // each frame has an outline of its own, which turn_to() gives
  uint64_t likely_bytes = 0;       // of library_bytes, for pictures as encoders make them; 0: all of library_bytes
};

class StoredCodec {
 public:
  virtual ~StoredCodec() = default;

  // The format with its article, for sentences: "a WebP".
  virtual const char* name() const = 0;
  // Reads the header; `bytes` stay valid until the next open(). Neither memory nor time may depend on the size that the
  // header claims: the caller checks it after this call. Errors: kContent, or kUnsupported for a kind of picture that
  // is not decoded. `wanted.frame` is more than 0 for formats that have several (image_decoder.cpp).
  virtual Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) = 0;
  // ImageDecoder::profile().
  virtual Result<ColourProfile> profile() { return ColourProfile(); }
  // Decodes the part of the stored picture that `box` needs. `rows` has its format and its picture's size; this call
  // sets the memory, the stride, the offset and the box that is covered. The verdict must not depend on `box`. Errors:
  // kContent, or kMemory where the machine has none. `watch` is asked before each piece of the work.
  virtual Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) = 0;

  // Decodes the frames `wanted` of an animation, in order, as ImageDecoder::decode_frames() says it; sink() gets
  // `rows`.
  virtual Status decode_frames(std::span<const int> wanted, const Box& box, CpuWatch& watch, PixelRows& rows,
                               const FrameSink& sink);
  // Of a file of pages: goes on to a later one, which decode() gives then. Errors are open()'s.
  virtual Result<StoredOutline> turn_to(int page);
  // The last page that is wanted was decoded, or none is any more: memory of the library goes back.
  virtual void close() {}
};

// The decoder of pictures of one format. Its decode() is refused where the whole picture, with all copies that are
// made of it and the memory of the library, would go beyond the limit of memory; the box does not matter.
std::unique_ptr<ImageDecoder> make_stored_decoder(std::unique_ptr<StoredCodec> codec,
                                                  const media::DecodeLimits& limits);

// The decoder that stands for a format whose library this build lacks: it refuses every picture with `sentence`, as
// kUnsupported.
std::unique_ptr<ImageDecoder> make_missing_decoder(std::string sentence);

// The sentences "a damaged WebP: ..." and "a WebP that costs too much: ...". `name` is StoredCodec::name().
Error damaged(const std::string& name, const std::string& how);
Error costs_too_much(const std::string& name, const char* why);
Error cut_off(const std::string& name);
// kContent: "a GIF of 3 frames, counted from 0, where frame 7 is wanted". `noun` is "frame" or "page".
Error no_such_frame(const std::string& name, uint64_t count, int wanted, const std::string& noun = "frame");
// "... with a damaged colour profile".
Error damaged_profile(const std::string& name);
// A copy of a profile of `size` bytes at `bytes`; nullptr: there is none.
Result<ColourProfile> profile_of(const std::string& name, const void* bytes, size_t size, bool is_grey);
// kUnsupported: "a WebP with ...: this spdld does not decode such pictures".
Error not_decoded(const std::string& name, const std::string& with);

// Gives `rows` memory for all pixels of `covers`, row by row without gaps. `rows` has its format.
uint8_t* cover(const Box& covers, PixelRows& rows);

}  // namespace spdld::image
