#include "daemon/media/ffmpeg/packets/h264_start.h"

#include <optional>

#include "daemon/media/ffmpeg/packets/nal_units.h"

namespace spdld::ffmpeg {
namespace {

constexpr int kIdr = 5, kSei = 6;       // types of NAL units
constexpr unsigned kRecoveryPoint = 6;  // type of an SEI message

// A number in which SEI messages tell their type and their size: each 255 stands for 255 more (7.3.2.3.1).
std::optional<unsigned> take_number(std::span<const uint8_t>& bytes) {
  unsigned number = 0;
  while (!bytes.empty()) {
    const uint8_t byte = bytes[0];
    bytes = bytes.subspan(1);
    number += byte;
    if (byte != 255) return number;
  }
  return std::nullopt;
}

// Whether the unit of SEI has a recovery point whose first number, recovery_frame_cnt, is not 0: ue(v) codes 0 as one
// bit of 1 (9.1).
bool refreshes_bit_by_bit(std::span<const uint8_t> messages) {
  while (messages.size() > 2) {
    const auto type = take_number(messages);
    const auto size = take_number(messages);
    if (!type || !size || *size > messages.size()) return false;
    if (*type == kRecoveryPoint && *size > 0) return (messages[0] & 0x80) == 0;
    messages = messages.subspan(*size);
  }
  return false;
}

}  // namespace

bool is_h264_start(std::span<const uint8_t> packet, size_t length_bytes) {
  bool is_start = true;
  visit_units(packet, length_bytes, [&](std::span<const uint8_t> unit) {
    const int type = unit[0] & 31;
    is_start = type != kSei || !refreshes_bit_by_bit(unit.subspan(1));
    return is_start && type != kIdr;
  });
  return is_start;
}

}  // namespace spdld::ffmpeg
