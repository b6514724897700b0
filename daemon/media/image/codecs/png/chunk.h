// The signature and one chunk of a PNG (third edition, 5). Pure; any thread.
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace spdld::image {

inline constexpr std::array<uint8_t, 8> kPngSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
inline constexpr size_t kFrameBytes = 12;  // of a chunk: its length, its type and its checksum

inline uint32_t number_at(std::span<const uint8_t> bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

struct PngChunk {
  std::span<const uint8_t> whole;

  std::string_view type() const { return {reinterpret_cast<const char*>(whole.data()) + 4, 4}; }
  std::span<const uint8_t> content() const { return whole.subspan(8, whole.size() - kFrameBytes); }
  bool is_critical() const { return (whole[4] & 0x20) == 0; }
  bool is_sound() const {
    const auto summed = whole.subspan(4, whole.size() - 8);
    return crc32_z(crc32_z(0, nullptr, 0), summed.data(), summed.size()) == number_at(whole, whole.size() - 4);
  }
};

// The chunk that `bytes` begin with; none: it is not all there.
inline std::optional<PngChunk> first_chunk(std::span<const uint8_t> bytes) {
  if (bytes.size() < kFrameBytes) return std::nullopt;
  const size_t length = number_at(bytes, 0);
  if (length > bytes.size() - kFrameBytes) return std::nullopt;
  return PngChunk{bytes.first(length + kFrameBytes)};
}

}  // namespace spdld::image
