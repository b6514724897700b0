#include "daemon/source/files/file_view.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "daemon/source/trouble.h"

namespace spdld::source {

FileView::FileView(int fd, std::string what) : fd_(fd), what_(std::move(what)) {
  struct stat status;
  if (::fstat(fd, &status) != 0) {
    const Error error = failed(errno);
    throw SetupError(error.trouble, error.message);
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

Error FileView::failed(int error_number) const {
  return {setup_trouble(error_number), what_ + " can't be read: " + error_words(error_number) + "."};
}

Result<uint64_t> FileView::read(uint64_t offset, std::span<uint8_t> to) {
  uint64_t done = 0;
  while (done < to.size()) {
    const ssize_t n = ::pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno);
    if (n == 0) break;  // it ends there, or has become shorter
    done += static_cast<uint64_t>(n);
  }
  return done;
}

}  // namespace spdld::source
