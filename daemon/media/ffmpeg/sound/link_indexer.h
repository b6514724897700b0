// Finds the links of a sound, in a file or in a part of a file that could be a file by itself. For this room alone.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/base/byte_parts.h"
#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"
#include "daemon/media/ffmpeg/sound/audio_link.h"

namespace spdld::ffmpeg {

struct FoundLinks {
  std::vector<AudioLink> links;  // at least one
  double start_s = 0;            // as AudioIndex has it
  uint64_t foreign_bytes = 0;
  bool may_be_cut = false;           // the last packet may lack its end
  bool may_be_joined_flacs = false;  // the frames are not in the order of one FLAC file
};

// As index_audio(), of a file that is not searched for links of a chain.
Result<FoundLinks> find_links(const ByteParts& file, const media::DecodeLimits& limits, bool only_libavformat,
                              std::vector<ByteRange>* unread);

}  // namespace spdld::ffmpeg
