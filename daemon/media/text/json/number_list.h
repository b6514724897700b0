// A list of numbers that is read straight into the memory of a tensor. The type of the tensor's elements says which
// numbers fit: a type of integers takes numbers without a fraction and an exponent, a type with fractions takes finite
// numbers, which become float64 first and then float32, as numpy does with Python's numbers. Plain values; any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "config/text/dtype.h"
#include "daemon/base/result.h"

namespace spdld::text {

// A list has numbers (width 0), or rows of `width` numbers each. The first `numbers_max` numbers are written to
// `memory`, which the caller owns; the numbers behind them are read, checked and counted, and not kept.
struct NumberList {
  config::DType dtype;  // one of with_number_type()
  uint8_t* memory;      // of numbers_max elements
  uint64_t numbers_max;
  uint64_t width = 0;
  uint64_t count = 0;  // of the numbers that were read

  template <typename T>
  void add(T number) {
    if (count < numbers_max) std::memcpy(memory + count * sizeof number, &number, sizeof number);
    ++count;
  }

  uint64_t numbers_of_row() const { return width == 0 ? 1 : width; }
  uint64_t rows() const { return count / numbers_of_row(); }
  // The next number's place, counted from 0: "element [5]", or number 2 of row 1: "element [1][2]".
  std::string place() const { return row_place() + (width == 0 ? "" : "[" + std::to_string(count % width) + "]"); }
  std::string row_place() const { return "element [" + std::to_string(rows()) + "]"; }
};

// Calls `visit` with a zero of the number type that the dtype names.
template <typename Visit>
auto with_number_type(config::DType dtype, Visit&& visit) {
  switch (dtype) {
    case config::DType::kUint8:
      return visit(uint8_t{});
    case config::DType::kInt8:
      return visit(int8_t{});
    case config::DType::kUint16:
      return visit(uint16_t{});
    case config::DType::kInt16:
      return visit(int16_t{});
    case config::DType::kUint32:
      return visit(uint32_t{});
    case config::DType::kInt32:
      return visit(int32_t{});
    case config::DType::kUint64:
      return visit(uint64_t{});
    case config::DType::kInt64:
      return visit(int64_t{});
    case config::DType::kFloat32:
      return visit(float{});
    case config::DType::kFloat64:
      return visit(double{});
    default:
      throw std::logic_error("lists have no numbers of this type");
  }
}

// The number as the type has it; false: it is beyond the type's range.
template <typename T>
bool narrow(double from, T& to) {
  to = static_cast<T>(from);
  return std::isfinite(to);
}

}  // namespace spdld::text
