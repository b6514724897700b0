#include "client/src/ring/slots.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace spdld::client {

HostSlots::~HostSlots() {
  for (uint32_t slot = 0; slot < regions_.size(); ++slot) HostSlots::close(slot);
}

CallOutcome HostSlots::map(const std::vector<UniqueFd>& memory, bool copy_on_write) {
  copy_on_write_ = copy_on_write;
  regions_.reserve(memory.size());
  for (const UniqueFd& fd : memory) {
    struct stat status = {};
    const int seals = ::fcntl(fd.get(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd.get(), &status) != 0) {
      return failure(SPDLD_INTERNAL, "the daemon broke the protocol: a slot is not a memfd sealed against shrinking");
    }
    if (status.st_size <= 0 || static_cast<uint64_t>(status.st_size) < slot_bytes()) {
      return failure(SPDLD_INTERNAL, "the daemon broke the protocol: a slot is smaller than it says");
    }
    const size_t bytes = static_cast<size_t>(status.st_size);
    void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, copy_on_write ? MAP_PRIVATE : MAP_SHARED, fd.get(), 0);
    if (start == MAP_FAILED) {
      return failure(errno == ENOMEM ? SPDLD_LIMIT : SPDLD_INTERNAL, "cannot map a slot of " + std::to_string(bytes) +
                                                                         " bytes (" + text_of_errno(errno) +
                                                                         "): see ulimit -v and vm.max_map_count");
    }
    regions_.push_back({static_cast<std::byte*>(start), bytes});
  }
  return {};
}

bool HostSlots::close(uint32_t slot) {
  Region& region = regions_[slot];
  if (region.start) ::munmap(region.start, region.bytes);
  region = {};
  return true;
}

bool HostSlots::drop_copies(uint32_t slot) {
  if (!copy_on_write_) return true;
  return ::madvise(regions_[slot].start, regions_[slot].bytes, MADV_DONTNEED) == 0;
}

}  // namespace spdld::client
