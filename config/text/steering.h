// Characters of UTF-8 that print nothing and steer what shows the text: a terminal, or the direction and the lines of
// the text around them. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spdld::config {

// The bytes of such a character at the text's begin; 0: it begins with another one. These are U+0000 to U+001F, U+007F
// to U+009F, the marks of direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), and the separators of
// lines and paragraphs (U+2028, U+2029). The text need not be UTF-8.
size_t steering_bytes(std::string_view text);

// A JSON text whose strings show such characters as \uXXXX; line ends between values stay. Precondition: it is JSON.
std::string steady_json(std::string json);

}  // namespace spdld::config
