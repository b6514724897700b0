// One rank's way through a pipeline: fills slots with the batches of successive steps and hands them on in step order.
//
// The unit of work is a sample. A stream has a window of tasks; each takes the next samples of the earliest open batch,
// walks them through the pipeline's stages, one after the other, and takes the next. A slow sample thus delays its own
// batch alone, and the samples that are fetched and not yet decoded are bounded by the window, their bytes by the
// pipeline's budget.
//
// Samples that cost a microsecond have no time for a lock each: a task whose samples turn out to be cheap and at hand
// takes more of them at once (stream_task.h), and walks as many as fit into one turn of its pool thread. As soon as one
// of them must wait, the task gives those behind it to other tasks.
//
// When the last sample of a batch is there, its task has the batch finished (finisher.h), on its pool thread and
// without the lock; batches still come in step order.
//
// Calls come from the control thread; the observer is called on pool threads, so it only posts.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"
#include "daemon/pipeline/filler.h"
#include "daemon/pipeline/finisher.h"
#include "daemon/pipeline/open_batch.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/steps.h"
#include "daemon/sampler/sharding.h"

namespace spdld::pipeline {

class Stream final : public SeekableFiller, private Passage::Walker, private Orders::Reader {
 public:
  Stream(const std::shared_ptr<Pipeline>& pipeline, const sampler::Sharding& sharding, const batch::Layout& layout,
         size_t slots, sampler::Position start, FillObserver& observer);
  // With a finisher of the caller's; none: no batch needs one.
  Stream(std::shared_ptr<Pipeline> pipeline, const sampler::Sharding& sharding, const batch::Layout& layout,
         size_t slots, sampler::Position start, FillObserver& observer, std::unique_ptr<Finisher> finisher);
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Whether its slots hold too few samples for all its tasks. More slots than it can work on would only touch more
  // memory than the trainer needs. Where the order is pushed, it wants a slot only while a step is known.
  bool wants_slot() override;
  bool copies() const override { return false; }
  // false: the last epoch has ended, or no step is known, or the stream has failed or stopped.
  bool fill(batch::Slot& slot) override;
  Status push(const sampler::PushedSteps& steps) override;
  void seek(uint32_t run, sampler::Position to) override;
  void stop() override;
  void tick() override;  // tries again samples that a transient fault or short memory holds up

 private:
  struct Task;  // stream_task.h

  void on_wait(Passage& passage) override;
  bool is_wanted(const Passage& passage) const override;
  void on_outcome(Passage& passage, StageOutcome outcome) override;
  void on_order(const Status& made) override;
  void on_turn(Task& task, unsigned thread);
  void trace_wait(const Task& task, uint64_t now_ns) const;
  // Walks the task's samples until it is somebody else's, or has none. `outcome`: of its stage; none: that begins.
  void walk(Task& task, std::optional<StageOutcome> outcome, Caller& caller);
  StageOutcome start_stage(Task& task, Caller& caller);
  void hand_to_pool(Task& task, std::optional<StageOutcome> pending);
  void launch(const std::vector<Task*>& tasks);  // at their first stages; not for pool threads' own samples

  // The following say whether the task has a sample to begin with; if not, it is somebody else's.
  bool finish(Task& task, const Caller& caller);
  bool leave(Task& task, const Caller& caller);
  bool finish_batch(Task& task, const Caller& caller);
  bool on_bad(Task& task, const Caller& caller);
  bool on_bad_content(Task& task, const Caller& caller);
  bool wait_out(Task& task, const Caller& caller);

  bool has_room_to_finish(Task& task, unsigned thread) const;
  Status run_finisher(OpenBatch& open);
  bool waits_to_finish(Task& task, const Error& error);
  void begin_taken(Task& task, uint64_t now_ns);
  void begin_sample(Task& task);
  bool may_use_spare_time() const;
  Stage& stage_of(const Task& task) const;  // that the sample is at
  Stage& stage_of_turn(size_t stage) const;
  void note_flaw(Task& task, const Error& error, const std::string& name);
  void substitute(Task& task);
  // A sample that can't be used, or is left out, comes to this.
  enum class Fate : uint8_t { kSubstituted, kMasked, kAbsent, kFails };
  Fate fate_of(const Task& task, bool is_left_out) const;
  static Error no_substitute(const Task& task, const Error& error, const std::string& name);
  enum class Parked : uint8_t { kYes, kTooLong, kUnwanted };
  Parked park(Task& task, bool for_memory, size_t from);
  void note_parked(const Task& task, int64_t sign);
  void note_asked_again(Task& task, bool is_asked_again);
  void give_back_rest(Task& task);
  void let_go(Task& task, Stage::Keep keep, size_t from = 0);  // of the stages from this one on
  void fail(const Error& error);
  bool take_more(Task& task);  // without the lock, as OpenBatch::take()
  void count_taken(uint64_t samples);

  bool open_next(batch::Slot& slot);  // under the lock, as are the following
  bool find_samples(Task& task);
  bool find_samples_or_rest(Task& task);
  std::vector<Task*> assign_idle();
  void finish_empty(OpenBatch& open);
  void fail_locked(const Error& error);
  void settle(OpenBatch& open);  // when it is finished, or abandoned and nobody works on it
  void abandon_all();
  void note_returned();
  void tell_if_quiet();

  const std::shared_ptr<Pipeline> pipeline_;
  const Stages& stages_;
  const batch::Layout layout_;
  FillObserver& observer_;
  const std::unique_ptr<Finisher> finisher_;  // none: batches are finished with their last sample
  const unsigned threads_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<Task*> idle_;
  std::vector<Task*> parked_;        // waiting out a transient fault or for memory; has room for all tasks
  std::vector<OpenBatch> opens_;     // by slot index
  std::deque<OpenBatch*> in_order_;  // open batches by step, without abandoned batches
  const std::unique_ptr<Steps> steps_;
  SpareTime spare_;
  uint32_t run_ = 0;
  bool failed_ = false, stopped_ = false, quiet_told_ = false;

  alignas(kStripeAlignment) std::atomic<uint64_t> to_assign_{0};  // samples of open batches that no task has taken
  std::atomic<bool> wanting_told_{true};
  std::atomic<bool> is_over_{false};       // stopped_ or failed_, for reads under way
  std::atomic<bool> has_returned_{false};  // some open batch has samples that a task gave back: they come first
};

}  // namespace spdld::pipeline
