// Makes a batch of the samples of other batches of the same run. The two layouts have the same tensors, and differ in
// the batch size. No sample is read: all that has to be known of a batch is in its Contents.
//
// Rows and values are copied from slot to slot. Offsets, lengths, masks and padding follow from the lengths of all
// samples of the new batch, so they are written last, as bytes of this process. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/batch/contents.h"

namespace spdld::batch {

// Samples [from, from + samples) of a batch, as samples [to, to + samples) of another one.
struct Cutting {
  uint64_t from = 0, to = 0, samples = 0;
};

// Notes the samples' lengths in `target`, and adds the copies of their rows and values to `ranges`. Precondition:
// clear() was called for `target`, and all samples before cutting.to have been appended.
void append(const Layout& theirs, const Contents& source, const Layout& own, Contents& target, const Cutting& cutting,
            std::vector<memory::SlotMemory::CopiedRange>& ranges);

// The bytes of a batch that are copied from no other batch.
struct Rest {
  std::vector<std::vector<uint8_t>> bytes = {};
  std::vector<memory::SlotMemory::Literal> literals = {};  // of `bytes`
};
// Sets the views of a batch once all of its `valid` samples have been appended. The rows of padded tensors stay at
// their samples' places.
Rest finish(const Layout& own, Contents& target, uint64_t valid);

}  // namespace spdld::batch
