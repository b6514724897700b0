#include "config/signature.h"

#include <algorithm>
#include <utility>

namespace spdld::config {

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kBytes:
      return "bytes";
    case Kind::kImage:
      return "image";
    case Kind::kInteger:
      return "integer";
    case Kind::kTensor:
      return "tensor";
  }
  return "";
}

bool Signature::is_fixed() const {
  return std::all_of(dimensions.begin(), dimensions.end(), [](const Dimension& size) { return size.has_value(); });
}

std::vector<int64_t> Signature::shape() const {
  std::vector<int64_t> shape;
  for (const Dimension& size : dimensions) shape.push_back(size.value());
  return shape;
}

Signature bytes_of(Origin origin) { return {.kind = Kind::kBytes, .origin = origin, .dimensions = {}}; }

Signature integer() { return {.kind = Kind::kInteger, .dtype = DType::kInt64, .dimensions = {}}; }

Signature image(Dimension height, Dimension width, bool is_resampled) {
  return {.kind = Kind::kImage, .dimensions = {height, width}, .is_resampled = is_resampled};
}

Signature tensor(DType dtype, std::vector<Dimension> dimensions) {
  return {.kind = Kind::kTensor, .dtype = dtype, .dimensions = std::move(dimensions)};
}

}  // namespace spdld::config
