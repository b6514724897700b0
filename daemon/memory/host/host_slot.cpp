#include "daemon/memory/host/host_slot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/interprocess/exceptions.hpp>
#include <cerrno>
#include <cstring>
#include <string>

#include "daemon/base/result.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // linux/fcntl.h, since Linux 5.1
#endif

namespace spdld::memory {
namespace {

namespace ipc = boost::interprocess;

// The interface of a mappable object for mapped_region.
struct Mappable {
  int fd;
  ipc::mapping_handle_t get_mapping_handle() const { return {fd, false}; }
};

[[noreturn]] void give_up(const char* what, uint64_t bytes) {
  throw SetupError(Trouble::kLimit, std::string("a slot of ") + std::to_string(bytes) + " bytes can't be had (" + what +
                                        ": " + std::strerror(errno) + "): lower batch.size or prefetch_depth");
}

UniqueFd make_memfd(uint64_t bytes) {
  UniqueFd fd(memfd_create("spdld-slot", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) give_up("memfd_create", bytes);
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) give_up("ftruncate", bytes);
  return fd;
}

ipc::mapped_region map(int fd, uint64_t bytes) {
  try {
    return ipc::mapped_region(Mappable{fd}, ipc::read_write, 0, bytes);
  } catch (const ipc::interprocess_exception&) {
    give_up("mmap", bytes);
  }
}

// Open for reading alone; none: the system has no /proc.
UniqueFd reopen_for_reading(int fd) {
  if (fchmod(fd, S_IRUSR) != 0) return {};
  return UniqueFd(open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

HostSlot::HostSlot(uint64_t bytes, Access access, MemoryKind kind, bool has_writers)
    : kind_(kind), bytes_(bytes), fd_(make_memfd(bytes)), region_(map(fd_.get(), bytes)) {
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (access == Access::kCopyOnWrite) {
    if (has_writers) for_readers_ = reopen_for_reading(fd_.get());
    is_sealed_ = !for_readers_;
    if (is_sealed_) seals |= F_SEAL_FUTURE_WRITE;
  }
  if (fcntl(fd_.get(), F_ADD_SEALS, seals) != 0) give_up("F_ADD_SEALS", bytes);
  // Fresh huge pages cost a tenth of small ones. Where the system says "never" to them, it stays with these.
  madvise(region_.get_address(), bytes, MADV_HUGEPAGE);
}

int HostSlot::lend() {
  if (is_sealed_) return -1;
  is_lent_ = true;
  return fd_.get();
}

void HostSlot::copy(const SlotMemory& from, const Copies& copies, Published copied) {
  for (const Literal& literal : copies.literals)
    std::copy(literal.bytes.begin(), literal.bytes.end(), fill_address() + literal.to);
  for (const CopiedRange& range : copies.ranges)
    std::memcpy(fill_address() + range.to, from.fill_address() + range.from, range.bytes);
  copied(Done{});
}

}  // namespace spdld::memory
