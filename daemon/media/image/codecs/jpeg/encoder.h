// libjpeg's compressor as an object: baseline JPEGs with libjpeg's standard tables. Its memory is kept from picture to
// picture. One thread.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <span>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/picture.h"
#include "daemon/media/image/codecs/arena.h"

namespace spdld::image {

class JpegEncoder {
 public:
  // Throws SetupError where libjpeg can't be set up, std::bad_alloc where there is no memory.
  JpegEncoder();
  ~JpegEncoder();
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  // The picture, whose rows of RGB or grey lie without gaps, as a JPEG of this `quality`, 1 to 100; valid until the
  // next call. Precondition: no side is longer than kJpegSideMax. Throws std::bad_alloc where there is no memory.
  std::span<const uint8_t> encode(const uint8_t* pixels, const Size& size, int channels, int quality);

 private:
  friend struct EncoderCallbacks;
  struct Job;

  // Runs step(jpeg, job). False when libjpeg gave up. It leaves by longjmp, so `step` and what it calls must not hold
  // anything that has a destructor.
  [[nodiscard]] bool attempt(void (*step)(jpeg_compress_struct&, const Job&), const Job& job);
  // Why an attempt came to nothing.
  [[noreturn]] void throw_fault();

  jpeg_compress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_memory_mgr memory_{};               // our methods, in the place of
  jpeg_memory_mgr* own_memory_ = nullptr;  // libjpeg's own
  jpeg_destination_mgr destination_{};
  Arena picture_arena_;
  Arena encoder_arena_;  // tables
  ByteBuffer coded_;
  std::jmp_buf escape_{};
};

}  // namespace spdld::image
