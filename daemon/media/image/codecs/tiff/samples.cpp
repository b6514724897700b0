#include "daemon/media/image/codecs/tiff/samples.h"

#include <algorithm>
#include <cstring>

namespace spdld::image {
namespace {

void put_floats(const SampleRow& row, const SamplePlace& place, int channels, uint8_t* out, size_t width) {
  out += sizeof(float) * static_cast<size_t>(place.to);
  const uint8_t* in = row.in + sizeof(float) * row.first;
  for (size_t x = 0; x < width;
       ++x, in += sizeof(float) * row.stride, out += sizeof(float) * static_cast<size_t>(channels))
    std::memcpy(out, in, sizeof(float));
}

// The sample `index` of a row. Samples of fewer than 8 bits begin at a byte's highest bit.
template <int kBits>
unsigned sample_at(const uint8_t* in, size_t index) {
  if constexpr (kBits == 16) {
    uint16_t value = 0;
    std::memcpy(&value, in + 2 * index, sizeof value);
    return value;
  } else if constexpr (kBits == 8) {
    return in[index];
  } else {
    constexpr size_t kInByte = 8 / kBits;
    const auto shift = 8 - kBits * (index % kInByte + 1);
    return in[index / kInByte] >> shift & ((1u << kBits) - 1);
  }
}

template <int kBits>
void put(const SampleRow& row, const SamplePlace& place, unsigned inverted, int channels, uint8_t* out, size_t width) {
  using Sample = std::conditional_t<kBits == 16, uint16_t, uint8_t>;
  constexpr unsigned kScale = kBits < 8 ? 255 / ((1u << kBits) - 1) : 1;
  auto* to = reinterpret_cast<Sample*>(out) + place.to;
  for (size_t x = 0; x < width; ++x, to += channels) {
    const auto value = static_cast<Sample>((sample_at<kBits>(row.in, x * row.stride + row.first) * kScale) ^ inverted);
    for (int c = 0; c < place.repeat; ++c) to[c] = value;
  }
}

// The same for all numbers of bits below 16.
unsigned bits_at(int bits, const uint8_t* in, size_t index) {
  const auto count = static_cast<size_t>(bits);
  const size_t first = index * count, last = first + count - 1;
  uint32_t value = 0;
  for (size_t at = first / 8; at <= last / 8; ++at) value = value << 8 | in[at];
  return value >> (7 - last % 8) & ((1U << bits) - 1);
}

template <typename Sample>
void put_any(int bits, const SampleRow& row, const SamplePlace& place, unsigned inverted, int channels, uint8_t* out,
             size_t width) {
  constexpr unsigned kWhite = static_cast<Sample>(~Sample{0});
  const unsigned largest = (1U << bits) - 1;
  auto* to = reinterpret_cast<Sample*>(out) + place.to;
  for (size_t x = 0; x < width; ++x, to += channels) {
    const unsigned stored = bits_at(bits, row.in, x * row.stride + row.first);
    const auto value = static_cast<Sample>(((stored * kWhite + largest / 2) / largest) ^ inverted);
    for (int c = 0; c < place.repeat; ++c) to[c] = value;
  }
}

// The part of white that black ink and another one leave.
template <typename Sample>
Sample behind_inks(unsigned ink, unsigned black) {
  constexpr unsigned kWhite = static_cast<Sample>(~Sample{0}), kBits = 8 * sizeof(Sample);
  const uint64_t product = uint64_t{ink} * (kWhite - black) + (uint64_t{1} << (kBits - 1));
  const auto covered = static_cast<unsigned>(((product >> kBits) + product) >> kBits);
  return static_cast<Sample>(kWhite - black - std::min(kWhite - black, covered));
}

template <typename Sample>
void inks(uint8_t* at, size_t width) {
  auto* pixel = reinterpret_cast<Sample*>(at);
  for (size_t x = 0; x < width; ++x, pixel += 4) {
    for (int c = 0; c < 3; ++c) pixel[c] = behind_inks<Sample>(pixel[c], pixel[3]);
    pixel[3] = static_cast<Sample>(~Sample{0});
  }
}

template <typename Sample>
void divide(Sample* pixels, size_t width) {
  constexpr unsigned kWhite = static_cast<Sample>(~Sample{0});
  for (size_t x = 0; x < width; ++x, pixels += 4) {
    const unsigned alpha = pixels[3];
    if (alpha == kWhite) continue;
    for (int c = 0; c < 3; ++c)
      pixels[c] = alpha == 0 ? Sample{0} : static_cast<Sample>(std::min(kWhite, pixels[c] * kWhite / alpha));
  }
}

unsigned number_at(int bits, const uint8_t* in, size_t index) {
  switch (bits) {
    case 1:
      return sample_at<1>(in, index);
    case 2:
      return sample_at<2>(in, index);
    case 4:
      return sample_at<4>(in, index);
    case 8:
      return sample_at<8>(in, index);
    default:
      return bits_at(bits, in, index);
  }
}

}  // namespace

std::vector<SamplePlace> sample_places(const TiffLayout& layout, const PixelFormat& format) {
  std::vector<SamplePlace> places;
  const int colours = layout.colours();
  const int repeat = colours == 1 && format.channels == 4 ? 3 : 1;
  for (int i = 0; i < colours; ++i) places.push_back({i, i, repeat});
  if (format.channels == 4 && colours < 4) places.push_back({colours, 3, 1});
  return places;
}

void put_samples(const TiffLayout& layout, const SampleRow& row, const SamplePlace& place, const PixelFormat& format,
                 uint8_t* out, size_t width) {
  if (layout.is_float()) return put_floats(row, place, format.channels, out, width);
  const bool is_colour = place.from < layout.colours();
  const bool is_inverted = layout.kind == TiffKind::kGreyInverted && is_colour;
  const unsigned inverted = is_inverted ? static_cast<unsigned>(format.white()) : 0;
  switch (layout.bits) {
    case 1:
      return put<1>(row, place, inverted, format.channels, out, width);
    case 2:
      return put<2>(row, place, inverted, format.channels, out, width);
    case 4:
      return put<4>(row, place, inverted, format.channels, out, width);
    case 8:
      return put<8>(row, place, inverted, format.channels, out, width);
    case 16:
      return put<16>(row, place, inverted, format.channels, out, width);
    default:
      return (layout.bits < 8 ? put_any<uint8_t> : put_any<uint16_t>)(layout.bits, row, place, inverted,
                                                                      format.channels, out, width);
  }
}

void put_palette(const TiffLayout& layout, const SampleRow& row, const TiffPalette& palette, uint8_t* out,
                 size_t width) {
  for (size_t x = 0; x < width; ++x, out += 3)
    std::memcpy(out, palette[number_at(layout.bits, row.in, x * row.stride + row.first)].data(), 3);
}

void divide_by_alpha(const PixelFormat& format, uint8_t* pixels, size_t width) {
  if (format.sample_bytes == 2) return divide(reinterpret_cast<uint16_t*>(pixels), width);
  divide(pixels, width);
}

void inks_to_rgba(const PixelFormat& format, bool of_upper, uint8_t* pixels, size_t width) {
  if (format.sample_bytes == 1) return inks<uint8_t>(pixels, width);
  if (!of_upper) return inks<uint16_t>(pixels, width);
  auto* pixel = reinterpret_cast<uint16_t*>(pixels);
  for (size_t x = 0; x < width; ++x, pixel += 4) {
    const unsigned black = pixel[3] >> 8;
    for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint16_t>(behind_inks<uint8_t>(pixel[c] >> 8, black) * 257);
    pixel[3] = UINT16_MAX;
  }
}

}  // namespace spdld::image
