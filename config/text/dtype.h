// The types of a tensor's elements: every type that numpy, torch and jax share. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spdld::config {

// In the order of the protocol's numbers, since a test compares the two.
enum class DType : uint8_t {
  kUint8,
  kInt32,
  kInt64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kBool,  // a byte that is 0 or 1
  kInt8,
  kInt16,
  kUint16,
  kUint32,
  kUint64,
  kComplex64,
  kComplex128
};
inline constexpr size_t kDTypeCount = 15;

// Bytes of one element; the name as users write it ("float16"). Both throw std::logic_error on a number without a type.
size_t dtype_bytes(DType dtype);
std::string_view dtype_name(DType dtype);
// The way back, for a parameter that the catalogue has checked (throws std::logic_error on any other text).
DType dtype_named(std::string_view name);

}  // namespace spdld::config
