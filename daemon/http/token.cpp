#include "daemon/http/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "config/text/http_token.h"
#include "daemon/base/result.h"
#include "proto/unique_fd.h"

namespace spdld::http {

std::string load_token(const std::filesystem::path& file) {
  const std::string named = "http.token_file " + file.string();
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0)
    throw SetupError(Trouble::kUsage, named + " can't be read: " + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw SetupError(Trouble::kUsage, named + " is no file");
  if ((status.st_mode & 0027) != 0)
    throw SetupError(Trouble::kUsage, named + " can be read by others, or written by its group: chmod 600 or 640 it");
  std::array<char, config::kHttpTokenBytesMax + 2> text{};  // one more than a token and its newline
  const ssize_t count = ::read(fd.get(), text.data(), text.size());
  if (count < 0) throw SetupError(Trouble::kUsage, named + " can't be read: " + std::strerror(errno));
  std::string token(text.data(), static_cast<size_t>(count));
  if (token.ends_with('\n')) token.pop_back();
  if (!config::is_http_token(token))
    throw SetupError(Trouble::kUsage, named +
                                          " must hold one line of 16 to 256 letters, digits and \"-._~+/=\", such "
                                          "as `openssl rand -hex 32` prints");
  return token;
}

}  // namespace spdld::http
