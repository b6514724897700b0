// Bounds texts from outside that are kept or written, such as samples' names. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "utf8/utf8.h"

namespace spdld {

// A text of at most `bytes_max` bytes stays whole. A longer text ends with "...", in place of at least what is too
// much; a character of UTF-8 is not cut through.
inline std::string cut_text(std::string_view text, size_t bytes_max) {
  constexpr std::string_view kCut = "...";
  if (text.size() <= bytes_max) return std::string(text);
  size_t end = bytes_max > kCut.size() ? bytes_max - kCut.size() : 0;
  constexpr size_t kCharacterBytesMax = 4;
  for (size_t back = 1; back < kCharacterBytesMax && end > 0 && utf8::goes_on(text[end]); back++) end--;
  return std::string(text.substr(0, end)).append(kCut);
}

}  // namespace spdld
