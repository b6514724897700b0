// Decodes boxes of PNGs beside the pixels that they must have.
#pragma once

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"

namespace spdld::test {

// Whether `rows` cover the box, with the pixels of the whole upright picture.
inline bool shows_box(const PixelRows& rows, const Box& box, const std::vector<uint8_t>& rgb, const Size& picture) {
  const Box& covers = rows.covers;
  if (covers.x > box.x || covers.y > box.y || covers.x + covers.width < box.x + box.width ||
      covers.y + covers.height < box.y + box.height || !(rows.picture == picture)) {
    return false;
  }
  for (int y = box.y; y < box.y + box.height; ++y) {
    const uint8_t* wanted = rgb.data() + 3 * (static_cast<ptrdiff_t>(y) * picture.width + box.x);
    const uint8_t* row = rows.row(y) + 3 * static_cast<ptrdiff_t>(box.x - covers.x);
    if (std::memcmp(row, wanted, 3 * static_cast<size_t>(box.width)) != 0) return false;
  }
  return true;
}

inline Box draw_box(const Size& picture, std::mt19937& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  Box box{0, 0, 1 + below(picture.width), 1 + below(picture.height)};
  box.x = below(picture.width - box.width + 1);
  box.y = below(picture.height - box.height + 1);
  return box;
}

// The sentence that refuses the picture, at open() or for the box; none: it is decoded. Errors must be kContent.
inline std::optional<std::string> refused(image::ImageDecoder& decoder, const std::vector<uint8_t>& bytes,
                                          const std::optional<Box>& wanted = {}, bool strict = false) {
  const auto size = decoder.open(bytes, true, strict);
  const auto sentence_of = [](const Error& error) {
    return error.trouble == Trouble::kContent ? error.message : "not kContent: " + error.message;
  };
  if (!size) return sentence_of(size.error());
  PixelRows rows;
  const Status decoded = decoder.decode(wanted.value_or(Box{0, 0, size->width, size->height}), rows);
  if (!decoded) return sentence_of(decoded.error());
  return std::nullopt;
}

}  // namespace spdld::test
