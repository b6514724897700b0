#include "daemon/source/tables/block_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "daemon/base/result.h"
#include "daemon/source/archive_search.h"
#include "daemon/source/bounds.h"
#include "daemon/source/parts.h"
#include "daemon/source/trouble.h"

namespace spdld::source {
UniqueFd open_table_file(const std::string& path, const Bounds* bounds, const FileKind& kind, struct stat& status) {
  UniqueFd fd(open_file(bounds, path.c_str()));
  const int error_number = fd && ::fstat(fd.get(), &status) == 0 ? 0 : errno;
  if (error_number != 0) refuse_archive(path, "opened", error_number, kind);
  if (!S_ISREG(status.st_mode)) refuse_not_archive(path, kind);
  return fd;
}

BlockReader::BlockReader(int fd, const std::string& path, std::atomic<uint64_t>& done, const std::stop_token& stop,
                         size_t block_bytes)
    : fd_(fd), path_(path), done_(done), stop_(stop), block_bytes_(block_bytes) {
  // A block of a small file holds the file, and tells its end.
  struct stat status;
  if (::fstat(fd, &status) == 0 && status.st_size >= 0)
    block_bytes_ = std::min(block_bytes, static_cast<size_t>(status.st_size) + 1);
  if (block_bytes == kBlockBytes) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

bool BlockReader::more() {
  check_stop(stop_);
  block_.erase(0, begin_);
  begin_ = 0;
  const size_t before = block_.size(), wanted = std::max(block_bytes_, before);
  block_.resize(before + wanted);
  size_t got = 0;
  while (got < wanted) {
    const ssize_t n =
        ::pread(fd_, block_.data() + before + got, wanted - got, static_cast<off_t>(offset_ + before + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw SetupError(setup_trouble(errno), path_ + " can't be read: " + error_words(errno) + ".");
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  block_.resize(before + got);
  if (got < wanted) is_at_end_ = true;
  return got > 0;
}

bool BlockReader::have(uint64_t bytes) {
  while (text().size() < bytes)
    if (is_at_end_ || !more()) return text().size() >= bytes;
  return true;
}

void BlockReader::drop(uint64_t bytes) {
  begin_ += static_cast<size_t>(bytes);
  offset_ += bytes;
  done_.fetch_add(bytes, std::memory_order_relaxed);
}

void BlockReader::skip(uint64_t bytes) {
  if (bytes <= text().size()) return drop(bytes);
  block_.clear();
  begin_ = 0;
  offset_ += bytes;
  done_.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace spdld::source
