// A slot, and the batch that lies in it. Plain values: the ring hands a slot to the stream that fills it and gets the
// batch back; at any time exactly one of them has it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/memory/slot_memory.h"
#include "daemon/sampler/sharding.h"

namespace spdld::batch {

struct Slot {
  uint32_t index = 0;
  std::unique_ptr<memory::SlotMemory> memory;
};

enum class FlawKind : uint8_t {
  kDamaged,      // content that can't be made into what an output wants
  kUnsupported,  // a picture of a format that this build does not decode
};

// Why a sample was replaced, or left zero.
struct Flaw {
  uint32_t index = 0;  // in the batch
  FlawKind kind = FlawKind::kDamaged;
  uint64_t sample = 0;  // its id, and its name
  std::string name, reason;
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
  std::vector<Flaw> flaws = {};            // of those substituted or masked, one each
};

}  // namespace spdld::batch
