#include "config/batch_shapes.h"

#include <cmath>
#include <limits>

#include "config/operation.h"

namespace spdld::config {

std::string_view bucketing_operation() {
  const auto sorts = [](const OperationType& type) { return type.picture().view_part == ViewPart::kBuckets; };
  return first_operation(sorts).name;
}

std::vector<PictureSize> sizes_in(const std::string& text) {
  std::vector<PictureSize> sizes;
  for (const std::string& name : names_in(text)) {
    const std::optional<PictureSize> size = size_in(name);
    if (!size) return {};
    sizes.push_back(*size);
  }
  return sizes;
}

size_t closest_size(const PictureSize& picture, std::span<const PictureSize> sizes) {
  const auto proportions = [](const PictureSize& size) {
    return static_cast<double>(size.width) / static_cast<double>(size.height);
  };
  size_t closest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == picture) return i;
    const double apart = std::abs(proportions(sizes[i]) - proportions(picture));
    if (apart < least) {
      closest = i;
      least = apart;
    }
  }
  return closest;
}

std::optional<BatchShapes> batch_shapes_of(std::span<const OutputSpec> outputs) {
  for (const OutputSpec& output : outputs)
    for (const OperationSpec& op : output.ops)
      if (find_operation(op.op)->picture().view_part == ViewPart::kBuckets)
        return BatchShapes{output.from, output.ops.front().flag("exif"), sizes_in(op.text("sizes"))};
  return {};
}

}  // namespace spdld::config
