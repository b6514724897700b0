// Stands in the place of the decoder in a build without libtiff.
#include "daemon/media/image/stored_codec.h"

namespace spdld::image {

std::unique_ptr<ImageDecoder> make_tiff_decoder(const media::DecodeLimits&) {
  return make_missing_decoder("this spdld reads no TIFF: build it with libtiff");
}

std::string tiff_code() { return ""; }

}  // namespace spdld::image
