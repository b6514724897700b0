#include "config/signature.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace spdld::config {

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kBytes:
      return "bytes";
    case Kind::kImage:
      return "image";
    case Kind::kAudio:
      return "audio";
    case Kind::kInteger:
      return "integer";
    case Kind::kTensor:
      return "tensor";
  }
  return "";
}

bool Signature::is_fixed() const {
  return std::all_of(dimensions.begin(), dimensions.end(), [](const Dimension& size) { return size.is_fixed(); });
}

int64_t Dimension::value() const {
  if (!is_fixed_) throw std::logic_error("the dimension differs from sample to sample");
  return *most_;
}

std::vector<int64_t> Signature::shape() const {
  std::vector<int64_t> shape;
  for (const Dimension& size : dimensions) shape.push_back(size.value());
  return shape;
}

Signature bytes_of(Origin origin) { return {.kind = Kind::kBytes, .origin = origin, .dimensions = {}}; }

Signature integer() { return {.kind = Kind::kInteger, .dtype = DType::kInt64, .dimensions = {}}; }

Signature image(int channels, int bits) {
  return {.kind = Kind::kImage, .dimensions = {Dimension(), Dimension()}, .channels = channels, .bits = bits};
}

Signature audio(int channels, std::optional<int> rate_hz, Dimension samples) {
  return {.kind = Kind::kAudio, .dimensions = {samples}, .channels = channels, .rate_hz = rate_hz};
}

Signature resized(Signature picture, Dimension height, Dimension width, bool is_resampled) {
  picture.dimensions = {height, width};
  picture.is_resampled = is_resampled;
  picture.sizes.clear();
  return picture;
}

Signature tensor(DType dtype, std::vector<Dimension> dimensions, std::optional<Layout> layout) {
  return {.kind = Kind::kTensor, .dtype = dtype, .dimensions = std::move(dimensions), .layout = layout};
}

}  // namespace spdld::config
