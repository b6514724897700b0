// Arbitrary bytes as a picture of any format: open, then decode a box that the first bytes choose and the whole
// picture. JPEG and PNG have fuzzers of their own, so that only their colour profiles count here. A picture that can't
// be decoded must be an error, the same for every box; a picture that can be decoded must have the same pixels in a box
// as in the whole.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/sniff.h"
#include "tests/fuzz/pictures.h"

using namespace spdld;

namespace {

// The frames of an animation have the promises of a picture.
int fuzz_frames(image::ImageDecoder& decoder, const Size& size, int wanted, const Box& box, auto open_again) {
  static PixelRows whole, some;
  static std::vector<int> frames;
  if (decoder.frames() < 1 || decoder.frames() > image::kFramesMax) std::abort();
  image::spread_frames(decoder.frames(), wanted, frames);
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  size_t given = 0, again = 0;
  const Status decoded =
      decoder.decode_frames(frames, {0, 0, size.width, size.height}, whole, [&](const PixelRows& rows) {
        fuzz::check_rows(rows, {0, 0, size.width, size.height});
        ++given;
        return Status(Done{});
      });
  if (!decoded && decoded.error().message.find("CPU") != std::string::npos) return 0;
  open_again();
  const Status part = decoder.decode_frames(frames, box, some, [&](const PixelRows& rows) {
    fuzz::check_rows(rows, box);
    ++again;
    return Status(Done{});
  });
  if (bool(part) != bool(decoded)) std::abort();  // the verdict must not depend on the box
  if (!decoded) return 0;
  if (given != frames.size() || again != given) std::abort();
  fuzz::compare_area(some, whole, box);  // of the last frame
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  constexpr size_t kChoice = 5;
  if (size < kChoice) return 0;
  static const auto decoder = image::make_image_decoder({.cpu_ms_max = 500, .bytes_max = 64 << 20});
  static PixelRows whole, some;
  const std::span picture(bytes + kChoice, size - kChoice);

  const bool exif = (bytes[4] & 1) != 0;
  image::Pixels pixels = fuzz::choose_pixels(bytes[4]);
  pixels.srgb = (bytes[4] & 32) != 0;
  pixels.frame = bytes[4] >> 6;
  if (pixels.frame == 3) pixels.frame = 0, pixels.bits = 32, pixels.srgb = false;
  // Above three quarters of the boxes' first byte: several frames.
  if (pixels.bits != 32 && bytes[0] >= 192) pixels.frame = 0, pixels.frames = 1 + bytes[0] % 5;
  const bool is_jpeg = image::begins_like_jpeg(picture);
  if (!pixels.srgb && (is_jpeg || image::begins_like_png(picture))) return 0;
  const auto opened = decoder->open(picture, exif, false, pixels);
  if (!opened) {
    if (opened.error().message.empty()) std::abort();
    return 0;
  }
  if (fuzz::is_too_large(*opened)) return 0;
  if (pixels.frames > 0)
    return fuzz_frames(*decoder, *opened, pixels.frames, fuzz::choose_box(*opened, bytes),
                       [&] { (void)decoder->open(picture, exif, false, pixels); });
  const Box box = fuzz::choose_box(*opened, bytes);
  const Status decoded = decoder->decode({0, 0, opened->width, opened->height}, whole);
  if (!decoded && decoded.error().message.find("CPU") != std::string::npos) return 0;  // no clock gives the same twice
  if (bool(decoder->decode(box, some)) != bool(decoded)) std::abort();  // the verdict must not depend on the box
  if (!decoded) return 0;
  if (is_jpeg) {  // columns beside the box may lack their neighbours
    fuzz::check_rows(some, box);
    fuzz::compare_area(some, whole, box);
  } else {
    fuzz::compare(some, whole, box);
  }
  return 0;
}
