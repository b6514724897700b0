// A batch's hold on its slot. The lease lives in a list of one, which moves from owner to owner on its way back.
// Nothing is allocated on that way, where a failure could not be told.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "proto/cuda/abi.h"

namespace spdld::client {

class Ring;
struct Lease;
using LeaseList = std::list<Lease>;

struct Lease {
  std::shared_ptr<Ring> ring;
  uint32_t slot = 0;
  uint64_t generation = 0;
  std::vector<cuda::abi::Stream> streams = {};   // streams that work on it; none: the legacy default stream
  std::vector<std::shared_ptr<void>> kept = {};  // for each stream what it needs to live; null: the caller sees to it
  LeaseList::iterator self = {};                 // itself, in whichever list
};

inline LeaseList make_lease(std::shared_ptr<Ring> ring, uint32_t slot, uint64_t generation) {
  LeaseList one;
  Lease& lease = one.emplace_back();
  lease.ring = std::move(ring);
  lease.slot = slot;
  lease.generation = generation;
  lease.self = one.begin();
  return one;
}

}  // namespace spdld::client
