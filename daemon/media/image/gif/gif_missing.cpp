// Stands in the place of the decoder in a build without giflib.
#include "daemon/media/image/stored_codec.h"

namespace spdld::image {

std::unique_ptr<ImageDecoder> make_gif_decoder(const media::DecodeLimits&) {
  return make_missing_decoder("this spdld reads no GIF: build it with giflib");
}

std::string gif_code() { return ""; }

}  // namespace spdld::image
