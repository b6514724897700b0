// The objects that a decode thread keeps for pictures: the decoder, the decoded pictures of its sample, and memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/programs/decodings.h"
#include "daemon/media/image/programs/image_program.h"
#include "daemon/media/node.h"

namespace spdld::image {

struct PictureWork {
  explicit PictureWork(const media::DecodeLimits& limits)
      : decoder(make_image_decoder(limits)), planes_memory(limits.memory), scratch_memory(limits.memory) {}
  void shrink(size_t bytes_max);

  std::unique_ptr<ImageDecoder> decoder;
  std::optional<Wanted> opened;  // by the decoder
  Decodings decodings;
  PixelRows frame;                  // of several
  std::vector<int> frames, listed;  // to give, and to decode: each of them once
  Size picture;                     // the size of the picture that `geometry` belongs to
  Geometry geometry;
  Scratch scratch;
  media::MemoryPart planes_memory, scratch_memory;
};

}  // namespace spdld::image
