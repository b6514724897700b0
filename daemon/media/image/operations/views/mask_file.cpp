#include "daemon/media/image/operations/views/mask_file.h"

#include <string>

#include "daemon/media/image/codecs/sniff.h"

namespace spdld::image {
namespace {

std::string text_of(const Size& size) { return std::to_string(size.width) + " x " + std::to_string(size.height); }

}  // namespace

Status read_mask(std::span<const uint8_t> content, const Pixels& pixels, const Size& size, const media::Call& call,
                 MaskWork& work) {
  View* const view = followed(call);
  if (view == nullptr || view->end() != size)
    return Error{Trouble::kInternal, "the geometry of sample " + std::to_string(call.sample) + " is not its view's"};
  if (!begins_like_png(content)) return Error{Trouble::kContent, "a mask must be a PNG, and this content is none"};
  const Result<Size> found = work.decoder->open(content, false, true, pixels);
  if (!found) return found.error();
  if (*found != view->picture)
    return Error{Trouble::kContent, "the mask has " + text_of(*found) + " pixels, and its picture has " +
                                        text_of(view->picture) + ": both must have the same size"};
  const Box whole{0, 0, found->width, found->height};
  if (const Status decoded = work.decoder->decode(whole, work.rows); !decoded) return decoded;
  nearest(*view, work.map);
  return Done{};
}

}  // namespace spdld::image
