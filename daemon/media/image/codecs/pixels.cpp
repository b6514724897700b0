#include "daemon/media/image/codecs/pixels.h"

#include <array>

namespace spdld::image {
namespace {

constexpr uint32_t kRedPart = 19'595, kGreenPart = 38'470, kBluePart = 7'471, kHalf = 32'768;  // of 65,536

template <typename To, bool kIsScaled, typename From>
uint32_t sample_of(From value) {
  if constexpr (sizeof(From) == sizeof(To)) return value;
  if constexpr (sizeof(From) > sizeof(To)) return uint32_t{value} >> 8;
  return kIsScaled ? value * 257u : value;
}

template <typename From, int kFrom, typename To, int kTo, bool kIsScaled = true>
void convert(const uint8_t* in, uint8_t* out, size_t width) {
  const auto* from = reinterpret_cast<const From*>(in);
  auto* to = reinterpret_cast<To*>(out);
  for (size_t x = 0; x < width; ++x, from += kFrom, to += kTo) {
    const auto sample = [from](int channel) { return sample_of<To, kIsScaled>(from[channel]); };
    if constexpr (kFrom == 1) {
      for (int c = 0; c < (kTo == 1 ? 1 : 3); ++c) to[c] = static_cast<To>(sample(0));
    } else if constexpr (kTo == 1) {
      to[0] = static_cast<To>((sample(0) * kRedPart + sample(1) * kGreenPart + sample(2) * kBluePart + kHalf) >> 16);
    } else {
      for (int c = 0; c < 3; ++c) to[c] = static_cast<To>(sample(c));
    }
    if constexpr (kTo == 4 && kFrom == 4) to[3] = static_cast<To>(sample(3));
    if constexpr (kTo == 4 && kFrom != 4) to[3] = static_cast<To>(~To{0});
  }
}

template <int kFrom, int kTo>
void convert_floats(const uint8_t* in, uint8_t* out, size_t width) {
  const auto* from = reinterpret_cast<const float*>(in);
  auto* to = reinterpret_cast<float*>(out);
  for (size_t x = 0; x < width; ++x, from += kFrom, to += kTo) {
    if constexpr (kFrom == 1 || kTo > 1) {
      for (int c = 0; c < (kTo == 1 ? 1 : 3); ++c) to[c] = from[kFrom == 1 ? 0 : c];
    } else {
      to[0] = 0.299F * from[0] + 0.587F * from[1] + 0.114F * from[2];
    }
    if constexpr (kTo == 4) to[3] = 1;
  }
}

using Convert = void (*)(const uint8_t*, uint8_t*, size_t);

size_t place_of(int channels) { return channels == 1 ? 0 : channels == 3 ? 1 : 2; }

template <typename From, typename To>
Convert by_channels(int from, int to) {
  static constexpr std::array<std::array<Convert, 3>, 3> kAll = {
      {{convert<From, 1, To, 1>, convert<From, 1, To, 3>, convert<From, 1, To, 4>},
       {convert<From, 3, To, 1>, convert<From, 3, To, 3>, convert<From, 3, To, 4>},
       {convert<From, 4, To, 1>, convert<From, 4, To, 3>, convert<From, 4, To, 4>}}};
  return kAll[place_of(from)][place_of(to)];
}

// Pictures of floats are grey or RGB.
Convert of_floats(int from, int to) {
  static constexpr std::array<Convert, 3> kGrey = {convert_floats<1, 1>, convert_floats<1, 3>, convert_floats<1, 4>},
                                          kRgb = {convert_floats<3, 1>, convert_floats<3, 3>, convert_floats<3, 4>};
  return (from == 1 ? kGrey : kRgb)[place_of(to)];
}

Convert conversion(const PixelFormat& from, const Pixels& to) {
  const PixelFormat wanted = to.format();
  if (from.sample_bytes == 4) return of_floats(from.channels, wanted.channels);
  const bool deep = from.sample_bytes == 2, wants_deep = wanted.sample_bytes == 2;
  if (to.colours == Colours::kStored && !deep && wants_deep)
    return from.channels == 1 ? convert<uint8_t, 1, uint16_t, 1, false> : convert<uint8_t, 3, uint16_t, 1, false>;
  if (deep) {
    return wants_deep ? by_channels<uint16_t, uint16_t>(from.channels, wanted.channels)
                      : by_channels<uint16_t, uint8_t>(from.channels, wanted.channels);
  }
  return wants_deep ? by_channels<uint8_t, uint16_t>(from.channels, wanted.channels)
                    : by_channels<uint8_t, uint8_t>(from.channels, wanted.channels);
}

}  // namespace

void convert_row(const PixelFormat& from, const uint8_t* in, const Pixels& to, uint8_t* out, size_t width) {
  conversion(from, to)(in, out, width);
}

void convert_rows(const PixelRows& from, const Pixels& to, PixelRows& to_rows) {
  to_rows.format = to.format();
  to_rows.offset = 0;
  to_rows.covers = from.covers;
  to_rows.picture = from.picture;
  const auto width = static_cast<size_t>(from.covers.width), height = static_cast<size_t>(from.covers.height);
  to_rows.stride_bytes = width * static_cast<size_t>(to_rows.format.pixel_bytes());
  uint8_t* out = to_rows.memory.resize(to_rows.stride_bytes * height + PixelRows::kSlackBytes);
  for (int y = 0; y < from.covers.height; ++y, out += to_rows.stride_bytes)
    convert_row(from.format, from.row(from.covers.y + y), to, out, width);
}

}  // namespace spdld::image
