#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "daemon/media/image/gif/reader.h"
#include "daemon/media/image/stored_codec.h"

namespace spdld::image {
namespace {

// The pixels of all numbers of a picture's palette.
using GifColours = std::array<std::array<uint8_t, 4>, 256>;

GifColours colours_of(const GifReader& reader) {
  GifColours colours{};
  for (int number = 0; number < 256; ++number) {
    const auto rgb = reader.colour(number);
    const uint8_t alpha = reader.transparent() == number ? 0 : 255;
    colours[static_cast<size_t>(number)] = {rgb[0], rgb[1], rgb[2], alpha};
  }
  return colours;
}

struct GifPass {
  int first, step;
};
constexpr std::array<GifPass, 4> kInterlaced = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
constexpr std::array<GifPass, 1> kInOrder = {{{0, 1}}};

class GifCodec final : public StoredCodec {
 public:
  const char* name() const override { return kGifName; }
  Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) override;
  Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) override;

 private:
  std::span<const uint8_t> bytes_;
  ByteBuffer numbers_;  // of a row
};

Result<StoredOutline> GifCodec::open(std::span<const uint8_t> bytes, const Pixels& wanted) {
  constexpr uint64_t kPixelsPerByte = 2731;  // at most 4,096 pixels in 12 bits
  constexpr uint64_t kGiflibBytes = 64 << 10;
  bytes_ = bytes;
  GifReader reader(bytes);
  if (const Status found = reader.find_picture(); !found) return found.error();
  const Claim claim{kGifName, reader.width(), reader.height()};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough.error();
  if (uint64_t{claim.width} * claim.height > bytes.size() * kPixelsPerByte)
    return claim.exceeds(bytes.size(), ", more than its ", "can hold");
  const bool gives_alpha = wanted.colours == Colours::kRgba && reader.transparent();
  return StoredOutline{claim.width, claim.height, 1, PixelFormat{gives_alpha ? 4 : 3, 1}, kGiflibBytes + claim.width};
}

// A frame may be smaller than the canvas, which has the transparent colour around it, or the first one, as in Pillow.
Status GifCodec::decode(const Box& box, CpuWatch& watch, PixelRows& rows) {
  GifReader reader(bytes_);
  if (const Status found = reader.find_picture(); !found) return found.error();
  const GifColours colours = colours_of(reader);
  const Box frame = reader.frame();
  const auto pixel = static_cast<size_t>(rows.format.pixel_bytes());
  const auto put = [&](uint8_t* to, uint8_t number) { std::memcpy(to, colours[number].data(), pixel); };
  uint8_t* const first = cover({0, box.y, rows.picture.width, box.height}, rows);
  if (!(frame == Box{0, 0, rows.picture.width, rows.picture.height})) {
    const auto around = static_cast<uint8_t>(reader.transparent().value_or(0));
    const size_t count = static_cast<size_t>(rows.picture.width) * static_cast<size_t>(box.height);
    for (size_t i = 0; i < count; ++i) put(first + pixel * i, around);
  }
  const auto width = static_cast<size_t>(frame.width);
  const std::span<uint8_t> numbers(numbers_.resize(width), width);
  const auto passes =
      reader.is_interlaced() ? std::span<const GifPass>(kInterlaced) : std::span<const GifPass>(kInOrder);
  for (const GifPass& pass : passes) {
    for (int y = pass.first; y < frame.height; y += pass.step) {
      if (watch.is_over(width / 64 + 1)) return costs_too_much(kGifName, kTooMuchCpuTime);
      if (!reader.read_row(numbers)) return damaged(kGifName, "giflib can't decode its row " + std::to_string(y));
      const int row = frame.y + y - box.y;
      if (row < 0 || row >= box.height) continue;
      uint8_t* to = first + rows.stride_bytes * static_cast<size_t>(row) + pixel * static_cast<size_t>(frame.x);
      for (size_t x = 0; x < width; ++x, to += pixel) put(to, numbers[x]);
    }
  }
  return Done{};
}

}  // namespace

std::unique_ptr<ImageDecoder> make_gif_decoder(const media::DecodeLimits& limits) {
  return make_stored_decoder(std::make_unique<GifCodec>(), limits);
}

// The library tells no version at run time: this is the version that the daemon was built with.
std::string gif_code() {
  return "giflib " + std::to_string(GIFLIB_MAJOR) + "." + std::to_string(GIFLIB_MINOR) + "." +
         std::to_string(GIFLIB_RELEASE);
}

}  // namespace spdld::image
