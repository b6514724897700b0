// Arbitrary bytes as a JPEG: open, then decode a box that the first bytes choose, to rows and to planes, whole and
// reduced; and as an EXIF block. What can't be decoded must be an error; what can must lie where it says, and a box
// must have what all has. Planes must be those that libjpeg-turbo alone gives, and so must be the verdict; with
// an index of the coded data, by packed coefficients, and by the plain form of a progressive picture, too. The decoders
// are kept from input to input, as a decode thread keeps them. Changes of an input know the segments of a JPEG.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/tiff.h"
#include "tests/fuzz/jpeg_mutator.h"
#include "tests/fuzz/pictures.h"
#include "tests/support/planes_memory.h"

namespace {

using namespace spdld;

using fuzz::choose_box;
using fuzz::require;

constexpr size_t kChoice = 5;  // bytes before the JPEG

// Whole planes, with all their bytes written, and those of a box.
void check_planes(image::ImageDecoder& decoder, const Box& box) {
  if (!decoder.planes()) return;
  const PlanesShape shape = *decoder.planes();
  test::PlanesMemory whole(shape, 0xA5), again(shape, 0x5A), some(shape, 0);
  const bool decoded = bool(decoder.decode_planes(whole.data()));
  const bool decoded_box = bool(decoder.decode_planes(box, some.data()));
  require(decoded == decoded_box, "planes: the verdict depends on the box");
  if (!decoded) return;
  PlanesView whole_view, some_view;
  require(bool(decoder.decode_planes(again.data())), "planes: the second decoding fails");
  require(std::memcmp(whole.data(), again.data(), whole.size()) == 0, "planes: two decodings differ");
  require(view_planes(whole.data(), whole.size(), whole_view) && whole_view.shape == shape,
          "planes: the whole's header");
  require(view_planes(some.data(), some.size(), some_view), "planes: the box's header");
  require(test::same_samples(some_view, whole_view, box), "planes: a box has other samples");
}

// By an index that was made of the same bytes, a box has the samples that it has without; a wrong index harms nothing.
void check_index(image::ImageDecoder& decoder, std::span<const uint8_t> jpeg, const Box& box, uint8_t choice) {
  constexpr image::Pixels kPixels;
  const bool exif = (choice & 1) != 0, strict = (choice & 2) != 0;
  require(bool(decoder.open(jpeg, exif, strict, kPixels)), "index: the second open fails");
  std::vector<uint8_t> index(decoder.index_bytes());
  if (index.empty()) return;
  const PlanesShape shape = *decoder.planes();
  test::PlanesMemory plain(shape, 0), indexed(shape, 0xA5);
  if (!decoder.decode_and_index(box, plain.data(), index)) return;
  require(bool(decoder.open_indexed(jpeg, index, exif, strict, kPixels)), "index: it can't be opened");
  require(decoder.planes() == shape, "index: another shape");
  require(bool(decoder.decode_planes(box, indexed.data())), "index: the decoding fails");
  require(test::same_samples(indexed, plain, box), "index: other samples");
  for (size_t i = 8; i < index.size(); ++i) index[i] = static_cast<uint8_t>(index[i] ^ jpeg[i * 7 % jpeg.size()]);
  if (decoder.open_indexed(jpeg, index, exif, strict, kPixels)) (void)decoder.decode_planes(box, indexed.data());
}

// Packed coefficients give the samples of a box that the bytes give; damaged ones harm nothing.
void check_packed(image::ImageDecoder& decoder, std::span<const uint8_t> jpeg, const Box& box, uint8_t choice) {
  const bool exif = (choice & 1) != 0, strict = (choice & 2) != 0;
  require(bool(decoder.open(jpeg, exif, strict, image::Pixels())), "packed: the open before fails");
  if (!decoder.planes()) return;
  const PlanesShape shape = *decoder.planes();
  test::PlanesMemory plain(shape, 0), unpacked(shape, 0xA5);
  std::span<const uint8_t> made;
  if (!decoder.decode_and_pack(plain.data(), made) || made.empty()) return;
  std::vector<uint8_t> packed(made.begin(), made.end());
  require(decoder.open_packed(packed, shape) && decoder.planes() == shape, "packed: they can't be opened");
  require(bool(decoder.decode_planes(box, unpacked.data())), "packed: the decoding fails");
  require(test::same_samples(unpacked, plain, box), "packed: other samples");
  for (size_t i = jpeg[0] % 7; i < packed.size(); i += 1 + jpeg[i * 5 % jpeg.size()])
    packed[i] = static_cast<uint8_t>(packed[i] ^ jpeg[i * 7 % jpeg.size()]);
  if (decoder.open_packed(packed, shape)) (void)decoder.decode_planes(box, unpacked.data());
}

// A progressive picture's plain form has the picture's samples, and an index by which a box has them, too.
void check_transcoded(image::ImageDecoder& decoder, std::span<const uint8_t> jpeg, const Box& box, uint8_t choice) {
  const bool exif = (choice & 1) != 0, strict = (choice & 2) != 0;
  require(bool(decoder.open(jpeg, exif, strict, image::Pixels())), "transcoded: the open before fails");
  if (!decoder.planes()) return;
  const PlanesShape shape = *decoder.planes();
  test::PlanesMemory first(shape, 0), indexed(shape, 0xA5), again(shape, 0x5A);
  std::span<const uint8_t> plain;
  const bool decoded = bool(decoder.transcode(first.data(), plain));
  require(decoder.planes() == shape, "transcoded: another shape");
  if (!decoded || plain.empty()) return;
  const std::vector<uint8_t> copy(plain.begin(), plain.end());
  std::vector<uint8_t> index(decoder.index_bytes());
  require(!index.empty() && decoder.decode_and_index(box, indexed.data(), index), "transcoded: it has no index");
  require(test::same_samples(indexed, first, box), "transcoded: other samples");
  require(bool(decoder.open_indexed(copy, index, exif, strict, image::Pixels())),
          "transcoded: its index can't be opened");
  require(bool(decoder.decode_planes(box, again.data())), "transcoded: the decoding by its index fails");
  require(test::same_samples(again, first, box), "transcoded: other samples by its index");
}

void compare_with_libjpeg(image::ImageDecoder& decoder, std::span<const uint8_t> jpeg, uint8_t choice) {
  static const auto libjpeg = image::make_jpeg_decoder({.only_libjpeg = true});
  require(bool(libjpeg->open(jpeg, (choice & 1) != 0, (choice & 2) != 0)), "libjpeg alone can't open it");
  require(decoder.planes() == libjpeg->planes(), "libjpeg alone: another shape");
  if (!decoder.planes()) return;
  test::PlanesMemory had(*decoder.planes(), 0xA5), wanted(*decoder.planes(), 0x5A);
  const Status decoded = decoder.decode_planes(had.data()), by_libjpeg = libjpeg->decode_planes(wanted.data());
  require(bool(decoded) == bool(by_libjpeg), "libjpeg alone: another verdict");
  if (decoded) {
    require(std::memcmp(had.data(), wanted.data(), had.size()) == 0, "libjpeg alone: other samples");
  } else {
    require(decoded.error().message == by_libjpeg.error().message, "libjpeg alone: another reason");
  }
}

// Reduced planes: all of the picture has what a box of it has.
void check_reduced(image::ImageDecoder& decoder, const Size& picture, const Box& box, int reduction) {
  const auto shape = decoder.planes(reduction);
  if (!shape) return;
  require(
      shape->picture.width <= picture.width / reduction + 1 && shape->picture.height <= picture.height / reduction + 1,
      "reduced: too large a picture");
  test::PlanesMemory some(*shape, 0), whole(*shape, 0xA5);
  const bool decoded_box = bool(decoder.decode_planes(box, reduction, some.data()));
  const bool decoded = bool(decoder.decode_planes({0, 0, picture.width, picture.height}, reduction, whole.data()));
  require(decoded == decoded_box, "reduced: the verdict depends on the box");
  if (!decoded) return;
  PlanesView some_view, whole_view;
  require(view_planes(whole.data(), whole.size(), whole_view) && whole_view.shape == *shape,
          "reduced: the whole's header");
  require(view_planes(some.data(), some.size(), some_view), "reduced: the box's header");
  const int x = box.x / reduction, y = box.y / reduction;
  const Box touched{x, y, (box.x + box.width - 1) / reduction + 1 - x, (box.y + box.height - 1) / reduction + 1 - y};
  require(test::same_samples(some_view, whole_view, touched), "reduced: a box has other samples");
}

// The part of an input behind its choices.
std::span<const uint8_t> jpeg_of(const uint8_t* bytes, size_t size) { return {bytes + kChoice, size - kChoice}; }

size_t keep(const fuzz::JpegParts& parts, uint8_t* bytes, size_t size_max) {
  const fuzz::Bytes jpeg = fuzz::join_jpeg(parts);
  const size_t kept = std::min(jpeg.size(), size_max - kChoice);
  std::copy_n(jpeg.begin(), kept, bytes + kChoice);
  return kChoice + kept;
}

}  // namespace

// libFuzzer's own, which changes bytes blindly.
extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t size_max);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t size, size_t size_max, unsigned seed) {
  std::mt19937 random(seed);
  if (size <= kChoice || size_max <= kChoice || random() % 4 == 0) return LLVMFuzzerMutate(bytes, size, size_max);
  if (random() % 4 == 0) bytes[random() % kChoice] = static_cast<uint8_t>(random());
  fuzz::JpegParts parts = fuzz::split_jpeg(jpeg_of(bytes, size));
  const auto changes = random() % 2 == 0 ? 1 : 2 + random() % 3;
  for (unsigned i = 0; i < changes; ++i) fuzz::change_jpeg(parts, random);
  return keep(parts, bytes, size_max);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size, const uint8_t* other,
                                            size_t other_size, uint8_t* bytes, size_t size_max, unsigned seed) {
  std::mt19937 random(seed);
  if (std::min({one_size, other_size, size_max}) <= kChoice) return 0;
  fuzz::JpegParts parts = fuzz::split_jpeg(jpeg_of(one, one_size));
  fuzz::cross_jpegs(parts, fuzz::split_jpeg(jpeg_of(other, other_size)), random);
  std::copy_n(one, kChoice, bytes);
  return keep(parts, bytes, size_max);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < kChoice) return 0;
  static const auto decoder = image::make_jpeg_decoder();
  static PixelRows rows;
  const auto jpeg = jpeg_of(bytes, size);
  const int orientation = image::picture_orientation(jpeg, jpeg);
  require(orientation >= 1 && orientation <= 8, "EXIF: no orientation");

  const auto picture = decoder->open(jpeg, (bytes[4] & 1) != 0, (bytes[4] & 2) != 0);
  if (!picture) {
    require(!picture.error().message.empty(), "open: an error without a sentence");
    return 0;
  }
  if (fuzz::is_too_large(*picture)) return 0;
  std::array<bool, 2> decoded{};
  for (const bool whole : {false, true}) {
    const Box box = whole ? Box{0, 0, picture->width, picture->height} : choose_box(*picture, bytes);
    decoded[whole] = bool(decoder->decode(box, rows));
    if (decoded[whole]) fuzz::check_rows(rows, box);
  }
  require(decoded[0] == decoded[1], "rows: the verdict depends on the box");
  check_planes(*decoder, choose_box(*picture, bytes));
  compare_with_libjpeg(*decoder, jpeg, bytes[4]);
  check_index(*decoder, jpeg, choose_box(*picture, bytes), bytes[4]);
  check_packed(*decoder, jpeg, choose_box(*picture, bytes), bytes[4]);
  check_transcoded(*decoder, jpeg, choose_box(*picture, bytes), bytes[4]);
  require(bool(decoder->open(jpeg, (bytes[4] & 1) != 0, (bytes[4] & 2) != 0)), "reduced: the open before fails");
  for (const int reduction : {2, 4, 8}) check_reduced(*decoder, *picture, choose_box(*picture, bytes), reduction);
  return 0;
}
