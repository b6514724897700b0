// The operations on batches ([batch] ops), on the batches of one layout. Constant after construction; any thread.
//
// The positions of an epoch are in groups of `group`, from its first position on. Each sample of a group is mixed with
// the sample before it, the first one with the last, as torchvision does it with a batch by roll(1): so nothing depends
// on how the epoch is cut into batches and ranks, as long as no cut goes through a group (daemon/sampler/sharding.h).
// The epoch's last group may be shorter. A masked sample is left out of its group; a sample alone stays as it is.
//
// Which operation mixes a sample, and all that the operation draws, is keyed by (seed, epoch, position): positions are
// numbered the same for every batch size and every number of ranks, and differ where a sample comes twice in an epoch.
// Positions that fill up the last batch (`pad`) have numbers of their own. Where the client pushes the order, a
// position is what daemon/sampler/pushed.h calls a place, and its number is mixed with the sample's id, since the ranks
// have the same places. The draw "batch.ops" chooses the operation by the shares, and each operation's draw has its
// name.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "config/spec.h"
#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"
#include "daemon/mixing/operation.h"

namespace spdld::pipeline {

class Mixer {
 public:
  // Precondition: config/load.h has accepted the spec, and the layout has its tensors.
  Mixer(const config::PipelineSpec& spec, const batch::Layout& layout);

  // In place, and writes the tensors `lam` and `partner`. Throws std::bad_alloc before anything is changed.
  void run(const batch::Batch& batch, uint8_t* memory) const;

 private:
  // An operation mixes this tensor of the batch.
  struct Use {
    std::optional<size_t> image;  // its place in the operation's images; none: a label
  };
  struct Applied {
    std::unique_ptr<mixing::Operation> operation;
    double up_to = 1;                      // of the draw that chooses: the end of its share
    std::vector<std::optional<Use>> uses;  // by tensor
  };
  // A sample that may be mixed.
  struct Member {
    uint64_t index = 0;  // in the batch
    const Applied* applied = nullptr;
    mixing::Mix mix = {};
  };
  struct Work {
    std::vector<bool> is_masked;
    std::vector<Member> group;
    std::vector<uint8_t> scratch;  // the row of a group's last sample as it was
  };

  uint64_t number_of(const batch::Batch& batch, uint64_t index, uint8_t* memory) const;
  void draw_group(const batch::Batch& batch, uint8_t* memory, Work& work) const;
  void mix_tensor(size_t tensor, uint8_t* memory, Work& work) const;
  void mix_row(size_t tensor, const Member& member, uint8_t* own, const uint8_t* partner) const;
  void tell(const Work& work, uint8_t* memory) const;

  const batch::Layout layout_;
  const uint64_t seed_, group_;
  const bool is_pushed_;
  std::vector<Applied> applied_;
  std::vector<size_t> tensors_;  // that some operation mixes
  size_t sample_id_ = 0;
  std::optional<size_t> lam_, partner_;
};

}  // namespace spdld::pipeline
