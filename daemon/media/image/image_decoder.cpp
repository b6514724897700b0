#include "daemon/media/image/image_decoder.h"

#include "daemon/media/image/sniff.h"

namespace spdld::image {
namespace {

// Hands each picture to the decoder of its format.
class AnyDecoder final : public ImageDecoder {
 public:
  explicit AnyDecoder(const media::DecodeLimits& limits)
      : jpeg_(make_jpeg_decoder(limits)), png_(make_png_decoder(limits)) {}

  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict, const Pixels& pixels) override {
    opened_ = begins_like_jpeg(bytes) ? jpeg_.get() : begins_like_png(bytes) ? png_.get() : nullptr;
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

  std::unique_ptr<ImageDecoder> jpeg_, png_;
  ImageDecoder* opened_ = nullptr;
};

}  // namespace

std::unique_ptr<ImageDecoder> make_image_decoder(const media::DecodeLimits& limits) {
  return std::make_unique<AnyDecoder>(limits);
}

}  // namespace spdld::image
