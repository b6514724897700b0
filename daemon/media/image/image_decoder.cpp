#include "daemon/media/image/image_decoder.h"

#include <array>

#include "daemon/media/image/sniff.h"

namespace spdld::image {
namespace {

struct Format {
  bool (*begins)(std::span<const uint8_t> bytes);
  std::unique_ptr<ImageDecoder> (*make)(const media::DecodeLimits& limits);
  std::string (*code)();
};

constexpr std::array kFormats = {
    Format{begins_like_jpeg, make_jpeg_decoder, jpeg_code},
    Format{begins_like_png, make_png_decoder, png_code},
    Format{begins_like_webp, make_webp_decoder, webp_code},
    Format{begins_like_tiff, make_tiff_decoder, tiff_code},
    Format{begins_like_bmp, make_bmp_decoder, bmp_code},
    Format{begins_like_gif, make_gif_decoder, gif_code},
    Format{begins_like_avif, make_avif_decoder, avif_code},
    Format{begins_like_jxl, make_jxl_decoder, jxl_code},
    Format{begins_like_jpeg2000, make_jpeg2000_decoder, jpeg2000_code},
};

// Hands each picture to the decoder of its format.
class AnyDecoder final : public ImageDecoder {
 public:
  explicit AnyDecoder(const media::DecodeLimits& limits) {
    for (size_t i = 0; i < kFormats.size(); ++i) decoders_[i] = kFormats[i].make(limits);
  }

  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict, const Pixels& pixels) override {
    opened_ = decoder_of(bytes);
    if (opened_ == nullptr) return refusal_of(bytes);
    return opened_->open(bytes, exif, strict, pixels);
  }
  Status decode(const Box& box, PixelRows& rows) override {
    return opened_ == nullptr ? nothing_is_open() : opened_->decode(box, rows);
  }
  std::optional<PlanesShape> planes(int reduction) const override {
    return opened_ == nullptr ? std::nullopt : opened_->planes(reduction);
  }
  Status decode_planes(uint8_t* memory) override {
    return opened_ == nullptr ? nothing_is_open() : opened_->decode_planes(memory);
  }
  Status decode_planes(const Box& box, int reduction, uint8_t* memory) override {
    return opened_ == nullptr ? nothing_is_open() : opened_->decode_planes(box, reduction, memory);
  }

 private:
  static Status nothing_is_open() { return Error{Trouble::kInternal, "a picture was to be decoded and none is open"}; }
  ImageDecoder* decoder_of(std::span<const uint8_t> bytes) const {
    for (size_t i = 0; i < kFormats.size(); ++i) {
      if (kFormats[i].begins(bytes)) return decoders_[i].get();
    }
    return nullptr;
  }

  std::array<std::unique_ptr<ImageDecoder>, kFormats.size()> decoders_;
  ImageDecoder* opened_ = nullptr;
};

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
