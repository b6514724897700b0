// The sizes of the pictures of batches where each batch has pictures of one size out of several (`aspect-bucket`), and
// the rule that sorts pictures by them. Plain values and pure functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/picture_size.h"
#include "config/spec.h"

namespace spdld::config {

inline constexpr size_t kBucketSizesMax = 64;
// The name of the operation that sorts pictures so, for sentences.
std::string_view bucketing_operation();

// The sizes that a text such as "512x512,448x576" names, heights before widths; none: it names something else.
std::vector<PictureSize> sizes_in(const std::string& text);

// The number of the size whose proportions are closest to the picture's; the first of several. A picture that has one
// of the sizes has the number of that.
size_t closest_size(const PictureSize& picture, std::span<const PictureSize> sizes);

struct BatchShapes {
  std::string from;        // the field that is sorted by
  bool is_upright = true;  // as the picture's EXIF orientation turns it
  std::vector<PictureSize> sizes;
};
// None: batches have one shape. Precondition: the outputs are checked, so that all of them agree.
std::optional<BatchShapes> batch_shapes_of(std::span<const OutputSpec> outputs);

}  // namespace spdld::config
