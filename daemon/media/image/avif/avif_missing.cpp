// Stands in the place of the decoder in a build without libavif.
#include "daemon/media/image/stored_codec.h"

namespace spdld::image {

std::unique_ptr<ImageDecoder> make_avif_decoder(const media::DecodeLimits&) {
  return make_missing_decoder("this spdld reads no AVIF: build it with libavif");
}

std::string avif_code() { return ""; }

}  // namespace spdld::image
