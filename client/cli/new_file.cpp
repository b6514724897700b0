#include "client/cli/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "client/cli/cli.h"

namespace spdld::cli {
namespace {

constexpr int kLinksMax = 40;  // as the kernel follows

// The text of a symbolic link, as a path from here; none where there is no link.
std::optional<std::string> target_of(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
  if (length <= 0 || length == static_cast<ssize_t>(text.size())) return std::nullopt;
  const std::string target(text.data(), static_cast<size_t>(length));
  const size_t slash = path.rfind('/');
  return target.front() == '/' || slash == std::string::npos ? target : path.substr(0, slash + 1) + target;
}

// Which of this process's open files a path stands for; none where it is another path.
std::optional<int> own_file(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.rfind(folder, 0) != 0) continue;
    const std::string number = path.substr(folder.size());
    if (number.empty() || number.size() > 6 || number.find_first_not_of("0123456789") != std::string::npos) continue;
    return std::stoi(number);
  }
  return std::nullopt;
}

// The kernel's rule for links in folders like /tmp (fs.protected_symlinks), which holds for links that are read here,
// too: somebody else's link leads nobody.
bool may_follow(const std::string& link) {
  struct stat status {
  }, folder{};
  const size_t slash = link.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : link.substr(0, slash);
  if (::lstat(link.c_str(), &status) != 0 || ::stat(parent.c_str(), &folder) != 0) return false;
  const bool is_shared = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return !is_shared || status.st_uid == ::geteuid() || status.st_uid == folder.st_uid;
}

}  // namespace

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  if (const auto own = followed()) {
    open_in_place(::dup(*own));  // with its place in the file
    return;
  }
  struct stat given {
  }, behind{};
  const bool is_there = ::stat(path_.c_str(), &given) == 0;
  // A link of /proc may have a text that is no path.
  const bool is_opaque = is_there && (::stat(place_.c_str(), &behind) != 0 || behind.st_dev != given.st_dev ||
                                      behind.st_ino != given.st_ino);
  if (!is_opaque && (!is_there || S_ISREG(given.st_mode)))
    open_beside();
  else
    open_in_place(::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY));
}

std::optional<int> NewFile::followed() {
  place_ = path_;
  for (int links = 0;; links++) {
    if (const auto own = own_file(place_)) return own;
    const auto target = target_of(place_);
    if (!target) return std::nullopt;
    errno = links == kLinksMax ? ELOOP : EACCES;
    if (links == kLinksMax || !may_follow(place_)) fail();
    place_ = *target;
  }
}

void NewFile::open_in_place(int fd) {
  fd_ = UniqueFd(fd);
  if (!fd_) fail();
}

void NewFile::open_beside() {
  being_written_ = place_ + ".part-" + std::to_string(getpid());
  fd_ = UniqueFd(::open(being_written_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd_) fail();
}

NewFile::~NewFile() {
  if (fd_ && !being_written_.empty()) ::unlink(being_written_.c_str());
}

void NewFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void NewFile::finish() {
  if (being_written_.empty()) {
    if (::close(fd_.release()) != 0) fail();
    return;
  }
  if (::fsync(fd_.get()) != 0 || ::rename(being_written_.c_str(), place_.c_str()) != 0) fail();
  fd_.reset();
}

bool NewFile::is_stdout() const {
  struct stat mine {
  }, out{};
  return being_written_.empty() && ::fstat(fd_.get(), &mine) == 0 && ::fstat(STDOUT_FILENO, &out) == 0 &&
         mine.st_dev == out.st_dev && mine.st_ino == out.st_ino;
}

void NewFile::fail() const {
  const std::string why = std::strerror(errno);
  throw Failure(kWrong, path_ + " can't be written: " + why + ".");
}

}  // namespace spdld::cli
