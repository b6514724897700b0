// The rule for a token of the HTTP server, which the daemon and its clients share. Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace spdld::config {

inline constexpr size_t kHttpTokenBytesMin = 16, kHttpTokenBytesMax = 256;

// 16 to 256 letters, digits and "-._~+/=", which have no meaning in an address or in HTML.
inline bool is_http_token(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~+/=").find(c) != std::string_view::npos;
  };
  return text.size() >= kHttpTokenBytesMin && text.size() <= kHttpTokenBytesMax &&
         std::all_of(text.begin(), text.end(), fits);
}

}  // namespace spdld::config
