// The token that clients of the HTTP server must know, from the operator's file. Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace spdld::http {

// The only line of the file. Throws SetupError where the file can't be read, where its group may write to it or others
// may read it, or where the line is no token (config/text/http_token.h).
std::string load_token(const std::filesystem::path& file);

}  // namespace spdld::http
