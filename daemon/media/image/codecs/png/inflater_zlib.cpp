#include <zlib.h>

#include "daemon/media/image/codecs/png/inflater.h"

namespace spdld::image {

struct Inflater::Inside {};

Inflater::Inflater() = default;
Inflater::~Inflater() = default;

bool Inflater::run(std::span<const uint8_t> coded, std::span<uint8_t> out) {
  uLongf made = out.size();
  uLong taken = coded.size();
  return uncompress2(out.data(), &made, coded.data(), &taken) == Z_OK && made == out.size() && taken == coded.size();
}

}  // namespace spdld::image
