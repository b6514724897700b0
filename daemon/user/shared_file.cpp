#include "daemon/user/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/interprocess/exceptions.hpp>
#include <cerrno>
#include <cstring>
#include <string>

#include "daemon/base/result.h"

namespace spdld::user {
namespace {

namespace ipc = boost::interprocess;

// The interface of a mappable object for mapped_region.
struct Mappable {
  int fd;
  ipc::mapping_handle_t get_mapping_handle() const { return {fd, false}; }
};

[[noreturn]] void give_up(const char* what, uint64_t bytes) {
  throw SetupError(Trouble::kLimit, "memory of " + std::to_string(bytes) +
                                        " bytes for the processes of user code can't be had (" + what + ": " +
                                        std::strerror(errno) + "): lower scratch under [python]");
}

}  // namespace

void refuse_descriptors(const char* what) {
  throw SetupError(Trouble::kLimit, std::string("the processes of user code can't be had (") + what + ": " +
                                        std::strerror(errno) + "): spdld needs more descriptors (ulimit -n)");
}

UniqueFd make_shared_file(const char* name, uint64_t bytes) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) give_up("memfd_create", bytes);
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) give_up("ftruncate", bytes);
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) give_up("F_ADD_SEALS", bytes);
  return fd;
}

ipc::mapped_region map_shared_file(int fd, uint64_t bytes) {
  try {
    return ipc::mapped_region(Mappable{fd}, ipc::read_write, 0, bytes);
  } catch (const ipc::interprocess_exception&) {
    give_up("mmap", bytes);
  }
}

}  // namespace spdld::user
