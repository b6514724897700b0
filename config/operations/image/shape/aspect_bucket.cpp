#include <algorithm>

#include "config/batch_shapes.h"
#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

Parameter sizes() {
  return {.name = "sizes",
          .type = ParameterType::kNames,
          .help = "the sizes, \"HEIGHTxWIDTH\", such as [\"512x512\", \"448x576\", \"576x448\"]; at most 64",
          .fallback = Value(std::string())};
}

void check_bucket(OperationSpec& spec, const Complain& complain) {
  check_filter(spec, complain);
  check_draw(spec, complain);
  const std::vector<PictureSize> all = sizes_in(spec.text("sizes"));
  if (all.empty() || all.size() > kBucketSizesMax)
    return complain("sizes", "must be 1 to " + std::to_string(kBucketSizesMax) +
                                 " sizes such as \"448x576\", which is 448 pixels high and 576 wide");
  for (size_t i = 0; i < all.size(); ++i) {
    const auto in_bounds = [](int64_t side) { return side <= static_cast<int64_t>(kSideMax); };
    if (!in_bounds(all[i].height) || !in_bounds(all[i].width))
      return complain("sizes", "must have sides of at most 16384 pixels");
    if (std::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), all[i]) !=
        all.begin() + static_cast<std::ptrdiff_t>(i))
      return complain("sizes", "has a size twice: a bucket has a size of its own");
  }
}

std::string bind_bucket(const OperationSpec& spec, Signature& signature) {
  std::vector<PictureSize> all = sizes_in(spec.text("sizes"));
  if (all.empty()) all.emplace_back(PictureSize{1, 1});  // in the place of a wrong text
  int64_t height = 0, width = 0;
  for (const PictureSize& size : all) {
    height = std::max(height, size.height);
    width = std::max(width, size.width);
  }
  signature = resized(signature, Dimension::bounded(height), Dimension::bounded(width), true);
  for (const PictureSize& size : all) signature.picture().sizes.push_back({size.height, size.width});
  return "";
}

}  // namespace

OperationType aspect_bucket() {
  return {
      .name = "aspect-bucket",
      .takes = SignatureKind::kImage,
      .gives = SignatureKind::kImage,
      .help =
          "Each batch has pictures of one of several sizes: resize a picture so that it covers its batch's size, "
          "and cut that out. Samples are sorted into buckets by the size with the closest proportions.",
      .parameters = {sizes(),
                     choice("crop", "where the size is cut out of the resized picture", {"center", "random"}, "center"),
                     antialias(), filter(), draw()},
      .bind = bind_bucket,
      .check = check_bucket,
      .medium = PictureTraits{.view_part = ViewPart::kBuckets}};
}

}  // namespace spdld::config::ops
