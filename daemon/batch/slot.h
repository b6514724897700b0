// A slot, and the batch that lies in it. Plain values: the ring hands a slot to the stream that fills it and gets the
// batch back; at any time exactly one of them has it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/memory/slot_memory.h"
#include "daemon/sampler/sharding.h"

namespace spdld::batch {

struct Slot {
  uint32_t index = 0;
  std::unique_ptr<memory::SlotMemory> memory;
};

// What the trainer is told of a filled slot, beside its layout.
struct Batch {
  Slot* slot = nullptr;
  uint32_t run = 0;  // of the last seek; the ring drops batches of an older one
  sampler::Position position;
  sampler::Slice slice;                    // slice.count samples are valid
  std::vector<uint32_t> substituted = {};  // numbers of those in it whose bad content was replaced
  std::vector<uint32_t> masked = {};       // ... or left zero
  uint64_t fill_ns = 0;                    // from the first fetch to the last pixel
  std::vector<uint32_t> of_source = {};    // of a mix: how many of slice.count are of each source; else empty
};

}  // namespace spdld::batch
