// The operations on batches ([batch] ops), on the batches of one layout. Constant after construction; any thread.
//
// The positions of an epoch are in groups of `group`, from its first position on. Each sample of a group is mixed with
// the sample before it, the first one with the last, as torchvision does it with a batch by roll(1); an operation with
// several partners takes the samples before that one, too. Where each sample has several rows, one after another
// (`repeats`), its partners are `repeats` rows apart: no sample is mixed with itself. So nothing depends on how the
// epoch is cut into batches and ranks, as long as no cut goes through a group (daemon/sampler/sharding.h). The epoch's
// last group may be shorter. A masked or absent sample is left out of its group; a sample of a group that has too few
// others for its operation stays as it is.
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
#include <span>
#include <vector>

#include "config/spec.h"
#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"
#include "daemon/mixing/operation.h"

namespace spdld::pipeline {

class Mixer {
 public:
  // Precondition: config/checks/load.h has accepted the spec, and the layout has its tensors.
  Mixer(const config::PipelineSpec& spec, const batch::Layout& layout);

  // The memory that run() takes for such a batch, at most.
  uint64_t bytes_of(const batch::Batch& batch) const;
  // In place, and writes the tensors `lam` and `partner`. Throws std::bad_alloc before anything is changed.
  void run(const batch::Batch& batch, uint8_t* memory) const;

 private:
  // An operation mixes this tensor of the batch.
  struct Use {
    // In the order in which tensors are mixed: nothing needs the masks of samples that were mixed.
    enum class How : uint8_t { kImage, kLabel, kList, kBoxes, kMasks };
    How how;
    size_t image = 0;  // of a kImage: its place in the operation's images
  };
  struct Applied {
    std::unique_ptr<mixing::Operation> operation;
    size_t partners = 1;
    double up_to = 1;                      // of the draw that chooses: the end of its share
    std::vector<std::optional<Use>> uses;  // by tensor
    std::optional<size_t> boxes;           // the tensor of its boxes
    std::optional<size_t> masks;           // the tensor of the masks that it asks for
    uint64_t pixels = 0;                   // of the picture that these masks are for
    std::optional<size_t> inside;          // the tensor that says where its pictures lie in their borders
    uint64_t height = 0, width = 0;        // of its first picture, where there is such a tensor
    uint64_t rows_max = 0;                 // of its lists, the shortest one's
  };
  // A sample that may be mixed.
  struct Member {
    uint64_t index = 0;  // in the batch
    const Applied* applied = nullptr;
    mixing::Mix mix = {};
    size_t first_taken = 0, taken = 0;  // of Work::taken: the rows of its lists
  };
  struct Work {
    std::vector<bool> is_apart;  // by sample: it is masked, or absent
    std::vector<Member> group;
    std::vector<mixing::ListRows> rows;  // of the group's members, in one tensor, as they were
    std::vector<uint8_t> scratch;        // the rows of a group's last members as they were
    std::vector<uint8_t> made;           // of a list
    std::vector<mixing::TakenRow> taken;
    std::vector<mixing::ListRows> of_sample;               // of one member and its partners
    std::vector<mixing::ListRows> masks, masks_of_sample;  // the same of the masks that an operation asks for
    std::vector<uint8_t> shade, canvas;
    std::vector<const uint8_t*> partners;
  };

  // Of a Work.
  struct Sizes {
    uint64_t members = 0, rows = 0;  // of a group, and of a sample's lists
    uint64_t scratch = 0, made = 0, shade = 0, canvas = 0;
  };
  Sizes sizes_for(const batch::Batch& batch) const;
  Work work_for(const batch::Batch& batch) const;
  uint64_t number_of(const batch::Batch& batch, uint64_t index, uint8_t* memory) const;
  void draw_group(const batch::Batch& batch, uint8_t* memory, Work& work) const;
  // Where the pictures of each member and of its partners lie, within their rows.
  void find_borders(uint8_t* memory, Work& work) const;
  void limit_rows(const batch::Batch& batch, const Applied& applied, Work& work) const;
  void choose_rows(const batch::Batch& batch, uint8_t* memory, Work& work) const;
  // The members' rows in the tensor, where they lie.
  void find_rows(const batch::Batch& batch, size_t tensor, uint8_t* memory, const Work& work,
                 std::vector<mixing::ListRows>& rows) const;
  // The row of member i, then the rows of its partners.
  void take_rows(std::span<const mixing::ListRows> rows, size_t i, size_t partners,
                 std::vector<mixing::ListRows>& taken) const;
  // The masks that the operation of member i asks for, while they are as they were.
  void take_masks(const batch::Batch& batch, size_t i, uint8_t* memory, Work& work) const;
  static std::span<const mixing::TakenRow> taken_by(const Member& member, const Work& work);
  void mix_tensor(const batch::Batch& batch, size_t tensor, uint8_t* memory, Work& work) const;
  void mix_row(size_t tensor, const Member& member, const mixing::Mix& mix, uint8_t* own, Work& work) const;
  void make_list(const batch::Batch& batch, size_t tensor, const Member& member, const mixing::Mix& mix, uint8_t* own,
                 Work& work) const;
  void tell(const Work& work, uint8_t* memory) const;
  uint64_t row_bytes(size_t tensor, uint32_t count) const;

  const batch::Layout layout_;
  const uint64_t seed_, group_;
  const size_t apart_;  // rows from a sample to its partner
  const bool is_pushed_;
  std::vector<Applied> applied_;
  size_t partners_max_ = 1;
  std::vector<size_t> tensors_;                 // that some operation mixes
  std::vector<std::optional<size_t>> varying_;  // by tensor: its place in Layout::varying()
  size_t sample_id_ = 0;
  std::optional<size_t> lam_, partner_;
};

}  // namespace spdld::pipeline
