// Bytes in base64 (RFC 4648, sections 4 and 5): with the one alphabet or the other, with or without "=" at the end.
// Blanks and ends of lines between the letters mean nothing. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace spdld {

// The most bytes that `letters` letters may stand for.
constexpr uint64_t base64_bytes_max(uint64_t letters) { return letters / 4 * 3 + 3; }

// Writes the bytes, and returns how many there are. `to` may be the text itself. None: the text is no base64.
std::optional<uint64_t> read_base64(std::span<const uint8_t> text, uint8_t* to);

// With the alphabet of section 4, "=" at the end, and nothing between the letters.
std::string written_base64(std::span<const uint8_t> bytes);

}  // namespace spdld
