#include "daemon/media/measure.h"

#include "daemon/media/image/codecs/picture_head.h"
#include "daemon/media/image/picture_node.h"

namespace spdld::media {
namespace {

PictureSides sides_of(const Size& size) {
  return {static_cast<uint32_t>(size.height), static_cast<uint32_t>(size.width)};
}

}  // namespace

// An orientation may stand at the very end of a PNG, so that its head is never enough.
std::optional<PictureSides> sides_in_head(std::span<const uint8_t> head, bool upright) {
  const std::optional<Size> size = image::jpeg_size_in_head(head, upright);
  return size ? std::optional(sides_of(*size)) : std::nullopt;
}

Result<PictureSides> measure_picture(std::span<const uint8_t> picture, bool upright, Workspace& workspace) {
  const Result<Size> size = workspace.of<image::PictureWork>().decoder->open(picture, upright);
  if (!size) return size.error();
  return sides_of(*size);
}

}  // namespace spdld::media
