#include "daemon/media/audio/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace spdld::audio {
namespace {

uint16_t half_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);  // rounds to 65536 or beyond
  if (magnitude < 0x38800000) {  // below the least normal half: whole steps of 2^-24
    const float steps = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(steps));
  }
  const uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

uint16_t bfloat_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

int16_t integer_of(float value) {
  const float scaled = value * 0x1p15f;
  if (!(scaled == scaled)) return 0;
  return static_cast<int16_t>(std::nearbyint(std::clamp(scaled, -32768.0f, 32767.0f)));
}

template <typename T, typename Convert>
void write(std::span<const float> values, uint8_t* to, size_t step, Convert convert) {
  T* const elements = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < values.size(); ++i) elements[i * step] = convert(values[i]);
}

}  // namespace

void write_elements(config::DType dtype, std::span<const float> values, uint8_t* to, size_t step) {
  switch (dtype) {
    case config::DType::kFloat16:
      return write<uint16_t>(values, to, step, half_of);
    case config::DType::kBfloat16:
      return write<uint16_t>(values, to, step, bfloat_of);
    case config::DType::kInt16:
      return write<int16_t>(values, to, step, integer_of);
    default:
      return write<float>(values, to, step, [](float value) { return value; });
  }
}

}  // namespace spdld::audio
