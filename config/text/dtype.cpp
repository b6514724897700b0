#include "config/text/dtype.h"

#include <array>
#include <stdexcept>
#include <string>

namespace spdld::config {
namespace {

struct DTypeEntry {
  std::string_view name;
  size_t bytes;
};

// By the type's number.
constexpr std::array<DTypeEntry, kDTypeCount> kDTypes = {{{"uint8", 1},
                                                          {"int32", 4},
                                                          {"int64", 8},
                                                          {"float16", 2},
                                                          {"bfloat16", 2},
                                                          {"float32", 4},
                                                          {"float64", 8},
                                                          {"bool", 1},
                                                          {"int8", 1},
                                                          {"int16", 2},
                                                          {"uint16", 2},
                                                          {"uint32", 4},
                                                          {"uint64", 8},
                                                          {"complex64", 8},
                                                          {"complex128", 16}}};

const DTypeEntry& dtype_entry(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  if (number < kDTypes.size()) return kDTypes[number];
  throw std::logic_error("not a dtype: " + std::to_string(number));
}

}  // namespace

size_t dtype_bytes(DType dtype) { return dtype_entry(dtype).bytes; }
std::string_view dtype_name(DType dtype) { return dtype_entry(dtype).name; }

DType dtype_named(std::string_view name) {
  for (size_t number = 0; number < kDTypes.size(); number++) {
    if (kDTypes[number].name == name) return static_cast<DType>(number);
  }
  throw std::logic_error("no dtype is called " + std::string(name));
}

}  // namespace spdld::config
