#include "client/python/src/copied.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace spdld::python {

namespace {

constexpr size_t kAlignment = 128;

}  // namespace

Copied::Copied(const spdld_tensor& tensor) : name_(tensor.name), tensor_(tensor) {
  const size_t rank = std::min<size_t>(tensor.rank, kRankMax);
  const size_t element_bytes = spdld_dtype_bytes(tensor.dtype);
  std::copy_n(tensor.shape, rank, shape_.begin());
  int64_t elements = 1;
  for (size_t i = rank; i-- > 0;) {
    strides_[i] = elements;
    elements *= shape_[i];
  }
  const size_t bytes = static_cast<size_t>(elements) * element_bytes;
  bytes_.resize(bytes + kAlignment);
  void* start = bytes_.data();
  size_t room = bytes_.size();
  auto* const target = static_cast<std::byte*>(std::align(kAlignment, bytes, start, room));
  const auto* const source = static_cast<const std::byte*>(tensor.address);
  if (std::equal(strides_.begin(), strides_.begin() + rank, tensor.strides)) {
    if (bytes > 0) std::memcpy(target, source, bytes);
  } else {
    for (int64_t element = 0; element < elements; ++element) {
      int64_t offset = 0;
      for (size_t i = 0; i < rank; ++i) offset += element / strides_[i] % shape_[i] * tensor.strides[i];
      const auto from = static_cast<size_t>(offset) * element_bytes;
      std::memcpy(target + static_cast<size_t>(element) * element_bytes, source + from, element_bytes);
    }
  }
  tensor_.name = name_.c_str();
  tensor_.rank = static_cast<uint32_t>(rank);
  tensor_.shape = shape_.data();
  tensor_.strides = strides_.data();
  tensor_.address = target;
}

}  // namespace spdld::python
