// The boxes at the top of an MP4 or MOV file (ISO/IEC 14496-12, 4.2). A file whose frames are all told by one box is
// read there, and its frames need not be read for an index. Pure function; any thread. For this room alone.
#pragma once

#include <vector>

#include "daemon/base/byte_parts.h"

namespace spdld::ffmpeg {

struct MovieBoxes {
  // Some part of the file is told by boxes that lie among the frames ("moof"), or this is no such file: its frames are
  // found by reading all of it.
  bool needs_whole = false;
  // The parts that tell of the frames and have not been read. More may follow once these are there; empty: all are
  // there.
  std::vector<ByteRange> unread;
};
MovieBoxes find_movie_boxes(const ByteParts& file);

}  // namespace spdld::ffmpeg
