// Where the sounds of a file lie that stand one behind the other, each as if it were a file. Pure functions; any
// thread. For this room alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/base/byte_parts.h"

namespace spdld::ffmpeg {

// The chained links of an Ogg file (RFC 3533, 4). Empty: the file has one, or is no Ogg file.
std::vector<ByteRange> ogg_links(std::span<const uint8_t> file);
// FLAC files that were joined, without the tags before them. Empty: it is one file, or none of FLAC.
std::vector<ByteRange> joined_flacs(std::span<const uint8_t> file);

}  // namespace spdld::ffmpeg
