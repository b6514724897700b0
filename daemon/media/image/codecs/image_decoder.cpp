#include "daemon/media/image/codecs/image_decoder.h"

#include <array>

#include "daemon/media/image/codecs/sniff.h"
#include "daemon/media/image/codecs/srgb_transforms.h"
#include "daemon/media/image/codecs/stored_codec.h"
#include "daemon/media/sample_memory.h"

namespace spdld::image {
namespace {

struct Format {
  bool (*begins)(std::span<const uint8_t> bytes);
  std::unique_ptr<ImageDecoder> (*make)(const media::DecodeLimits& limits);
  std::string (*code)();
  // The words for a picture, in the error where a later frame is asked for; nullptr: frames of this format are decoded.
  const char* one = nullptr;
  bool may_have_others = false;  // the format may hold more
};

constexpr std::array kFormats = {
    Format{begins_like_jpeg, make_jpeg_decoder, jpeg_code, "a JPEG"},
    Format{begins_like_png, make_png_decoder, png_code, "a PNG", true},
    Format{begins_like_webp, make_webp_decoder, webp_code},
    Format{begins_like_tiff, make_tiff_decoder, tiff_code},
    Format{begins_like_bmp, make_bmp_decoder, bmp_code, "a BMP"},
    Format{begins_like_gif, make_gif_decoder, gif_code},
    Format{begins_like_avif, make_avif_decoder, avif_code},
    Format{begins_like_jxl, make_jxl_decoder, jxl_code, "a JPEG XL", true},
    Format{begins_like_jpeg2000, make_jpeg2000_decoder, jpeg2000_code, "a JPEG 2000"},
    Format{begins_like_heif, make_heif_decoder, heif_code, "a HEIC", true},
};

constexpr size_t kJpeg = 0;
static_assert(kFormats[kJpeg].make == make_jpeg_decoder);

// Of a picture whose decoder has no frames.
Error no_frames(const Format& format, int wanted) {
  if (!format.may_have_others) return no_such_frame(format.one, 1, wanted);
  return {Trouble::kUnsupported,
          "frame " + std::to_string(wanted) + " is wanted, and this spdld decodes one picture of " + format.one};
}

Error no_floats() {
  return {
      Trouble::kUnsupported,
      "bits = 32 of decode-image takes TIFF pictures of floating-point samples, and this picture is of another format"};
}

// Each page has a profile of its own.
Error no_srgb_pages() {
  return {Trouble::kUnsupported,
          "a TIFF of several pages, whose frames are wanted in sRGB: write profile = \"ignore\" in decode-image"};
}

// Hands each picture to the decoder of its format.
class AnyDecoder final : public ImageDecoder {
 public:
  explicit AnyDecoder(const media::DecodeLimits& limits) : memory_(limits.memory) {
    for (size_t i = 0; i < kFormats.size(); ++i) decoders_[i] = kFormats[i].make(limits);
  }

  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict, const Pixels& pixels) override {
    const std::optional<size_t> at = format_of(bytes);
    is_converted_ = false;
    opened_ = nullptr;
    if (!at) return refusal_of(bytes);
    if (pixels.bits == 32 && kFormats[*at].begins != begins_like_tiff) return no_floats();
    if (pixels.frame > 0 && kFormats[*at].one != nullptr) return no_frames(kFormats[*at], pixels.frame);
    opened_ = decoders_[*at].get();
    return pixels.srgb ? open_srgb(bytes, exif, strict, pixels) : opened_->open(bytes, exif, strict, pixels);
  }
  Result<Size> open_indexed(std::span<const uint8_t> bytes, std::span<const uint8_t> index, bool exif, bool strict,
                            const Pixels& pixels) override {
    if (!begins_like_jpeg(bytes) || !has_planes(pixels)) return open(bytes, exif, strict, pixels);
    is_converted_ = false;
    opened_ = decoders_[*format_of(bytes)].get();
    return opened_->open_indexed(bytes, index, exif, strict, pixels);
  }
  Result<Size> open_packed(std::span<const uint8_t> packed, const PlanesShape& shape) override {
    is_converted_ = false;
    opened_ = decoders_[kJpeg].get();
    return opened_->open_packed(packed, shape);
  }
  bool is_packable() override { return opened_ != nullptr && !is_converted_ && opened_->is_packable(); }
  Status decode_and_pack(uint8_t* memory, std::span<const uint8_t>& packed) override {
    return opened_ == nullptr ? nothing_is_open() : opened_->decode_and_pack(memory, packed);
  }
  Status transcode(uint8_t* memory, std::span<const uint8_t>& plain) override {
    return opened_ == nullptr || is_converted_ ? ImageDecoder::transcode(memory, plain)
                                               : opened_->transcode(memory, plain);
  }
  Result<ColourProfile> profile() override { return opened_ == nullptr ? ColourProfile() : opened_->profile(); }
  Status decode(const Box& box, PixelRows& rows) override {
    if (opened_ == nullptr) return nothing_is_open();
    if (!take_memory(box)) return media::no_room();
    return is_converted_ ? decode_srgb(box, rows) : opened_->decode(box, rows);
  }
  uint64_t frames() const override { return opened_ == nullptr ? 1 : opened_->frames(); }
  Status decode_frames(std::span<const int> wanted, const Box& box, PixelRows& rows, const FrameSink& sink) override {
    if (opened_ == nullptr) return nothing_is_open();
    if (!is_converted_) return opened_->decode_frames(wanted, box, rows, sink);
    if (!take_memory(box)) return media::no_room();
    const Status decoded = opened_->decode_frames(wanted, box, read_for(rows), [&](const PixelRows&) {
      convert(rows);
      return sink(rows);
    });
    read_.memory.shrink(kMemoryKeptMax);
    return decoded;
  }
  std::optional<PlanesShape> planes(int reduction) const override {
    return opened_ == nullptr || is_converted_ ? std::nullopt : opened_->planes(reduction);
  }
  Status decode_planes(uint8_t* memory) override {
    return opened_ == nullptr ? nothing_is_open() : opened_->decode_planes(memory);
  }
  Status decode_planes(const Box& box, int reduction, uint8_t* memory) override {
    return opened_ == nullptr ? nothing_is_open() : opened_->decode_planes(box, reduction, memory);
  }
  size_t index_bytes() override { return opened_ == nullptr || is_converted_ ? 0 : opened_->index_bytes(); }
  Status decode_and_index(const Box& box, uint8_t* memory, std::span<uint8_t> index) override {
    return opened_ == nullptr ? nothing_is_open() : opened_->decode_and_index(box, memory, index);
  }

 private:
  static Status nothing_is_open() { return Error{Trouble::kInternal, "a picture was to be decoded and none is open"}; }
  static std::optional<size_t> format_of(std::span<const uint8_t> bytes) {
    for (size_t i = 0; i < kFormats.size(); ++i) {
      if (kFormats[i].begins(bytes)) return i;
    }
    return std::nullopt;
  }

  Result<Size> open_srgb(std::span<const uint8_t> bytes, bool exif, bool strict, Pixels pixels);
  Status decode_srgb(const Box& box, PixelRows& rows);
  // Where a picture is converted to grey, its rows in colours lie beside.
  bool take_memory(const Box& box) {
    if (!is_converted_ || wanted_.colours != Colours::kGrey) return true;
    const uint64_t pixels = static_cast<uint64_t>(box.width) * static_cast<uint64_t>(box.height);
    return memory_.add(ByteBuffer::room_for(pixels * static_cast<uint64_t>(wanted_.format().pixel_bytes())));
  }
  // The rows to decode into, whose pixels convert() turns into these rows.
  PixelRows& read_for(PixelRows& rows) { return wanted_.colours == Colours::kGrey ? read_ : rows; }
  void convert(PixelRows& rows) {
    transforms_->apply(read_for(rows));
    if (wanted_.colours == Colours::kGrey) convert_rows(read_, wanted_, rows);
  }

  std::array<std::unique_ptr<ImageDecoder>, kFormats.size()> decoders_;
  ImageDecoder* opened_ = nullptr;
  media::MemoryPart memory_;
  std::unique_ptr<SrgbTransforms> transforms_ = make_srgb_transforms();
  bool is_converted_ = false;  // the opened picture, by its profile
  Pixels wanted_;              // of such a picture
  PixelRows read_;             // in colours, where grey is wanted
};

// Grey is made of sRGB, so that a picture with a profile is opened for colours.
Result<Size> AnyDecoder::open_srgb(std::span<const uint8_t> bytes, bool exif, bool strict, Pixels pixels) {
  pixels.srgb = false;
  const auto size = opened_->open(bytes, exif, strict, pixels);
  if (!size) return size.error();
  if (opened_->frames() > 1 && begins_like_tiff(bytes)) return no_srgb_pages();
  const auto profile = opened_->profile();
  if (!profile) return profile.error();
  if (profile->bytes.empty()) return *size;
  wanted_ = pixels;
  if (pixels.colours == Colours::kGrey) pixels.colours = Colours::kRgb;
  const Status chosen = transforms_->choose(profile->bytes, profile->is_grey, pixels.format());
  if (!chosen) return chosen.error();
  is_converted_ = true;
  return pixels == wanted_ ? *size : opened_->open(bytes, exif, strict, pixels);
}

Status AnyDecoder::decode_srgb(const Box& box, PixelRows& rows) {
  if (const Status decoded = opened_->decode(box, read_for(rows)); !decoded) return decoded;
  convert(rows);
  read_.memory.shrink(kMemoryKeptMax);
  return Done{};
}

}  // namespace

std::unique_ptr<ImageDecoder> make_image_decoder(const media::DecodeLimits& limits) {
  return std::make_unique<AnyDecoder>(limits);
}

std::vector<std::string> picture_codes() {
  std::vector<std::string> codes;
  for (const Format& format : kFormats) {
    if (std::string code = format.code(); !code.empty()) codes.push_back(std::move(code));
  }
  return codes;
}

}  // namespace spdld::image
