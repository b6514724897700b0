#include "daemon/store/credentials/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "config/text/words.h"
#include "proto/unique_fd.h"

namespace spdld::store {
namespace {

constexpr size_t kTokenFileBytesMax = 64 << 10;
constexpr size_t kShownBytesMax = 200;  // of a path

Error errno_error(const std::string& shown) {
  const int error_number = errno;
  const Trouble trouble = error_number == ENOENT || error_number == ENOTDIR ? Trouble::kNotFound
                          : error_number == EACCES || error_number == EPERM ? Trouble::kDenied
                                                                            : Trouble::kTransient;
  return {trouble, shown + " can't be read: " + std::generic_category().message(error_number) + "."};
}

}  // namespace

Result<std::string> read_small_file(const std::string& path, size_t bytes_max) {
  const std::string shown = config::printable(path, kShownBytesMax);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not be waited for
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) != 0) return errno_error(shown);
  if (!S_ISREG(status.st_mode)) return Error{Trouble::kUsage, shown + " is not a regular file."};
  std::string text(bytes_max + 1, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(shown);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  if (done > bytes_max)
    return Error{Trouble::kLimit, shown + " has more than the limit of " + std::to_string(bytes_max) + " bytes."};
  text.resize(done);
  return text;
}

Result<std::string> read_token_file(const std::string& path) {
  auto text = read_small_file(path, kTokenFileBytesMax);
  if (!text) return text;
  constexpr std::string_view kAround = " \t\r\n";
  const size_t first = text->find_first_not_of(kAround);
  const std::string token =
      first == std::string::npos ? "" : text->substr(first, text->find_last_not_of(kAround) + 1 - first);
  if (token.empty() || std::any_of(token.begin(), token.end(), [](char c) { return c <= ' ' || c >= 0x7F; }))
    return Error{Trouble::kUsage, config::printable(path, kShownBytesMax) + " does not hold a token and nothing else."};
  return token;
}

}  // namespace spdld::store
