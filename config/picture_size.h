// Sizes of pictures in a pipeline's file: `size` as it is written, one number or [height, width], the size that follows
// from a shorter side, and `padding`. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/spec.h"

namespace spdld::config {

struct PictureSize {
  int64_t height = 0, width = 0;
  friend bool operator==(const PictureSize&, const PictureSize&) = default;
};
// Of a text such as "448x576", the height before the width, neither less than 1; none: it is something else.
std::optional<PictureSize> size_in(std::string_view text);

// One number stands for both sides. Precondition: the operation has a `size`.
PictureSize picture_size(const OperationSpec& spec);
// `size` is one number.
bool has_one_number(const OperationSpec& spec);

// The border that `padding` of an operation asks for, in pixels: one number is for all sides, two are for [left and
// right, top and bottom], and four for [left, top, right, bottom].
struct PicturePadding {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
};
PicturePadding picture_padding(const OperationSpec& spec);

// torchvision's size of a picture whose shorter side becomes `shorter`; but no side becomes longer than
// kLongestSideMax, so that a picture one pixel wide does not become a tower of gigabytes.
inline constexpr int64_t kLongestSideMax = 65'500;  // the longest side a JPEG decoder takes
PictureSize shorter_side_size(const PictureSize& picture, int64_t shorter);

// How `resize` makes a size of a picture's own size.
class ResizeRule {
 public:
  // Of `size`, `side` and `max_size`. Parameters that have their default need not be there.
  explicit ResizeRule(const OperationSpec& resize);

  bool is_exact() const { return is_exact_; }  // the size is the same for all pictures
  // Neither side is less than 1.
  PictureSize size_for(const PictureSize& picture) const;

 private:
  PictureSize size_;
  bool is_exact_;
  bool is_longer_ = false;  // the longer side gets the size, not the shorter one
  int64_t longest_ = 0;     // the most that the longer side may get; 0: unbounded
};

}  // namespace spdld::config
