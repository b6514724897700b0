#include "daemon/media/image/programs/picture_work.h"

namespace spdld::image {

void PictureWork::shrink(size_t bytes_max) {
  decodings.shrink(bytes_max);
  frame.memory.shrink(bytes_max);
}

}  // namespace spdld::image
