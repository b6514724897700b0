// Reads the files that credentials stand in: small, and replaced by others while the daemon runs. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/base/result.h"

namespace spdld::store {

// The whole of a regular file. Errors name the path, never the content: kNotFound, kDenied, kLimit (more bytes than
// `bytes_max`), kUsage (no regular file), kTransient.
Result<std::string> read_small_file(const std::string& path, size_t bytes_max);

// The token in a file that holds nothing else, read as read_small_file() does: without the blanks and line ends around
// it. kUsage where nothing is left, or where a blank, a control character or a byte beyond ASCII is left: the token is
// sent in a header or a form.
Result<std::string> read_token_file(const std::string& path);

}  // namespace spdld::store
