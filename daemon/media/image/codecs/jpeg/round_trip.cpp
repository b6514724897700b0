#include <cstring>
#include <new>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/jpeg/encoder.h"
#include "daemon/media/image/codecs/jpeg_round_trip.h"

namespace spdld::image {
namespace {

class RoundTrip final : public JpegRoundTrip {
 public:
  void run(uint8_t* pixels, const Size& size, int channels, int quality) override;

 private:
  JpegEncoder encoder_;
  // Without limits: the picture that is encoded was decoded within them.
  std::unique_ptr<ImageDecoder> decoder_ = make_jpeg_decoder({.cpu_ms_max = 0, .bytes_max = 0});
  PixelRows rows_;
};

[[noreturn]] void give_up(const Error& error) {
  if (error.trouble == Trouble::kMemory) throw std::bad_alloc();
  throw SetupError(Trouble::kInternal, "a picture that was encoded as a JPEG can't be decoded: " + error.message);
}

void RoundTrip::run(uint8_t* pixels, const Size& size, int channels, int quality) {
  const Pixels wanted{channels == 1 ? Colours::kGrey : Colours::kRgb, 8};
  const auto opened = decoder_->open(encoder_.encode(pixels, size, channels, quality), false, false, wanted);
  if (!opened) give_up(opened.error());
  const Status decoded = decoder_->decode({0, 0, size.width, size.height}, rows_);
  if (!decoded) give_up(decoded.error());
  const size_t row_bytes = static_cast<size_t>(size.width) * static_cast<size_t>(channels);
  for (int y = 0; y < size.height; ++y)
    std::memcpy(pixels + row_bytes * static_cast<size_t>(y), rows_.row(y), row_bytes);
  rows_.memory.shrink(kMemoryKeptMax);
}

}  // namespace

std::unique_ptr<JpegRoundTrip> make_jpeg_round_trip() { return std::make_unique<RoundTrip>(); }

}  // namespace spdld::image
