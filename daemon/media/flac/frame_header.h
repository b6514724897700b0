// The header of a FLAC frame (RFC 9639, 9.1). Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace spdld::flac {

// A header has at most 4 bytes of fields, 7 of the coded number, 2 of the block's size, 2 of the rate and one of CRC-8.
// One byte of the first subframe follows.
inline constexpr size_t kHeaderBytesMax = 16, kWindowBytes = kHeaderBytesMax + 1;
using HeaderWindow = std::array<uint8_t, kWindowBytes>;
inline constexpr size_t kNumberBytesMax = 6;  // libavcodec reads no number of 7 bytes

// The content of a frame's header. Codes stay as they are written, since a stream's frames have the same ones.
struct FrameHeader {
  bool is_variable = false;
  unsigned rate_code = 0, rate = 0, assignment = 0, size_code = 0;
  size_t number_bytes = 0, bytes = 0;
  uint64_t number = 0;
  uint32_t samples = 0;  // of each channel
  uint8_t subframe = 0;

  int channels() const { return assignment < 8 ? static_cast<int>(assignment) + 1 : 2; }
  // RFC 9639, 9.1.2; 0: STREAMINFO alone tells it.
  int rate_hz() const;
  // RFC 9639, 9.1.4; 0: STREAMINFO alone tells it; -1: the code is reserved, or means 32 bits.
  int sample_bits() const;
};

// Whether the two bytes are the code that a frame begins with.
inline bool begins_frame(uint8_t first, uint8_t second) { return first == 0xFF && (second & 0xFE) == 0xF8; }

// None: no header stands behind the code at the window's start. Each header that libavcodec takes for one is told here,
// and maybe more.
std::optional<FrameHeader> read_header(const HeaderWindow& window);

}  // namespace spdld::flac
