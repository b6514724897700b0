// The frames of a native FLAC file (RFC 9639), found by their headers alone. libavformat finds the same frames, but
// takes several times as long. Pure function; any thread. For this room alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/media/cpu_budget.h"

namespace spdld::ffmpeg {

struct FlacFrame {
  uint64_t offset = 0;  // in the file
  uint32_t bytes = 0;
  uint32_t samples = 0;  // of each channel

  friend bool operator==(const FlacFrame&, const FlacFrame&) = default;
};

// As the file's STREAMINFO has it.
struct FlacStream {
  int rate_hz = 0, channels = 0, sample_bits = 0;
};

// The frames that lie one behind the other from `start` up to the file's end. None: some bytes look like a header and
// do not continue the frames before them, a frame's CRC is wrong, or the CPU time is used up. libavcodec's parser
// weighs such headers against one another, and it alone says which frames it makes of them.
std::optional<std::vector<FlacFrame>> find_flac_frames(std::span<const uint8_t> file, uint64_t start,
                                                       const FlacStream& stream, const media::CpuBudget& budget);

// Whether the CRC at the frame's end is right.
bool is_intact_flac(std::span<const uint8_t> frame);

}  // namespace spdld::ffmpeg
