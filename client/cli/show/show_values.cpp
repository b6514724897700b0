#include "client/cli/show/show_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "utf8/utf8.h"

namespace spdld::cli {
namespace {

constexpr int64_t kElementsShown = 8;
constexpr int64_t kTextBytesMax = 4096;

template <typename T>
T read_as(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

double half_number(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31  ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

double element_at(spdld_dtype dtype, const std::byte* address) {
  switch (dtype) {
    case SPDLD_UINT8:
    case SPDLD_BOOL:
      return read_as<uint8_t>(address);
    case SPDLD_INT8:
      return read_as<int8_t>(address);
    case SPDLD_INT16:
      return read_as<int16_t>(address);
    case SPDLD_UINT16:
      return read_as<uint16_t>(address);
    case SPDLD_INT32:
      return read_as<int32_t>(address);
    case SPDLD_UINT32:
      return read_as<uint32_t>(address);
    case SPDLD_INT64:
      return static_cast<double>(read_as<int64_t>(address));
    case SPDLD_UINT64:
      return static_cast<double>(read_as<uint64_t>(address));
    case SPDLD_FLOAT16:
      return half_number(read_as<uint16_t>(address));
    case SPDLD_BFLOAT16:
      return std::bit_cast<float>(static_cast<uint32_t>(read_as<uint16_t>(address)) << 16);
    case SPDLD_FLOAT32:
    case SPDLD_COMPLEX64:
      return read_as<float>(address);
    case SPDLD_FLOAT64:
    case SPDLD_COMPLEX128:
      return read_as<double>(address);
  }
  return 0;
}

std::string short_number(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}

}  // namespace

Values::Values(const Batch& batch, const std::string& name, uint64_t sample) {
  const spdld_tensor tensor = batch[name.c_str()];
  dtype_ = tensor.dtype;
  shape_.assign(tensor.shape, tensor.shape + tensor.rank);
  strides_.assign(tensor.strides, tensor.strides + tensor.rank);
  const auto bytes = static_cast<int64_t>(spdld_dtype_bytes(dtype_));
  auto row = static_cast<int64_t>(sample);
  address_ = static_cast<const std::byte*>(tensor.address);
  if (tensor.role == SPDLD_VALUES) {
    const auto offsets = batch.part(name.c_str(), SPDLD_OFFSETS);
    if (!offsets) throw Exception(SPDLD_INTERNAL, "a ragged tensor has no offsets");
    const auto* edges = static_cast<const int64_t*>(offsets->address) + sample;
    row = edges[0];
    shape_[0] = edges[1] - edges[0];
  } else {
    shape_.erase(shape_.begin());
    const auto lengths = batch.part(name.c_str(), SPDLD_LENGTHS);
    if (lengths && !shape_.empty())
      shape_[0] = std::clamp<int64_t>(static_cast<const int64_t*>(lengths->address)[sample], 0, shape_[0]);
  }
  address_ += row * strides_[0] * bytes;
  if (tensor.role != SPDLD_VALUES) strides_.erase(strides_.begin());
}

int64_t Values::size() const {
  int64_t size = 1;
  for (const int64_t length : shape_) size *= length;
  return size;
}

double Values::at(std::span<const int64_t> place) const {
  int64_t element = 0;
  for (size_t i = 0; i < place.size(); ++i) element += place[i] * strides_[i];
  return element_at(dtype_, address_ + element * static_cast<int64_t>(spdld_dtype_bytes(dtype_)));
}

double Values::element(int64_t index) const {
  std::vector<int64_t> place(shape_.size());
  for (size_t i = shape_.size(); i-- > 0; index /= shape_[i]) place[i] = index % shape_[i];
  return at(place);
}

Values Values::row(int64_t index, size_t dimension) const {
  Values row = *this;
  row.address_ += index * strides_[dimension] * static_cast<int64_t>(spdld_dtype_bytes(dtype_));
  row.shape_.erase(row.shape_.begin() + static_cast<ptrdiff_t>(dimension));
  row.strides_.erase(row.strides_.begin() + static_cast<ptrdiff_t>(dimension));
  return row;
}

bool Values::is_integer() const {
  return dtype_ != SPDLD_FLOAT16 && dtype_ != SPDLD_BFLOAT16 && dtype_ != SPDLD_FLOAT32 && dtype_ != SPDLD_FLOAT64 &&
         dtype_ != SPDLD_COMPLEX64 && dtype_ != SPDLD_COMPLEX128;
}

std::string Values::text() const {
  std::string text;
  for (int64_t i = 0; i < std::min(size(), kTextBytesMax); ++i) text += static_cast<char>(element(i));
  return text;
}

bool Values::is_text() const {
  return dtype_ == SPDLD_UINT8 && shape_.size() == 1 && shape_[0] > 0 && shape_[0] <= kTextBytesMax &&
         utf8::is_utf8(text()) && !utf8::has_control(text());
}

std::string Values::summary() const {
  std::string text = std::string(spdld_dtype_name(dtype_)) + " [";
  for (const int64_t length : shape_) text += (text.back() == '[' ? "" : ", ") + std::to_string(length);
  text += "]";
  const int64_t count = std::min(size(), kElementsShown);
  for (int64_t i = 0; i < count; ++i) text += (i == 0 ? ": " : ", ") + short_number(element(i));
  return size() > count ? text + ", ..." : text;
}

}  // namespace spdld::cli
