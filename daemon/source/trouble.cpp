#include "daemon/source/trouble.h"

#include <cerrno>
#include <system_error>

namespace spdld::source {

Trouble content_trouble(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO:
    case ENODEV:
    case EOVERFLOW:
      return Trouble::kContent;
    case ENOMEM:
      return Trouble::kMemory;
    default:  // EIO, EMFILE, ENFILE, ESTALE, ETIMEDOUT and their kin
      return Trouble::kTransient;
  }
}

Trouble setup_trouble(int error_number) {
  if (error_number == ENOENT) return Trouble::kNotFound;
  if (error_number == EACCES || error_number == EPERM) return Trouble::kDenied;
  const Trouble trouble = content_trouble(error_number);
  return trouble == Trouble::kContent ? Trouble::kUsage : trouble;
}

std::string error_words(int error_number) { return std::generic_category().message(error_number); }

}  // namespace spdld::source
