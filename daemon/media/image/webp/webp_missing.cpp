// Stands in the place of the decoder in a build without libwebp.
#include "daemon/media/image/stored_codec.h"

namespace spdld::image {

std::unique_ptr<ImageDecoder> make_webp_decoder(const media::DecodeLimits&) {
  return make_missing_decoder("this spdld reads no WebP: build it with libwebp");
}

std::string webp_code() { return ""; }

}  // namespace spdld::image
