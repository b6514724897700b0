#include "daemon/cache/disk/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace spdld::cache {
namespace {

// Opening waits for no named pipe and follows no link.
constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

bool is_regular(const UniqueFd& file) {
  struct stat status;
  return ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Error file_error(const std::filesystem::path& path, const char* what) {
  return {Trouble::kTransient, path.string() + " can't be " + what + ": " + std::generic_category().message(errno)};
}

Result<UniqueFd> open_for_writing(const std::filesystem::path& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | kFlags, 0600));
  if (!file) return file_error(path, "opened for writing");
  if (!is_regular(file)) return Error{Trouble::kUsage, path.string() + " is not a regular file"};
  return file;
}

Status write_fully(int fd, const std::filesystem::path& path, std::span<const uint8_t> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return file_error(path, "written");
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return Done{};
}

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::array<char, 65'536> text;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | kFlags));
  const ssize_t n = file && is_regular(file) ? ::read(file.get(), text.data(), text.size()) : -1;
  if (n < 0) return {};
  return std::string(text.data(), static_cast<size_t>(n));
}

uint64_t size_of(const std::filesystem::path& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

bool is_file_or_missing(const std::filesystem::path& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 ? S_ISREG(status.st_mode) : errno == ENOENT;
}

}  // namespace spdld::cache
