#include "config/picture_size.h"

#include <algorithm>
#include <charconv>

namespace spdld::config {

std::optional<PictureSize> size_in(std::string_view text) {
  PictureSize size;
  const char* const end = text.data() + text.size();
  const auto height = std::from_chars(text.data(), end, size.height);
  if (height.ec != std::errc() || height.ptr == end || *height.ptr != 'x') return {};
  const auto width = std::from_chars(height.ptr + 1, end, size.width);
  if (width.ec != std::errc() || width.ptr != end || size.height < 1 || size.width < 1) return {};
  return size;
}

PictureSize picture_size(const OperationSpec& spec) {
  const auto& numbers = spec.numbers("size");
  return {static_cast<int64_t>(numbers.front()), static_cast<int64_t>(numbers.back())};
}

bool has_one_number(const OperationSpec& spec) { return spec.numbers("size").size() == 1; }

PicturePadding picture_padding(const OperationSpec& spec) {
  const auto& numbers = spec.numbers("padding");
  const size_t last = numbers.size() - 1;
  const auto number = [&](size_t i) { return static_cast<int64_t>(numbers[i]); };
  return {number(0), number(last > 0 ? 1 : 0), number(last == 3 ? 2 : 0), number(last)};
}

PictureSize shorter_side_size(const PictureSize& picture, int64_t shorter) {
  const auto longer = [shorter](int64_t long_side, int64_t short_side) {
    const auto exact = static_cast<int64_t>(static_cast<double>(shorter * long_side) / static_cast<double>(short_side));
    return std::min(exact, std::max(kLongestSideMax, shorter));
  };
  if (picture.width <= picture.height) return {longer(picture.height, picture.width), shorter};
  return {shorter, longer(picture.width, picture.height)};
}

namespace {

// The picture's size with another length of its longer side: the shorter one follows, rounded down.
PictureSize longer_side_size(const PictureSize& picture, int64_t longer) {
  const auto shorter = [longer](int64_t short_side, int64_t long_side) {
    return std::max<int64_t>(longer * short_side / long_side, 1);
  };
  if (picture.width <= picture.height) return {longer, shorter(picture.width, picture.height)};
  return {shorter(picture.height, picture.width), longer};
}

}  // namespace

ResizeRule::ResizeRule(const OperationSpec& resize) : size_(picture_size(resize)), is_exact_(!has_one_number(resize)) {
  if (resize.parameters.contains("side")) is_longer_ = resize.text("side") == "longer";
  if (resize.parameters.contains("max_size")) longest_ = resize.integer("max_size");
}

PictureSize ResizeRule::size_for(const PictureSize& picture) const {
  if (is_exact_) return size_;
  if (is_longer_) return longer_side_size(picture, size_.width);
  const PictureSize size = shorter_side_size(picture, size_.width);
  const bool is_too_long = longest_ > 0 && std::max(size.width, size.height) > longest_;
  return is_too_long ? longer_side_size(size, longest_) : size;
}

}  // namespace spdld::config
