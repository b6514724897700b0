// One rank's way through a pipeline: fills slots with the batches of successive steps and hands them on in step order.
//
// The unit of work is a sample. A stream has a window of tasks; each takes the next sample of the earliest open batch,
// has its bytes fetched, is decoded on the pool straight into its place in the slot, and takes the next. A slow sample
// thus delays its own batch alone, and the bytes that are fetched and not yet decoded are bounded by the window.
//
// Calls come from the control thread; the observer is called on pool threads under the stream's lock, so it only posts.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "daemon/base/fair_pool.h"
#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"
#include "daemon/pipeline/filler.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/steps.h"
#include "daemon/sampler/sharding.h"

namespace spdld::pipeline {

class Stream final : public SeekableFiller, private source::FetchObserver, private Orders::Reader {
 public:
  // How many substitutes are tried for one place.
  static constexpr uint32_t kAttemptsMax = 8;

  Stream(std::shared_ptr<Pipeline> pipeline, const sampler::Sharding& sharding, const batch::Layout& layout,
         size_t slots, sampler::Position start, FillObserver& observer);
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
  struct OpenBatch {
    batch::Batch batch;
    uint64_t next = 0;       // sample of the slice to assign next
    uint64_t remaining = 0;  // samples not yet finished
    uint64_t start_ns = 0;
    Steps::Step step;
    std::atomic<bool> abandoned{false};
  };
  struct Task final : FairTask, source::FetchRequest {
    void run(unsigned thread) override { stream->process(*this, thread); }
    Stream* stream = nullptr;
    OpenBatch* open = nullptr;
    uint64_t index = 0;               // in the batch
    uint64_t pass = 0;                // of its random draws
    uint32_t attempt = 0;             // 0: the sample itself; then substitutes
    uint64_t fault_since_ns = 0;      // of the transient fault that this sample waits out; 0: none
    uint64_t memory_since_ns = 0;     // since when there has been no memory for this sample; 0: there is
    bool waits_for_memory = false;    // parked for that reason
    std::vector<cache::Found> found;  // by field: its entry in the cache
    std::vector<FieldBytes> held;     // by field: the bytes or planes to decode from
  };

  void on_fetched(source::FetchRequest& request) override;
  void on_order(const Status& made) override;
  void process(Task& task, unsigned thread);
  Status decode_sample(Task& task, DecodeContext& context);
  void on_bad(Task& task, const Error& error);
  void on_bad_content(Task& task, const Error& error);
  void note_flaw(Task& task, const Error& error, const std::string& name);
  void substitute(Task& task);
  void wait_out(Task& task, const Error& error);
  bool park(Task& task, bool for_memory);
  void note_parked(const std::vector<Task*>& tasks, int64_t sign);
  void finish(Task& task);
  void give_back_bytes(Task& task);
  void fail(const Error& error);
  // Has its sample fetched. A pool thread reads bytes that are in the system's memory itself, without a hand-over.
  enum class On : uint8_t { kControl, kPool };  // the thread that calls
  void launch(Task& task, On thread);
  void begin(Task& task, On thread);

  bool open_next(OpenBatch& open, batch::Slot& slot);  // under the lock, as are the following
  bool assign(Task& task);
  std::vector<Task*> assign_idle();
  void settle(OpenBatch& open);  // when a batch has no task left
  void abandon_all();
  void tell_if_quiet();

  const std::shared_ptr<Pipeline> pipeline_;
  const batch::Layout layout_;
  FillObserver& observer_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<Task*> idle_;
  std::vector<Task*> parked_;        // waiting out a transient fault or for memory; has room for all tasks
  std::vector<OpenBatch> opens_;     // by slot index
  std::deque<OpenBatch*> in_order_;  // open batches by step, without abandoned batches
  uint64_t to_assign_ = 0;           // samples of open batches that no task has taken
  bool wanting_told_ = true;
  const std::unique_ptr<Steps> steps_;
  uint32_t run_ = 0;
  bool failed_ = false, stopped_ = false, quiet_told_ = false;
};

}  // namespace spdld::pipeline
