#include <avif/avif.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "daemon/media/image/codecs/avif/library_faults.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

constexpr char kAvifName[] = "an AVIF";

struct DestroyAvif {
  void operator()(avifDecoder* decoder) const { avifDecoderDestroy(decoder); }
};
using AvifHandle = std::unique_ptr<avifDecoder, DestroyAvif>;

// A picture's turn and mirror as an EXIF orientation. An AVIF is turned by these boxes alone, whatever its EXIF says
// (ISO/IEC 23000-22, 7.2). Angles are quarters, against the clock, and come before the mirror.
int orientation_of(const avifImage& image) {
  static constexpr int kTurned[] = {1, 8, 3, 6}, kUpsideDown[] = {4, 5, 2, 7}, kMirrored[] = {2, 7, 4, 5};
  const int angle = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle & 3 : 0;
  if ((image.transformFlags & AVIF_TRANSFORM_IMIR) == 0) return kTurned[angle];
  return image.imir.mode == 0 ? kUpsideDown[angle] : kMirrored[angle];
}

Error error_of(avifResult result) {
  switch (result) {
    case AVIF_RESULT_OUT_OF_MEMORY:
      return {Trouble::kMemory, "there is not enough memory to decode an AVIF"};
    case AVIF_RESULT_TRUNCATED_DATA:
      return cut_off(kAvifName);
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
      return {Trouble::kUnsupported,
              "the libavif that this spdld uses has no decoder: install a libavif that was built with dav1d"};
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_UNSUPPORTED_DEPTH:
      return not_decoded(kAvifName, "a feature that libavif does not know");
    default:
      return damaged(kAvifName, std::string("libavif says ") + avifResultToString(result));
  }
}

// A parsed picture, whose pixels are not decoded yet.
Result<AvifHandle> parse(std::span<const uint8_t> bytes) {
  AvifHandle decoder(avifDecoderCreate());
  if (!decoder) return error_of(AVIF_RESULT_OUT_OF_MEMORY);
  decoder->maxThreads = 1;
  decoder->ignoreExif = decoder->ignoreXMP = AVIF_TRUE;
  decoder->imageSizeLimit = static_cast<uint32_t>(kPixelsMax);
  // As Pillow, which takes pictures that many writers make a little wrong.
  decoder->strictFlags =
      AVIF_STRICT_ENABLED & ~static_cast<avifStrictFlags>(AVIF_STRICT_PIXI_REQUIRED | AVIF_STRICT_CLAP_VALID);
  avifResult result = avifDecoderSetIOMemory(decoder.get(), bytes.data(), bytes.size());
  if (result == AVIF_RESULT_OK) result = avifDecoderParse(decoder.get());
  if (result != AVIF_RESULT_OK) return error_of(result);
  return decoder;
}

class AvifCodec final : public StoredCodec {
 public:
  const char* name() const override { return kAvifName; }
  Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) override;
  Result<ColourProfile> profile() override;
  Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) override {
    return decode_frames({&frame_, 1}, box, watch, rows, [](const PixelRows&) { return Done{}; });
  }
  Status decode_frames(std::span<const int> wanted, const Box& box, CpuWatch& watch, PixelRows& rows,
                       const FrameSink& sink) override;

 private:
  static Status give(const avifImage& image, const Box& box, PixelRows& rows);

  std::span<const uint8_t> bytes_;
  int frame_ = 0;
};

Result<StoredOutline> AvifCodec::open(std::span<const uint8_t> bytes, const Pixels& wanted) {
  constexpr uint64_t kForAll = 4 << 20, kSamples = 10;  // the decoder's frames and libavif's, of up to four planes
  bytes_ = bytes;
  static const AvifRelease kLinked = avif_release_of(avifVersion());
  if (const auto fault = avif_fault(bytes, wanted.colours == Colours::kRgba, kLinked)) return *fault;
  const auto decoder = parse(bytes);
  if (!decoder) return decoder.error();
  frame_ = wanted.frame;
  if (frame_ >= (*decoder)->imageCount)
    return no_such_frame(kAvifName, static_cast<uint64_t>((*decoder)->imageCount), frame_);
  const avifImage& image = *(*decoder)->image;
  // Without alpha in its rows, libavif would multiply the colours by it.
  const PixelFormat format{(*decoder)->alphaPresent != 0 ? 4 : 3, image.depth > 8 && wanted.bits == 16 ? 2 : 1};
  const uint64_t pixels = uint64_t{image.width} * image.height;
  return StoredOutline{image.width,
                       image.height,
                       orientation_of(image),
                       format,
                       kForAll + pixels * kSamples * (image.depth > 8 ? 2 : 1),
                       static_cast<uint64_t>((*decoder)->imageCount)};
}

Result<ColourProfile> AvifCodec::profile() {
  const auto decoder = parse(bytes_);
  if (!decoder) return decoder.error();
  const avifImage& image = *(*decoder)->image;
  return profile_of(kAvifName, image.icc.data, image.icc.size, image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400);
}

// A frame is decoded in one piece: the time is looked at before and behind it. Frames before it are needed from the
// last key frame on, or from the frame that was decoded before.
Status AvifCodec::decode_frames(std::span<const int> wanted, const Box& box, CpuWatch& watch, PixelRows& rows,
                                const FrameSink& sink) {
  const auto decoder = parse(bytes_);
  if (!decoder) return decoder.error();
  const uint64_t blocks =
      static_cast<uint64_t>(rows.picture.width) * static_cast<uint64_t>(rows.picture.height) / 64 + 1;
  uint32_t next = 0;
  for (const int number : wanted) {
    const auto frame = static_cast<uint32_t>(number);
    for (next = std::max(next, avifDecoderNearestKeyframe(decoder->get(), frame)); next <= frame; ++next) {
      if (watch.is_over(blocks)) return costs_too_much(kAvifName, kTooMuchCpuTime);
      const avifResult result = avifDecoderNthImage(decoder->get(), next);
      if (result != AVIF_RESULT_OK) return error_of(result);
    }
    if (watch.is_over(blocks)) return costs_too_much(kAvifName, kTooMuchCpuTime);
    if (const Status given = give(*(*decoder)->image, box, rows); !given) return given;
    if (const Status taken = sink(rows); !taken) return taken;
  }
  return Done{};
}

Status AvifCodec::give(const avifImage& image, const Box& box, PixelRows& rows) {
  if (image.width != static_cast<uint32_t>(rows.picture.width) ||
      image.height != static_cast<uint32_t>(rows.picture.height))
    return damaged(kAvifName, "its picture has another size than its header claims");
  avifRGBImage rgb;
  avifRGBImageSetDefaults(&rgb, &image);
  rgb.format = rows.format.channels == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  rgb.depth = static_cast<uint32_t>(rows.format.sample_bytes) * 8;
  rgb.pixels = cover({0, 0, rows.picture.width, rows.picture.height}, rows);
  rgb.rowBytes = static_cast<uint32_t>(rows.stride_bytes);
  if (const avifResult result = avifImageYUVToRGB(&image, &rgb); result != AVIF_RESULT_OK) return error_of(result);
  rows.offset = rows.stride_bytes * static_cast<size_t>(box.y);
  rows.covers = {0, box.y, rows.picture.width, box.height};
  return Done{};
}

}  // namespace

std::unique_ptr<ImageDecoder> make_avif_decoder(const media::DecodeLimits& limits) {
  return make_stored_decoder(std::make_unique<AvifCodec>(), limits);
}

// The library names all its codecs, such as "dav1d [dec]:1.0.0, aom [enc]:3.6.0": the first that decodes counts.
std::string avif_code() {
  std::array<char, 256> all{};
  avifCodecVersions(all.data());
  const std::string versions = all.data();
  const char* const name = avifCodecName(AVIF_CODEC_CHOICE_AUTO, AVIF_CODEC_FLAG_CAN_DECODE);
  const size_t start = name == nullptr ? std::string::npos : versions.find(name);
  const std::string codec = start == std::string::npos ? "" : versions.substr(start, versions.find(',', start) - start);
  return std::string("libavif ") + avifVersion() + " with " + (codec.empty() ? "no codec" : codec);
}

}  // namespace spdld::image
