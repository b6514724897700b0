#include "daemon/media/image/codecs/jpeg2000/samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "daemon/media/image/codecs/jpeg2000/codestream.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

// A component's samples at the picture's pixels. One sample may stand for several pixels.
class Component {
 public:
  Component(const opj_image_t& image, const opj_image_comp_t& samples, int white)
      : samples_(samples),
        left_(image.x0),
        top_(image.y0),
        offset_(samples.sgnd != 0 ? int64_t{1} << (samples.prec - 1) : 0),
        largest_((int64_t{1} << samples.prec) - 1),
        white_(white) {}

  int at(uint32_t x, uint32_t y) const {
    const uint32_t column = place(left_ + x, samples_.dx, samples_.x0, samples_.w);
    const uint32_t row = place(top_ + y, samples_.dy, samples_.y0, samples_.h);
    const int64_t value = samples_.data[size_t{row} * samples_.w + column] + offset_;
    return scaled(std::clamp<int64_t>(value, 0, largest_));
  }

 private:
  static uint32_t place(uint32_t at, uint32_t step, uint32_t start, uint32_t count) {
    const uint32_t sample = at / step;
    return std::min(sample > start ? sample - start : 0, count - 1);
  }
  int scaled(int64_t value) const {
    if (largest_ == white_) return static_cast<int>(value);
    if (largest_ > white_) return static_cast<int>(value * (white_ + 1) / (largest_ + 1));
    return static_cast<int>((value * white_ + largest_ / 2) / largest_);
  }

  const opj_image_comp_t& samples_;
  const uint32_t left_, top_;
  const int64_t offset_, largest_;
  const int white_;
};

// Red, green and blue of full-range YCbCr (IEC 61966-2-1, annex G), in place.
void to_rgb(std::array<int, 4>& pixel, int white) {
  const double luma = pixel[0], middle = (white + 1) / 2, blue = pixel[1] - middle, red = pixel[2] - middle;
  const auto put = [&](double value) {
    return static_cast<int>(std::lround(std::clamp(value, 0.0, static_cast<double>(white))));
  };
  pixel[0] = put(luma + 1.402 * red);
  pixel[1] = put(luma - 0.344136 * blue - 0.714136 * red);
  pixel[2] = put(luma + 1.772 * blue);
}

// A codestream does not tell its colours; chroma that stands for several pixels is no green.
bool has_chroma(const opj_image_t& image) {
  if (image.numcomps < 3) return false;
  if (image.color_space == OPJ_CLRSPC_SYCC) return true;
  const bool is_told = image.color_space == OPJ_CLRSPC_SRGB;
  return !is_told && image.comps[0].dx == 1 && image.comps[1].dx > 1;
}

Status check(const opj_image_t& image, const PixelRows& rows) {
  constexpr uint32_t kChannels = 4, kBits = 16;
  const bool has_size = image.x1 - image.x0 == static_cast<uint32_t>(rows.picture.width) &&
                        image.y1 - image.y0 == static_cast<uint32_t>(rows.picture.height);
  const bool fits = image.numcomps >= static_cast<uint32_t>(rows.format.channels == 4 ? 2 : rows.format.channels) &&
                    image.numcomps <= kChannels;
  bool is_sound = has_size && fits;
  for (uint32_t i = 0; is_sound && i < image.numcomps; ++i) {
    const auto& samples = image.comps[i];
    is_sound = samples.data != nullptr && samples.w > 0 && samples.h > 0 && samples.dx > 0 && samples.dy > 0 &&
               samples.prec > 0 && samples.prec <= kBits;
  }
  if (is_sound) return Done{};
  return damaged(kJpeg2000Name, "its components are not as its header claims");
}

// Which component gives each channel of a row's pixel.
std::array<uint32_t, 4> sources(uint32_t components, int channels) {
  if (components > 2) return {0, 1, 2, 3};
  return channels == 1 ? std::array<uint32_t, 4>{0, 0, 0, 0} : std::array<uint32_t, 4>{0, 0, 0, 1};
}

template <class Sample>
void write_row(const std::array<const Component*, 4>& from, bool is_chroma, uint32_t y, PixelRows& rows, uint8_t* to) {
  const auto channels = static_cast<size_t>(rows.format.channels);
  const int white = rows.format.white();
  for (int x = 0; x < rows.picture.width; ++x) {
    std::array<int, 4> pixel{};
    for (size_t c = 0; c < channels; ++c) pixel[c] = from[c]->at(static_cast<uint32_t>(x), y);
    if (is_chroma) to_rgb(pixel, white);
    for (size_t c = 0; c < channels; ++c, to += sizeof(Sample)) {
      const auto sample = static_cast<Sample>(pixel[c]);
      std::memcpy(to, &sample, sizeof sample);
    }
  }
}

}  // namespace

Status write_pixels(const opj_image_t& image, PixelRows& rows) {
  if (const Status sound = check(image, rows); !sound) return sound;
  std::array<const Component*, 4> from{};
  std::array<std::unique_ptr<Component>, 4> components;
  for (uint32_t i = 0; i < image.numcomps; ++i)
    components[i] = std::make_unique<Component>(image, image.comps[i], rows.format.white());
  const auto sources_of_channels = sources(image.numcomps, rows.format.channels);
  for (size_t c = 0; c < 4; ++c) from[c] = components[sources_of_channels[c]].get();
  const bool is_chroma = has_chroma(image) && rows.format.channels >= 3;
  uint8_t* to = cover({0, 0, rows.picture.width, rows.picture.height}, rows);
  for (int y = 0; y < rows.picture.height; ++y, to += rows.stride_bytes) {
    const auto row = static_cast<uint32_t>(y);
    if (rows.format.sample_bytes == 2)
      write_row<uint16_t>(from, is_chroma, row, rows, to);
    else
      write_row<uint8_t>(from, is_chroma, row, rows, to);
  }
  return Done{};
}

}  // namespace spdld::image
