// Arbitrary bytes as a JPEG: open, then decode a box that the first bytes choose, to rows and to planes, whole and
// reduced; and as an EXIF block. What can't be decoded must be an error; what can must lie where it says, and a box
// must have what all has. Planes must be those that libjpeg-turbo alone gives, and so must be the verdict; with
// an index of the coded data, by packed coefficients, and by the plain form of a progressive picture, too.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "daemon/media/image/image_decoder.h"
#include "daemon/media/image/tiff.h"
#include "tests/fuzz/pictures.h"
#include "tests/support/planes_memory.h"

namespace {

using namespace spdld;

using fuzz::choose_box;

// Whole planes, with all their bytes written, and those of a box.
void check_planes(image::ImageDecoder& decoder, const Box& box) {
  if (!decoder.planes()) return;
  const PlanesShape shape = *decoder.planes();
  test::PlanesMemory whole(shape, 0xA5), again(shape, 0x5A), some(shape, 0);
  const bool decoded = bool(decoder.decode_planes(whole.data()));
  const bool decoded_box = bool(decoder.decode_planes(box, some.data()));
  if (decoded != decoded_box) std::abort();
  if (!decoded) return;
  PlanesView whole_view, some_view;
  if (!decoder.decode_planes(again.data())) std::abort();
  if (std::memcmp(whole.data(), again.data(), whole.size()) != 0) std::abort();
  if (!view_planes(whole.data(), whole.size(), whole_view) || !view_planes(some.data(), some.size(), some_view)) {
    std::abort();
  }
  if (!(whole_view.shape == shape) || !test::same_samples(some_view, whole_view, box)) std::abort();
}

// By an index that was made of the same bytes, a box has the samples that it has without; a wrong index harms nothing.
void check_index(image::ImageDecoder& decoder, std::span<const uint8_t> jpeg, const Box& box, uint8_t choice) {
  constexpr image::Pixels kPixels;
  const bool exif = (choice & 1) != 0, strict = (choice & 2) != 0;
  if (!decoder.open(jpeg, exif, strict, kPixels)) std::abort();
  std::vector<uint8_t> index(decoder.index_bytes());
  if (index.empty()) return;
  const PlanesShape shape = *decoder.planes();
  test::PlanesMemory plain(shape, 0), indexed(shape, 0xA5);
  if (!decoder.decode_and_index(box, plain.data(), index)) return;
  if (!decoder.open_indexed(jpeg, index, exif, strict, kPixels)) std::abort();
  if (!(decoder.planes() == shape) || !decoder.decode_planes(box, indexed.data())) std::abort();
  if (!test::same_samples(indexed, plain, box)) std::abort();
  for (size_t i = 8; i < index.size(); ++i) index[i] = static_cast<uint8_t>(index[i] ^ jpeg[i * 7 % jpeg.size()]);
  if (decoder.open_indexed(jpeg, index, exif, strict, kPixels)) (void)decoder.decode_planes(box, indexed.data());
}

// Packed coefficients give the samples of a box that the bytes give; damaged ones harm nothing.
void check_packed(image::ImageDecoder& decoder, std::span<const uint8_t> jpeg, const Box& box, uint8_t choice) {
  const bool exif = (choice & 1) != 0, strict = (choice & 2) != 0;
  if (!decoder.open(jpeg, exif, strict, image::Pixels())) std::abort();
  if (!decoder.planes()) return;
  const PlanesShape shape = *decoder.planes();
  test::PlanesMemory plain(shape, 0), unpacked(shape, 0xA5);
  std::span<const uint8_t> made;
  if (!decoder.decode_and_pack(plain.data(), made) || made.empty()) return;
  std::vector<uint8_t> packed(made.begin(), made.end());
  if (!decoder.open_packed(packed, shape) || !(decoder.planes() == shape)) std::abort();
  if (!decoder.decode_planes(box, unpacked.data())) std::abort();
  if (!test::same_samples(unpacked, plain, box)) std::abort();
  for (size_t i = jpeg[0] % 7; i < packed.size(); i += 1 + jpeg[i * 5 % jpeg.size()])
    packed[i] = static_cast<uint8_t>(packed[i] ^ jpeg[i * 7 % jpeg.size()]);
  if (decoder.open_packed(packed, shape)) (void)decoder.decode_planes(box, unpacked.data());
}

// A progressive picture's plain form has the picture's samples, and an index by which a box has them, too.
void check_transcoded(image::ImageDecoder& decoder, std::span<const uint8_t> jpeg, const Box& box, uint8_t choice) {
  const bool exif = (choice & 1) != 0, strict = (choice & 2) != 0;
  if (!decoder.open(jpeg, exif, strict, image::Pixels())) std::abort();
  if (!decoder.planes()) return;
  const PlanesShape shape = *decoder.planes();
  test::PlanesMemory first(shape, 0), indexed(shape, 0xA5), again(shape, 0x5A);
  std::span<const uint8_t> plain;
  const bool decoded = bool(decoder.transcode(first.data(), plain));
  if (!(decoder.planes() == shape)) std::abort();
  if (!decoded || plain.empty()) return;
  const std::vector<uint8_t> copy(plain.begin(), plain.end());
  std::vector<uint8_t> index(decoder.index_bytes());
  if (index.empty() || !decoder.decode_and_index(box, indexed.data(), index)) std::abort();
  if (!test::same_samples(indexed, first, box)) std::abort();
  if (!decoder.open_indexed(copy, index, exif, strict, image::Pixels())) std::abort();
  if (!decoder.decode_planes(box, again.data()) || !test::same_samples(again, first, box)) std::abort();
}

void compare_with_libjpeg(image::ImageDecoder& decoder, std::span<const uint8_t> jpeg, uint8_t choice) {
  static const auto libjpeg = image::make_jpeg_decoder({.only_libjpeg = true});
  if (!libjpeg->open(jpeg, (choice & 1) != 0, (choice & 2) != 0)) std::abort();
  if (decoder.planes() != libjpeg->planes()) std::abort();
  if (!decoder.planes()) return;
  test::PlanesMemory had(*decoder.planes(), 0xA5), wanted(*decoder.planes(), 0x5A);
  const Status decoded = decoder.decode_planes(had.data()), by_libjpeg = libjpeg->decode_planes(wanted.data());
  if (bool(decoded) != bool(by_libjpeg)) std::abort();
  if (!decoded && decoded.error().message != by_libjpeg.error().message) std::abort();
  if (decoded && std::memcmp(had.data(), wanted.data(), had.size()) != 0) std::abort();
}

// Reduced planes: all of the picture has what a box of it has.
void check_reduced(image::ImageDecoder& decoder, const Size& picture, const Box& box, int reduction) {
  const auto shape = decoder.planes(reduction);
  if (!shape) return;
  if (shape->picture.width > picture.width / reduction + 1 || shape->picture.height > picture.height / reduction + 1) {
    std::abort();
  }
  test::PlanesMemory some(*shape, 0), whole(*shape, 0xA5);
  const bool decoded_box = bool(decoder.decode_planes(box, reduction, some.data()));
  const bool decoded = bool(decoder.decode_planes({0, 0, picture.width, picture.height}, reduction, whole.data()));
  if (decoded != decoded_box) std::abort();
  if (!decoded) return;
  PlanesView some_view, whole_view;
  if (!view_planes(whole.data(), whole.size(), whole_view) || !view_planes(some.data(), some.size(), some_view) ||
      !(whole_view.shape == *shape)) {
    std::abort();
  }
  const int x = box.x / reduction, y = box.y / reduction;
  const Box touched{x, y, (box.x + box.width - 1) / reduction + 1 - x, (box.y + box.height - 1) / reduction + 1 - y};
  if (!test::same_samples(some_view, whole_view, touched)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  constexpr size_t kChoice = 5;
  if (size < kChoice) return 0;
  static const auto decoder = image::make_jpeg_decoder();
  static PixelRows rows;
  const std::span<const uint8_t> jpeg(bytes + kChoice, size - kChoice);
  const int orientation = image::tiff_orientation(jpeg);
  if (orientation < 1 || orientation > 8) std::abort();

  const auto picture = decoder->open(jpeg, (bytes[4] & 1) != 0, (bytes[4] & 2) != 0);
  if (!picture) {
    if (picture.error().message.empty()) std::abort();
    return 0;
  }
  if (fuzz::is_too_large(*picture)) return 0;
  std::array<bool, 2> decoded{};
  for (const bool whole : {false, true}) {
    const Box box = whole ? Box{0, 0, picture->width, picture->height} : choose_box(*picture, bytes);
    decoded[whole] = bool(decoder->decode(box, rows));
    if (decoded[whole]) fuzz::check_rows(rows, box);
  }
  if (decoded[0] != decoded[1]) std::abort();  // the verdict must not depend on the box
  check_planes(*decoder, choose_box(*picture, bytes));
  compare_with_libjpeg(*decoder, jpeg, bytes[4]);
  check_index(*decoder, jpeg, choose_box(*picture, bytes), bytes[4]);
  check_packed(*decoder, jpeg, choose_box(*picture, bytes), bytes[4]);
  check_transcoded(*decoder, jpeg, choose_box(*picture, bytes), bytes[4]);
  if (!decoder->open(jpeg, (bytes[4] & 1) != 0, (bytes[4] & 2) != 0)) std::abort();
  for (const int reduction : {2, 4, 8}) check_reduced(*decoder, *picture, choose_box(*picture, bytes), reduction);
  return 0;
}
