// One sample's part of a tensor of a batch, read as numbers. It is valid while the batch is held; one thread.
#pragma once

#include <spdld.h>

#include <cstdint>
#include <span>
#include <spdld.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::cli {

class Values {
 public:
  // The part of sample number `sample` of the batch. Precondition: the batch holds more samples than that, and lies in
  // host memory.
  Values(const Batch& batch, const std::string& name, uint64_t sample);

  spdld_dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const;  // elements
  // Of a complex number, its real part. Precondition: each number of `place` lies below the shape's.
  double at(std::span<const int64_t> place) const;
  double at(std::initializer_list<int64_t> place) const { return at(std::span(place.begin(), place.size())); }
  // Element number `index`, the last dimension counted first.
  double element(int64_t index) const;
  // The values at this place of a dimension. Precondition: it has such a place.
  Values row(int64_t index, size_t dimension = 0) const;

  bool is_integer() const;
  // All elements as text, where they are bytes that make one.
  bool is_text() const;
  std::string text() const;
  // In words: "float32 [2, 3]: 0.5, 1, ...".
  std::string summary() const;

 private:
  spdld_dtype dtype_ = SPDLD_UINT8;
  std::vector<int64_t> shape_, strides_;
  const std::byte* address_ = nullptr;
};

}  // namespace spdld::cli
