// The NAL units of a packet of H.264 or HEVC, and what stands behind the start codes of MPEG-1 and MPEG-2. Any thread,
// objects by one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace spdld::ffmpeg {

// One after another.
class NalUnits {
 public:
  // `length_bytes`: of a unit's length in front of it (ISO/IEC 14496-15, 5.3.3.1); 0: units begin with start codes
  // (ITU-T H.264 and H.265, annex B).
  NalUnits(std::span<const uint8_t> packet, size_t length_bytes) : rest_(packet), length_bytes_(length_bytes) {}

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

// Calls `visit(unit)` for each unit that is not empty, in order, until it returns false. Parameter sets and messages
// stand before a picture's slices, so that the first units are enough.
template <typename Visit>
void visit_units(std::span<const uint8_t> packet, size_t length_bytes, Visit visit) {
  constexpr size_t kUnitsMax = 64;
  NalUnits units(packet, length_bytes);
  for (size_t i = 0; i < kUnitsMax; ++i) {
    const auto unit = units.next();
    if (!unit) return;
    if (!unit->empty() && !visit(*unit)) return;
  }
}

}  // namespace spdld::ffmpeg
