// The parameter sets that packets of H.264 and HEVC have in front of their pictures, and the sequence headers of MPEG-1
// and MPEG-2. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spdld::ffmpeg {

enum class UnitCodec : uint8_t { kH264, kHevc, kMpeg };

// The bytes of a NAL unit's length in front of it, by the stream's header ("avcC", ISO/IEC 14496-15, 5.3.3.1, or
// "hvcC", 8.3.3.1); 0: units begin with start codes (annex B of ITU-T H.264 and H.265; ISO/IEC 13818-2, 6.2.1).
size_t unit_length_bytes(UnitCodec codec, std::span<const uint8_t> header);

// As units of the stream; empty: the packet has none.
std::vector<uint8_t> parameter_sets(UnitCodec codec, std::span<const uint8_t> packet, size_t length_bytes);

}  // namespace spdld::ffmpeg
