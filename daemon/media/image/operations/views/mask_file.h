// Masks that lie in PNG files beside their pictures. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/geometry/view.h"
#include "daemon/media/sample_memory.h"

namespace spdld::image {

// The objects that a decode thread keeps for masks.
struct MaskWork {
  explicit MaskWork(const media::DecodeLimits& limits) : decoder(make_png_decoder(limits)), memory(limits.memory) {}
  void shrink(size_t bytes_max) {
    rows.memory.shrink(bytes_max);
    values.shrink(bytes_max);
  }

  std::unique_ptr<ImageDecoder> decoder;
  media::MemoryPart memory;  // of `values`
  PixelRows rows;
  ByteBuffer values;  // of a mask in colours
  NearestMap map;     // from the tensor to the mask
};

// Decodes the stored values of the mask in 8 or 16 bits, or its RGB (`pixels`), all of them into work.rows, and makes
// the map of a tensor of this size. kContent: the content is no mask of the view's picture. kInternal: the view shows
// another size.
Status read_mask(std::span<const uint8_t> content, const Pixels& pixels, const Size& size, const media::Call& call,
                 MaskWork& work);

}  // namespace spdld::image
