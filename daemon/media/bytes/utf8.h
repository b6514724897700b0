// Characters in UTF-8, as RFC 3629 has them: no longer spelling than needed, no surrogates, nothing beyond U+10FFFF.
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spdld::bytes {

// How many bytes at the front are whole characters. All of them: the bytes are UTF-8.
size_t utf8_bytes(std::span<const uint8_t> bytes);

// The most bytes, up to `bytes_max`, that end between two characters. Precondition: `text` is UTF-8.
size_t whole_characters(std::span<const uint8_t> text, size_t bytes_max);

}  // namespace spdld::bytes
