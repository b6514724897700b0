#include "daemon/media/ffmpeg/packets/parameter_sets.h"

#include <algorithm>
#include <iterator>

#include "daemon/media/ffmpeg/packets/nal_units.h"

namespace spdld::ffmpeg {
namespace {

// By the types of NAL units (ITU-T H.264, 7.4.1; ITU-T H.265, 7.4.2.2), or by start codes (ISO/IEC 13818-2, 6.2.1).
bool is_picture(UnitCodec codec, uint8_t head) {
  switch (codec) {
    case UnitCodec::kHevc:
      return (head >> 1 & 63) < 32;
    case UnitCodec::kMpeg:
      return head < 0xB0;
    case UnitCodec::kH264:
      break;
  }
  return (head & 31) >= 1 && (head & 31) <= 5;
}

bool is_set(UnitCodec codec, uint8_t head) {
  constexpr int kSets[] = {7, 8, 13, 15};
  switch (codec) {
    case UnitCodec::kHevc:
      return (head >> 1 & 63) >= 32 && (head >> 1 & 63) <= 34;
    case UnitCodec::kMpeg:
      return head == 0xB3 || head == 0xB5;
    case UnitCodec::kH264:
      break;
  }
  return std::find(std::begin(kSets), std::end(kSets), head & 31) != std::end(kSets);
}

void append_unit(std::span<const uint8_t> unit, size_t length_bytes, std::vector<uint8_t>& to) {
  constexpr uint8_t kStartCode[] = {0, 0, 0, 1};
  if (length_bytes == 0) to.insert(to.end(), std::begin(kStartCode), std::end(kStartCode));
  for (size_t i = length_bytes; i > 0; --i) to.push_back(static_cast<uint8_t>(unit.size() >> 8 * (i - 1)));
  to.insert(to.end(), unit.begin(), unit.end());
}

}  // namespace

size_t unit_length_bytes(UnitCodec codec, std::span<const uint8_t> header) {
  if (codec == UnitCodec::kMpeg) return 0;
  const size_t at = codec == UnitCodec::kHevc ? 21 : 4;
  return header.size() > at && header[0] == 1 ? size_t{1} + (header[at] & 3) : 0;
}

std::vector<uint8_t> parameter_sets(UnitCodec codec, std::span<const uint8_t> packet, size_t length_bytes) {
  std::vector<uint8_t> sets;
  visit_units(packet, length_bytes, [&](std::span<const uint8_t> unit) {
    if (is_set(codec, unit[0])) append_unit(unit, length_bytes, sets);
    return !is_picture(codec, unit[0]);
  });
  return sets;
}

}  // namespace spdld::ffmpeg
