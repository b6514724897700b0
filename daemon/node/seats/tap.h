// Fills a ring with the samples of another ring of the same training run, in batches of another size: each sample is
// decoded once and copied here, from slot to slot. So jobs that share a stream need not agree on a batch size.
//
//   their ring --READY--> Tap --copies, on the decode threads--> slots of its own ring
//
// In the other jobs' ring a Tap is a reader as any other: it has a seat, and holds batches no longer than it takes to
// copy them. Where its own ring is full, it holds the others back until it is cut loose. Then, or when their ring or a
// copy fails, it ends by itself: batches that have all their samples are handed on, and on_quiet comes. Its owner goes
// on from next() by other means. A Tap never fails.
//
// Control thread; the copies alone are made on the pool.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/base/fair_pool.h"
#include "daemon/base/system/event_loop.h"
#include "daemon/batch/append.h"
#include "daemon/batch/layout.h"
#include "daemon/control/service.h"
#include "daemon/node/seats/feed_reader.h"
#include "daemon/node/seats/row_copy.h"
#include "daemon/pipeline/filler.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/sampler/mix.h"
#include "daemon/sampler/sharding.h"
#include "proto/guarded_state.h"

namespace spdld::node {

class Tap final : public pipeline::Filler, public FeedReader {
 public:
  // How the samples of a training run are divided into batches, and where they lie in a slot.
  struct Cut {
    sampler::Sharding sharding;
    batch::Layout layout;
  };
  enum class State : uint8_t {
    kCopying,
    kEnding,  // takes nothing more from their ring; batches that have all their samples are still copied
    kQuiet    // has given back its seat, and calls nobody any more
  };
  // Runs the task on a thread, in the pipeline's turn.
  using Submit = std::function<void(pipeline::Pipeline&, FairTask&)>;

  // Precondition: sampler::covers(theirs, own). `start`: the first step to fill.
  Tap(EventLoop& loop, std::shared_ptr<pipeline::Pipeline> pipeline, const Cut& theirs, const Cut& own,
      sampler::Position start, pipeline::FillObserver& observer, const Submit& submit);
  ~Tap() override;
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  // Takes the hold on its seat in their ring, which sends it batches from the batch on that has `start`'s first sample.
  void take_seat(std::unique_ptr<control::Attachment> seat) { seat_ = std::move(seat); }
  State state() const { return state_; }
  const Cut& theirs() const { return theirs_; }  // of the ring that it copies from
  // The step that would be filled next; when the Tap is quiet: the first step that was not handed on.
  sampler::Position next() const { return next_; }

  bool copies() const override { return true; }
  bool wants_slot() override;
  bool fill(batch::Slot& slot) override;
  void stop() override { end(); }
  void tick() override {}

  void on_ready(const batch::Batch& batch, uint64_t generation, uint32_t run) override;
  void on_failed(const Error&) override { end(); }
  void on_seek_refused(uint32_t, const Error&) override {}
  bool has_gone() const override { return false; }

 private:
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
    bool abandoned = false;  // it will never have all its samples
    bool has_all() const { return next == batch.slice.count; }
  };
  struct Task final : FairTask {
    void run(unsigned thread) override;
    Tap* tap = nullptr;
    Source* source = nullptr;
    OpenBatch* open = nullptr;
    std::vector<memory::SlotMemory::CopiedRange> ranges;
    batch::Rest rest;  // of a batch's last task
  };
  static constexpr bool may(State from, State to) {
    return (from == State::kCopying && to == State::kEnding) || (from == State::kEnding && to == State::kQuiet);
  }

  void look_soon();
  void look();
  bool assign();
  void begin_copy(Source& source, OpenBatch& open, uint64_t from);
  void count_sources(OpenBatch& open, const batch::Cutting& cutting);
  void on_copied(Task& task, const Status& status);
  void give_back_sources();
  void settle_opens();
  void end();
  void tell_if_quiet();

  EventLoop& loop_;
  const std::shared_ptr<pipeline::Pipeline> pipeline_;
  const Cut theirs_, own_;
  const uint64_t rows_per_task_max_;
  pipeline::FillObserver& observer_;
  const Submit submit_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<Task*> idle_;
  std::list<Source> sources_;                // in their order; the oldest may still be copied when later batches are
  std::list<OpenBatch> opens_;               // in step order
  std::optional<sampler::MixReader> mixed_;  // where a batch tells how many samples it has of each source
  sampler::Position next_;
  uint64_t taken_ = 0;  // batches of theirs
  GuardedState<State, may> state_{State::kCopying};
  bool look_posted_ = false;
  std::unique_ptr<control::Attachment> seat_;  // in their ring; none: not yet taken, or given back. Last: it ends first
};

}  // namespace spdld::node
