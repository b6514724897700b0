#include "daemon/media/ffmpeg/h264_start.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace spdld::ffmpeg {
namespace {

constexpr int kSlice = 1, kIdr = 5, kSei = 6;  // types of NAL units
constexpr int kSets[] = {7, 8, 13, 15};        // parameter sets, of sequences and of pictures
constexpr unsigned kRecoveryPoint = 6;         // type of an SEI message
constexpr size_t kUnitsMax = 64;  // that are looked at; a recovery point stands before the picture's slices

// The packet's units, one after another.
class Units {
 public:
  Units(std::span<const uint8_t> packet, size_t length_bytes) : rest_(packet), length_bytes_(length_bytes) {}

  // None: there is no further unit.
  std::optional<std::span<const uint8_t>> next() { return length_bytes_ == 0 ? by_start_code() : by_length(); }

 private:
  std::optional<std::span<const uint8_t>> by_length() {
    if (rest_.size() < length_bytes_) return std::nullopt;
    size_t length = 0;
    for (size_t i = 0; i < length_bytes_; ++i) length = length << 8 | rest_[i];
    rest_ = rest_.subspan(length_bytes_);
    const auto unit = rest_.first(std::min(length, rest_.size()));
    rest_ = rest_.subspan(unit.size());
    return unit;
  }

  static size_t start_code(std::span<const uint8_t> bytes) {
    for (size_t i = 0; i + 3 <= bytes.size(); ++i)
      if (bytes[i] == 0 && bytes[i + 1] == 0 && bytes[i + 2] == 1) return i;
    return bytes.size();
  }

  std::optional<std::span<const uint8_t>> by_start_code() {
    const size_t start = start_code(rest_);
    if (start == rest_.size()) return std::nullopt;
    rest_ = rest_.subspan(start + 3);
    const auto unit = rest_.first(start_code(rest_));
    rest_ = rest_.subspan(unit.size());
    return unit;
  }

  std::span<const uint8_t> rest_;
  const size_t length_bytes_;
};

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

// Calls `visit(type, unit)` for each unit that is not empty, in order, until it returns false.
template <typename Visit>
void visit_units(std::span<const uint8_t> packet, size_t length_bytes, Visit visit) {
  Units units(packet, length_bytes);
  for (size_t i = 0; i < kUnitsMax; ++i) {
    const auto unit = units.next();
    if (!unit) return;
    if (!unit->empty() && !visit((*unit)[0] & 31, *unit)) return;
  }
}

void append_unit(std::span<const uint8_t> unit, size_t length_bytes, std::vector<uint8_t>& to) {
  constexpr uint8_t kStartCode[] = {0, 0, 0, 1};
  if (length_bytes == 0) to.insert(to.end(), std::begin(kStartCode), std::end(kStartCode));
  for (size_t i = length_bytes; i > 0; --i) to.push_back(static_cast<uint8_t>(unit.size() >> 8 * (i - 1)));
  to.insert(to.end(), unit.begin(), unit.end());
}

}  // namespace

size_t h264_length_bytes(std::span<const uint8_t> header) {
  return header.size() > 4 && header[0] == 1 ? size_t{1} + (header[4] & 3) : 0;
}

bool is_h264_start(std::span<const uint8_t> packet, size_t length_bytes) {
  bool is_start = true;
  visit_units(packet, length_bytes, [&](int type, std::span<const uint8_t> unit) {
    is_start = type != kSei || !refreshes_bit_by_bit(unit.subspan(1));
    return is_start && type != kIdr;
  });
  return is_start;
}

H264Lead h264_lead(std::span<const uint8_t> packet, size_t length_bytes) {
  H264Lead lead;
  visit_units(packet, length_bytes, [&](int type, std::span<const uint8_t> unit) {
    const bool is_picture = type >= kSlice && type <= kIdr;
    if (is_picture) lead.is_idr = type == kIdr;
    if (std::find(std::begin(kSets), std::end(kSets), type) != std::end(kSets))
      append_unit(unit, length_bytes, lead.sets);
    return !is_picture;
  });
  return lead;
}

}  // namespace spdld::ffmpeg
