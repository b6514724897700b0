// The token that clients of the HTTP server must know, from the operator's file. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace spdld::http {

inline constexpr size_t kTokenBytesMin = 16, kTokenBytesMax = 256;

// The only line of the file. Throws SetupError where the file can't be read, where its group may write to it or others
// may read it, or where the line is no token: 16 to 256 letters, digits and characters of "-._~+/=".
std::string load_token(const std::filesystem::path& file);

}  // namespace spdld::http
