#include "daemon/node/reports/last_errors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "config/text/state_folder.h"
#include "daemon/base/system/log.h"
#include "proto/unique_fd.h"

namespace spdld::node {

void LastErrors::look(uint64_t total, uint64_t now_ns, bool last, const std::function<std::string()>& document) {
  if (folder_.empty() || total <= written_total_) return;
  if (!last && written_ns_ != 0 && now_ns - written_ns_ < kBetweenNsMin) return;
  written_total_ = total;
  written_ns_ = now_ns;
  const std::string trouble = write(document());
  if (trouble.empty() || std::exchange(trouble_told_, true)) return;
  log::warn("the errors can't be left in {}: {}", folder_.string(), trouble);
}

std::string LastErrors::write(const std::string& text) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return error.message();
  const std::string path = folder_ / config::kLastErrorsFile;
  std::string name = path + ".XXXXXX";
  UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));  // mode 0600
  if (!fd) return std::generic_category().message(errno);
  int error_number = 0;
  for (size_t done = 0; done < text.size() && error_number == 0;) {
    const ssize_t written = ::write(fd.get(), text.data() + done, text.size() - done);
    if (written >= 0) done += static_cast<size_t>(written);
    if (written < 0 && errno != EINTR) error_number = errno;
  }
  fd.reset();
  if (error_number == 0 && ::rename(name.c_str(), path.c_str()) != 0) error_number = errno;
  if (error_number == 0) return {};
  ::unlink(name.c_str());
  return std::generic_category().message(error_number);
}

}  // namespace spdld::node
