#include "config/picture_size.h"

#include <algorithm>

namespace spdld::config {

PictureSize picture_size(const OperationSpec& spec) {
  const auto& numbers = spec.numbers("size");
  return {static_cast<int64_t>(numbers.front()), static_cast<int64_t>(numbers.back())};
}

bool has_one_number(const OperationSpec& spec) { return spec.numbers("size").size() == 1; }

PictureSize shorter_side_size(const PictureSize& picture, int64_t shorter) {
  const auto longer = [shorter](int64_t long_side, int64_t short_side) {
    const auto exact = static_cast<int64_t>(static_cast<double>(shorter * long_side) / static_cast<double>(short_side));
    return std::min(exact, std::max(kLongestSideMax, shorter));
  };
  if (picture.width <= picture.height) return {longer(picture.height, picture.width), shorter};
  return {shorter, longer(picture.width, picture.height)};
}

}  // namespace spdld::config
