#include <algorithm>
#include <cstring>
#include <string>

#include "daemon/media/image/codecs/gif/canvas.h"
#include "daemon/media/image/codecs/gif/frame_count.h"
#include "daemon/media/image/codecs/gif/reader.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

class GifCodec final : public StoredCodec {
 public:
  const char* name() const override { return kGifName; }
  Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) override;
  Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) override;
  Status decode_frames(std::span<const int> wanted, const Box& box, CpuWatch& watch, PixelRows& rows,
                       const FrameSink& sink) override;

 private:
  Status decode_first(const Box& box, CpuWatch& watch, PixelRows& rows);

  std::span<const uint8_t> bytes_;
  int frame_ = 0;
  ByteBuffer numbers_;  // of a row
  GifCanvas canvas_;    // of later frames
};

Result<StoredOutline> GifCodec::open(std::span<const uint8_t> bytes, const Pixels& wanted) {
  constexpr uint64_t kPixelsPerByte = 2731;  // at most 4,096 pixels in 12 bits
  constexpr uint64_t kGiflibBytes = 64 << 10;
  bytes_ = bytes;
  frame_ = wanted.frame;
  GifReader reader(bytes);
  if (const Status found = reader.find_picture(); !found) return found.error();
  const Claim claim{kGifName, reader.width(), reader.height()};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough.error();
  if (uint64_t{claim.width} * claim.height > bytes.size() * kPixelsPerByte)
    return claim.exceeds(bytes.size(), ", more than its ", "can hold");
  uint64_t frames = 1;
  if (wanted.frames > 0) {
    const auto count = gif_frame_count(bytes, kFramesMax + 1);
    if (!count) return count.error();
    frames = std::max(frames, *count);
  }
  const int last = wanted.frames > 0 ? static_cast<int>(frames - 1) : frame_;
  const bool has_canvas = wanted.frames > 0 || frame_ > 0;
  const bool gives_alpha = wanted.colours == Colours::kRgba && reader.transparent();
  const Size canvas{static_cast<int>(claim.width), static_cast<int>(claim.height)};
  return StoredOutline{
      .width = claim.width,
      .height = claim.height,
      .format = PixelFormat{gives_alpha ? 4 : 3, 1},
      .library_bytes = kGiflibBytes + claim.width + (has_canvas ? GifCanvas::bytes_of(canvas, last) : 0),
      .frames = frames};
}

Status GifCodec::decode(const Box& box, CpuWatch& watch, PixelRows& rows) {
  if (frame_ == 0) return decode_first(box, watch, rows);
  return decode_frames({&frame_, 1}, box, watch, rows, [](const PixelRows&) { return Done{}; });
}

Status GifCodec::decode_frames(std::span<const int> wanted, const Box& box, CpuWatch& watch, PixelRows& rows,
                               const FrameSink& sink) {
  const Status drawn = canvas_.draw(bytes_, wanted, rows.picture, watch, [&] {
    canvas_.give(box, rows);
    return sink(rows);
  });
  canvas_.shrink();
  return drawn;
}

// The frame may be smaller than the canvas, which has the transparent colour around it, or the first one, as in Pillow.
Status GifCodec::decode_first(const Box& box, CpuWatch& watch, PixelRows& rows) {
  GifReader reader(bytes_);
  if (const Status found = reader.find_picture(); !found) return found.error();
  const GifColours colours = reader.colours();
  const Box frame = reader.frame();
  const auto pixel = static_cast<size_t>(rows.format.pixel_bytes());
  const auto put = [&](uint8_t* to, uint8_t number) { std::memcpy(to, colours[number].data(), pixel); };
  uint8_t* const first = cover({0, box.y, rows.picture.width, box.height}, rows);
  if (!(frame == Box{0, 0, rows.picture.width, rows.picture.height})) {
    const auto around = static_cast<uint8_t>(reader.transparent().value_or(0));
    const size_t count = static_cast<size_t>(rows.picture.width) * static_cast<size_t>(box.height);
    for (size_t i = 0; i < count; ++i) put(first + pixel * i, around);
  }
  return reader.read_rows(watch, numbers_, [&](int y, std::span<const uint8_t> numbers) {
    const int row = frame.y + y - box.y;
    if (row < 0 || row >= box.height) return;
    uint8_t* to = first + rows.stride_bytes * static_cast<size_t>(row) + pixel * static_cast<size_t>(frame.x);
    for (const uint8_t number : numbers) {
      put(to, number);
      to += pixel;
    }
  });
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
