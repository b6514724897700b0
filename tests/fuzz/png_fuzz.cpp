// Arbitrary bytes as a PNG: open, then decode a box that the first bytes choose and the whole picture, with and without
// `strict`. A picture that can't be decoded must be an error, the same for every box; a picture that can be decoded
// must have the same pixels in a box as in the whole. The checksums of the chunks are made right first, where the first
// bytes say so: else nearly every input would end at a checksum.
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/fuzz/pictures.h"

namespace {

using namespace spdld;

void correct_checksums(std::vector<uint8_t>& png) {
  constexpr size_t kSignatureBytes = 8, kFrameBytes = 12;
  for (size_t at = kSignatureBytes; at + kFrameBytes <= png.size();) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | png[at + i];
    if (length > png.size() - at - kFrameBytes) return;
    const auto sum = static_cast<uint32_t>(crc32_z(0, png.data() + at + 4, length + 4));
    for (size_t i = 0; i < 4; ++i) png[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    at += kFrameBytes + length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  constexpr size_t kChoice = 5;
  if (size < kChoice) return 0;
  static const auto decoder = image::make_png_decoder();
  static PixelRows whole, some;
  std::vector<uint8_t> png(bytes + kChoice, bytes + size);
  if ((bytes[4] & 2) == 0) correct_checksums(png);

  const bool exif = (bytes[4] & 1) != 0;
  const image::Pixels pixels = fuzz::choose_pixels(bytes[4]);
  const auto picture = decoder->open(png, exif, false, pixels);
  if (!picture) {
    if (picture.error().message.empty()) std::abort();
    return 0;
  }
  if (fuzz::is_too_large(*picture)) return 0;
  const Box box = fuzz::choose_box(*picture, bytes);
  const bool decoded = bool(decoder->decode({0, 0, picture->width, picture->height}, whole));
  if (bool(decoder->decode(box, some)) != decoded) std::abort();  // the verdict must not depend on the box
  if (decoded) fuzz::compare(some, whole, box);
  if (!decoder->open(png, exif, true, pixels) || bool(decoder->decode(box, some)) != decoded) std::abort();
  if (decoded) fuzz::compare(some, whole, box);
  return 0;
}
