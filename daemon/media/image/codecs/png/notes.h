// The orientation that the chunks beside a PNG's pixels tell, as Pillow reads them. One thread.
#pragma once

#include <optional>

#include "daemon/media/image/codecs/png/chunk.h"

namespace spdld::image {

// EXIF lies in an eXIf chunk, or as hexadecimal digits in a text "Raw profile type exif" (ImageMagick's, of before
// there was eXIf). XMP is a text. Of several chunks that hold the same the last one counts.
class PngNotes {
 public:
  // Looks at a chunk, whose bytes must stay valid.
  void take(const PngChunk& chunk);
  // 1 to 8; 1 where nothing tells it, or where what tells it is damaged.
  int orientation() const;

 private:
  std::optional<PngChunk> exif_, profile_, xmp_;
};

}  // namespace spdld::image
