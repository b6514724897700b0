// Arbitrary bytes as a PNG: open, then decode a box that the first bytes choose and the whole picture, with and without
// `strict`. A picture that can't be decoded must be an error, the same for every box; a picture that can be decoded
// must have the same pixels in a box as in the whole. The checksums of the chunks are made right first, where the first
// bytes say so: else nearly every input would end at a checksum.
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "daemon/media/image/image_decoder.h"

namespace {

using namespace spdld;

constexpr int kSideMax = 2000;  // larger pictures say nothing new, slowly

Box choose_box(const Size& size, const uint8_t* choice) {
  const auto place = [](int side, uint8_t from, uint8_t share) {
    const int start = side * from / 256;
    return std::pair(start, std::max(1, (side - start) * share / 256));
  };
  const auto [x, width] = place(size.width, choice[0], choice[1]);
  const auto [y, height] = place(size.height, choice[2], choice[3]);
  return {x, y, width, height};
}

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

// The same pixels in the box as in the whole; every byte that PixelRows promises is read.
void compare(const PixelRows& rows, const PixelRows& whole, const Box& box) {
  const Box& covers = rows.covers;
  if (covers.x > box.x || covers.y > box.y || covers.x + covers.width < box.x + box.width ||
      covers.y + covers.height < box.y + box.height) {
    std::abort();
  }
  for (int y = covers.y; y < covers.y + covers.height; ++y) {
    const uint8_t* wanted = whole.row(y) + 3 * static_cast<ptrdiff_t>(covers.x - whole.covers.x);
    if (std::memcmp(rows.row(y), wanted, 3 * static_cast<size_t>(covers.width)) != 0) std::abort();
  }
  const uint8_t* slack = rows.row(covers.y + covers.height - 1) + 3 * static_cast<ptrdiff_t>(covers.width);
  volatile unsigned sink = 0;
  for (size_t i = 0; i < PixelRows::kSlackBytes; ++i) sink = sink + slack[i];
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
  const auto picture = decoder->open(png, exif);
  if (!picture) {
    if (picture.error().message.empty()) std::abort();
    return 0;
  }
  if (picture->width > kSideMax || picture->height > kSideMax) return 0;
  const Box box = choose_box(*picture, bytes);
  const bool decoded = bool(decoder->decode({0, 0, picture->width, picture->height}, whole));
  if (bool(decoder->decode(box, some)) != decoded) std::abort();  // the verdict must not depend on the box
  if (decoded) compare(some, whole, box);
  if (!decoder->open(png, exif, true) || bool(decoder->decode(box, some)) != decoded) std::abort();
  if (decoded) compare(some, whole, box);
  return 0;
}
