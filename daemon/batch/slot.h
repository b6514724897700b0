// A slot, and the batch that lies in it. Plain values: the ring hands a slot to the stream that fills it and gets the
// batch back; at any time either the ring or the stream has the slot.
#pragma once

#include <algorithm>
#include <array>
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
  kTooLong,      // longer than an output takes, which leaves such samples out
  kDropped       // user code leaves it out
};
// "damaged", "unsupported", "too_long", "dropped"
constexpr std::string_view flaw_name(FlawKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"damaged", "unsupported", "too_long", "dropped"};
  return kNames[static_cast<size_t>(kind)];
}
// It is left out, and is no bad content.
constexpr bool is_left_out(FlawKind kind) { return kind == FlawKind::kTooLong || kind == FlawKind::kDropped; }

// Why a sample was replaced, left zero, or is absent.
struct Flaw {
  uint32_t index = 0;  // in the slice
  FlawKind kind = FlawKind::kDamaged;
  uint64_t sample = 0;  // its id; `name` is its name
  std::string name, reason;
};

// The properties of a filled slot that the trainer is told, beside its layout. Samples are numbered as in the slice.
// The rows of a filled slot are the samples that are not absent, in this order.
struct Batch {
  Slot* slot = nullptr;
  uint32_t run = 0;  // number of the last seek; the ring drops batches of older runs
  sampler::Position position;
  sampler::Slice slice;
  std::vector<uint32_t> substituted = {};  // indexes of samples that were replaced
  std::vector<uint32_t> masked = {};       // indexes of samples whose tensors were left zero
  uint64_t fill_ns = 0;                    // from the first fetch to the last pixel
  std::vector<uint32_t> of_source = {};    // of a mix: valid samples of each source; else empty
  std::vector<Flaw> flaws = {};            // one for each sample substituted, masked or absent
  uint64_t number = 0;                     // among its pipeline's batches, from 1: it tells them apart in a recording
  // Indexes of samples that were left out and that nothing stands for; ascending once the slot is filled.
  std::vector<uint32_t> absent = {};

  uint64_t valid() const { return slice.count - absent.size(); }  // rows
  // How many of these samples are absent. Precondition here and behind: the slot is filled.
  uint64_t absent_in(uint64_t first, uint64_t count) const {
    const auto below = [this](uint64_t end) { return std::lower_bound(absent.begin(), absent.end(), end); };
    return static_cast<uint64_t>(below(first + count) - below(first));
  }
  // The row of a sample that is not absent.
  uint64_t row_of(uint64_t index) const { return index - absent_in(0, index); }
  // How many rows, the last ones, fill the batch up (Slice::padded).
  uint64_t padded() const { return slice.padded - absent_in(slice.count - slice.padded, slice.padded); }
};

}  // namespace spdld::batch
