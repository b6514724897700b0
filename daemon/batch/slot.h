// A slot, and the batch that lies in it. Plain values: the ring hands a slot to the stream that fills it and gets the
// batch back; at any time either the ring or the stream has the slot.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/batch/contents.h"
#include "daemon/memory/slot_memory.h"
#include "daemon/sampler/sharding.h"

namespace spdld::batch {

struct Slot {
  uint32_t index = 0;
  std::unique_ptr<memory::SlotMemory> memory;
  Contents contents = {};  // of the batch that lies in it, or is being filled
};

enum class FlawKind : uint8_t {
  kDamaged,      // content that can't be made into what an output wants
  kUnsupported,  // a picture of a format that this build does not decode
  kTooLong       // longer than an output takes, which leaves such samples out: no bad content
};
// "damaged", "unsupported", "too_long"
constexpr std::string_view flaw_name(FlawKind kind) {
  return kind == FlawKind::kTooLong ? "too_long" : kind == FlawKind::kUnsupported ? "unsupported" : "damaged";
}

// Why a sample was replaced, or left zero.
struct Flaw {
  uint32_t index = 0;  // in the batch
  FlawKind kind = FlawKind::kDamaged;
  uint64_t sample = 0;  // its id; `name` is its name
  std::string name, reason;
};

// The properties of a filled slot that the trainer is told, beside its layout.
struct Batch {
  Slot* slot = nullptr;
  uint32_t run = 0;  // number of the last seek; the ring drops batches of older runs
  sampler::Position position;
  sampler::Slice slice;                    // slice.count samples are valid
  std::vector<uint32_t> substituted = {};  // indexes of samples that were replaced
  std::vector<uint32_t> masked = {};       // indexes of samples whose tensors were left zero
  uint64_t fill_ns = 0;                    // from the first fetch to the last pixel
  std::vector<uint32_t> of_source = {};    // of a mix: valid samples of each source; else empty
  std::vector<Flaw> flaws = {};            // one for each sample substituted or masked
  uint64_t number = 0;                     // among its pipeline's batches, from 1: it tells them apart in a recording
};

}  // namespace spdld::batch
