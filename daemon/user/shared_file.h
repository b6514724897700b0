// A memfd of a fixed size that the daemon maps and a worker will map. Also the refusal where the system gives no
// descriptor for what the two share. Any thread.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>

#include "proto/unique_fd.h"

namespace spdld::user {

// All zero, and sealed against changes of its size. Throws SetupError (kLimit) where the memory can't be had.
UniqueFd make_shared_file(const char* name, uint64_t bytes);
boost::interprocess::mapped_region map_shared_file(int fd, uint64_t bytes);

// The system gives no descriptor, as errno says. `what`: the call that failed. Throws SetupError (kLimit).
[[noreturn]] void refuse_descriptors(const char* what);

}  // namespace spdld::user
