#include "daemon/store/s3/encoding.h"
#include "proto/hex.h"

#include <array>
#include <cstdint>

namespace spdld::store::s3 {
namespace {

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0; c < 256; ++c)
    plain[static_cast<size_t>(c)] = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                                    c == '-' || c == '.' || c == '_' || c == '~';
  return plain;
}();

void append(std::string& out, std::string_view text, bool leaves_slash) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain[byte] || (c == '/' && leaves_slash)) {
      out += c;
    } else {
      const char encoded[3] = {'%', kDigits[byte >> 4], kDigits[byte & 15]};
      out.append(encoded, sizeof encoded);
    }
  }
}

}  // namespace

void append_encoded(std::string& out, std::string_view text) { append(out, text, false); }
void append_encoded_path(std::string& out, std::string_view path) { append(out, path, true); }

size_t decode_in_place(char* text, size_t size, bool plus_is_blank) {
  size_t to = 0;
  for (size_t from = 0; from < size; ++from) {
    if (text[from] != '%') {
      text[to++] = text[from] == '+' && plus_is_blank ? ' ' : text[from];
      continue;
    }
    const int high = size - from > 2 ? hex_digit(text[from + 1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[from + 2]);
    if (low < 0) return SIZE_MAX;
    text[to++] = static_cast<char>(high * 16 + low);
    from += 2;
  }
  return to;
}

}  // namespace spdld::store::s3
