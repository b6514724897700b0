#include "client/cli/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "client/cli/cli.h"

namespace spdld::cli {

NewFile::NewFile(std::string path)
    : path_(std::move(path)), being_written_(path_ + ".part-" + std::to_string(getpid())) {
  fd_ = UniqueFd(::open(being_written_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd_) fail();
}

NewFile::~NewFile() {
  if (fd_) ::unlink(being_written_.c_str());
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
  if (::fsync(fd_.get()) != 0 || ::rename(being_written_.c_str(), path_.c_str()) != 0) fail();
  fd_.reset();
}

void NewFile::fail() const {
  const std::string why = std::strerror(errno);
  throw Failure(kWrong, path_ + " can't be written: " + why + ".");
}

}  // namespace spdld::cli
