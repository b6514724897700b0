#include "config/text/element.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spdld::config {
namespace {

using Bytes = std::optional<std::vector<uint8_t>>;

constexpr double kExactMax = 0x1p53;  // up to it, a double holds every integer

template <typename T>
std::vector<uint8_t> raw_bytes(T value) {
  const auto* start = reinterpret_cast<const uint8_t*>(&value);
  return {start, start + sizeof value};
}

template <typename T>
Bytes integer_of(double number) {
  const bool fits = number >= static_cast<double>(std::numeric_limits<T>::min()) &&
                    number <= static_cast<double>(std::numeric_limits<T>::max());
  if (!fits || number != std::floor(number) || std::abs(number) > kExactMax) return std::nullopt;
  return raw_bytes(static_cast<T>(number));
}

// IEEE 754: a sign, an exponent with `bias`, and `fraction` bits behind the point.
Bytes short_float_of(double number, int fraction, int bias) {
  int exponent = 0;
  (void)std::frexp(number, &exponent);
  const int step = std::max(exponent - fraction - 1, 1 - bias - fraction);  // the power of 2 between two neighbours
  const auto steps = static_cast<int64_t>(std::nearbyint(std::ldexp(std::abs(number), -step)));
  const int64_t bits = (int64_t{step + fraction + bias} << fraction) + steps - (int64_t{1} << fraction);
  if (bits >= int64_t{2 * bias + 1} << fraction) return std::nullopt;
  return raw_bytes(static_cast<uint16_t>(bits | (std::signbit(number) ? 0x8000 : 0)));
}

template <typename T>
Bytes float_of(double number, size_t parts) {
  const auto value = static_cast<T>(number);
  if (!std::isfinite(value)) return std::nullopt;
  std::vector<uint8_t> bytes = raw_bytes(value);
  bytes.resize(parts * sizeof value);  // of a complex number the imaginary part is zero
  return bytes;
}

}  // namespace

std::optional<std::vector<uint8_t>> element_of(DType dtype, double number) {
  if (!std::isfinite(number)) return std::nullopt;
  switch (dtype) {
    case DType::kUint8:
      return integer_of<uint8_t>(number);
    case DType::kBool:
      return number > 1 ? std::nullopt : integer_of<uint8_t>(number);
    case DType::kInt8:
      return integer_of<int8_t>(number);
    case DType::kInt16:
      return integer_of<int16_t>(number);
    case DType::kUint16:
      return integer_of<uint16_t>(number);
    case DType::kInt32:
      return integer_of<int32_t>(number);
    case DType::kUint32:
      return integer_of<uint32_t>(number);
    case DType::kInt64:
      return integer_of<int64_t>(number);
    case DType::kUint64:
      return integer_of<uint64_t>(number);
    case DType::kFloat16:
      return short_float_of(number, 10, 15);
    case DType::kBfloat16:
      return short_float_of(number, 7, 127);
    case DType::kFloat32:
      return float_of<float>(number, 1);
    case DType::kFloat64:
      return float_of<double>(number, 1);
    case DType::kComplex64:
      return float_of<float>(number, 2);
    case DType::kComplex128:
      return float_of<double>(number, 2);
  }
  return std::nullopt;
}

}  // namespace spdld::config
