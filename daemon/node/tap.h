// Fills a ring with the samples of another ring of the same run, in batches of another size: each sample is decoded
// once and copied here, from slot to slot. So jobs that share a stream need not agree on a batch size.
//
//   their ring --READY--> Tap --copies, on the decode threads--> slots of its own ring
//
// In the other jobs' ring a Tap is a job as any other: it has a seat, and holds batches no longer than it takes to copy
// them. Where its own ring is full, it holds the others back until it is cut loose. Then, or when their ring or a copy
// fails, it ends by itself: batches that could still be filled are handed on, and on_quiet comes. Its owner goes on
// from next() by other means. A Tap never fails.
//
// Control thread; the copies alone are made on the pool.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/base/event_loop.h"
#include "daemon/base/fair_pool.h"
#include "daemon/batch/layout.h"
#include "daemon/control/service.h"
#include "daemon/pipeline/filler.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/sampler/mix.h"
#include "daemon/sampler/sharding.h"

namespace spdld::node {

class Tap final : public pipeline::Filler {
 public:
  // How a run's samples are cut into batches, and where they lie in a slot.
  struct Cut {
    sampler::Sharding sharding;
    batch::Layout layout;
  };

  // Precondition: sampler::covers(theirs, own). `start`: the first step to fill.
  Tap(EventLoop& loop, std::shared_ptr<pipeline::Pipeline> pipeline, const Cut& theirs, const Cut& own,
      sampler::Position start, pipeline::FillObserver& observer);
  ~Tap() override;
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  // The reply object that takes the seat in their ring, from the batch that has `start`'s first sample.
  std::shared_ptr<control::AttachReply> seat() const;
  // The step that would be filled next; when the Tap is quiet: the first step that was not handed on.
  sampler::Position next() const { return next_; }

  bool copies() const override { return true; }
  bool wants_slot() override;
  bool fill(batch::Slot& slot) override;
  void stop() override { end(); }
  void tick() override {}

 private:
  class Inlet;
  struct Source {  // a batch of theirs
    batch::Batch batch;
    uint64_t generation = 0;
    uint64_t copying = 0;  // tasks
    bool used_up = false;  // nothing more is copied from it
  };
  struct OpenBatch {
    batch::Batch batch;
    uint64_t next = 0;     // sample of the slice to copy next
    uint64_t copying = 0;  // tasks
    uint64_t start_ns = 0;
    bool lost = false;  // a copy failed
    bool abandoned = false;
  };
  struct Task final : FairTask {
    void run(unsigned thread) override;
    Tap* tap = nullptr;
    Source* source = nullptr;
    OpenBatch* open = nullptr;
    uint64_t from = 0, to = 0, samples = 0;  // indexes in their batch, in ours
    std::vector<memory::SlotMemory::Part> parts;
  };

  void attached(std::unique_ptr<control::Attachment> attachment);
  void on_ready(const batch::Batch& batch, uint64_t generation);
  void look_soon();
  void look();
  bool assign();
  void begin_copy(Source& source, OpenBatch& open, uint64_t from);
  void note_marks(const Source& source, OpenBatch& open, const Task& task);
  void on_copied(Task& task, const Status& status);
  void give_back_sources();
  void settle_opens();
  void end();
  void tell_if_quiet();

  EventLoop& loop_;
  const std::shared_ptr<pipeline::Pipeline> pipeline_;
  const Cut theirs_, own_;
  const uint64_t samples_per_task_max_;
  pipeline::FillObserver& observer_;
  const std::shared_ptr<Inlet> inlet_;
  std::unique_ptr<control::Attachment> attachment_;  // in their ring
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<Task*> idle_;
  std::list<Source> sources_;                // in their order; the oldest may still be copied when later batches are
  std::list<OpenBatch> opens_;               // in step order
  std::optional<sampler::MixReader> mixed_;  // where a batch tells how many samples it has of each source
  sampler::Position next_;
  uint64_t taken_ = 0;  // batches of theirs
  bool look_posted_ = false, ending_ = false, quiet_told_ = false;
};

}  // namespace spdld::node
