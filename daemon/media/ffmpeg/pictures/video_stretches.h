// The packets that are decoded for chosen frames: stretches that each begin where decoding can start. Pure functions of
// the index and of the packets' bytes; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/base/byte_parts.h"
#include "daemon/media/ffmpeg/packets/parameter_sets.h"
#include "daemon/media/ffmpeg/pictures/video_index.h"

namespace spdld::ffmpeg {

class VideoStretches {
 public:
  // Both are borrowed.
  VideoStretches(const VideoIndex& index, const ByteParts& file);

  struct Stretch {
    uint32_t first = 0, end = 0;  // packets
  };
  // The stretch that gives wanted[given], and the further wanted frames up to the next frame whose own start lies
  // behind the stretch, or counts by a header that a packet of the stretch brings. `earlier`: by how many key
  // frames it begins earlier than is necessary. `wanted` rises.
  Stretch stretch_of(std::span<const uint32_t> wanted, size_t given, uint32_t earlier) const;

  // The parameter sets of H.264 or HEVC, or the sequence header of MPEG-2, that a decoder is given in front of a
  // stretch's first packet, since packets before the stretch brought them. Where the first packet of a file has sets,
  // the container's header does not speak for all of its pictures; a header that a packet brings takes their place.
  // None: the file's parts lack a packet that may have sets.
  std::optional<std::vector<uint8_t>> sets_before(uint32_t packet) const;

  // Whether the packet has parameter sets in front of its picture.
  bool has_sets(uint32_t packet) const { return !own_sets(packet).empty(); }

  // The parts of the file that the stretches for these frames have. Whether decoding can start at a packet of H.264 is
  // told by the packet: where the file's parts lack one, decoding is taken to start there, and a later call with more
  // parts may tell of more.
  std::vector<ByteRange> ranges_of(std::span<const uint32_t> wanted) const;

  // The packet at which a decoder starts for this frame, by the packets' bytes, too (see VideoIndex::start_of).
  uint32_t start_of(uint32_t frame) const;

 private:
  uint32_t key_before(uint32_t packet) const;
  // Of the header that counts at the packet.
  size_t length_bytes(uint32_t packet) const;
  uint32_t header_begin(uint32_t packet) const { return index_.changes.begin_of(kHeader, packet); }
  std::vector<uint8_t> own_sets(uint32_t packet) const;
  bool needs_sets(uint32_t packet) const;
  bool is_changed(uint32_t first, uint32_t start) const;
  bool is_start(uint32_t packet) const;
  static constexpr auto kHeader = ChangeKind::kHeader;
  const VideoIndex& index_;
  const ByteParts& file_;
  const std::optional<UnitCodec> codec_;
};

}  // namespace spdld::ffmpeg
