// The work that is left on a batch when all of its samples are there: operations on the batch as a whole, and samples
// that must lie close together. A stream has a finisher only where there may be such work.
#pragma once

#include <memory>

#include "daemon/base/result.h"
#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"

namespace spdld::pipeline {

class Pipeline;

class Finisher {
 public:
  virtual ~Finisher() = default;
  // The memory that finish() takes beside the slot, at most.
  virtual uint64_t bytes_of(const batch::Batch& /*batch*/) const { return 0; }
  // `memory`: the batch's slot, where its samples have been written. Sets the contents of the slot. On pool threads,
  // for several batches at once, without the stream's lock; of a batch without samples under that lock. kMemory, or
  // std::bad_alloc: nothing of the batch is changed, and it is called again later; other errors end the stream.
  virtual Status finish(const batch::Batch& batch, uint8_t* memory) = 0;
};

// None where a batch of this layout is whole with its last sample. Borrows both.
std::unique_ptr<Finisher> make_finisher(const Pipeline& pipeline, const batch::Layout& layout);

}  // namespace spdld::pipeline
