// The mapped memory of a ring. Shared by its batches: it outlives the loader, the connection and the daemon.
#pragma once

#include <cstddef>
#include <vector>

#include "client/src/outcome.h"
#include "proto/unique_fd.h"

namespace spdld::client {

class Slots {
 public:
  Slots() = default;
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots();

  // Maps one memfd a slot, after checking that none is smaller than `slot_bytes` or could become so (a read would be a
  // SIGBUS). Copy-on-write: what the process writes stays its own.
  Outcome map(const std::vector<UniqueFd>& memory, uint64_t slot_bytes, bool copy_on_write);

  uint32_t count() const { return static_cast<uint32_t>(regions_.size()); }
  uint64_t slot_bytes() const { return slot_bytes_; }
  std::byte* at(uint32_t slot) const { return regions_[slot].start; }
  // Before a new content is looked at: copy-on-write pages of an earlier lease would hide it. False: errno says why.
  bool drop_copies(uint32_t slot);

 private:
  struct Region {
    std::byte* start;
    size_t bytes;
  };
  std::vector<Region> regions_;
  uint64_t slot_bytes_ = 0;
  bool copy_on_write_ = false;
};

}  // namespace spdld::client
