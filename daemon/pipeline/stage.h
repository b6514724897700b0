// The way of a sample is a list of stages. A stream walks each of its samples from one stage to the next and knows none
// of them by name; tuning and reports read the same list, and what each stage says of itself (its account).
//
// Every stage may work asynchronously. A stage that waits for a disk or a network keeps the passage and tells its
// walker later. A stage that computes asks for a turn of a pool thread; within one turn, samples whose bytes are at
// hand are worked on one after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/stage_account.h"
#include "daemon/base/statistics.h"
#include "daemon/batch/contents.h"
#include "daemon/batch/layout.h"
#include "daemon/media/carried.h"
#include "daemon/media/sample_memory.h"
#include "daemon/pipeline/forms/caching.h"
#include "daemon/pipeline/spare_time.h"
#include "daemon/source/fetching/fetcher.h"

namespace spdld::pipeline {

// The result of a passage's stage.
enum class StageOutcome : uint8_t {
  kDone,       // the next stage may begin
  kUnderWay,   // the stage has the passage, and tells its walker once
  kWantsTurn,  // the stage is to be started again on a pool thread whose turn begins
  kFailed,     // Passage::error says why
  kAgain       // the way begins anew, as the passage's fields ask: what was kept is damaged, or more is needed
};

// The thread that starts a stage.
class Caller {
 public:
  // For how long a pool thread goes on with samples that are at hand, before other tasks get their turn.
  static constexpr uint64_t kTurnNs = 200'000;

  Caller() = default;  // any thread that must not work on samples itself
  Caller(unsigned pool_thread, uint64_t now_ns)
      : is_on_pool_(true), thread_(pool_thread), turn_ns_(now_ns), now_ns_(now_ns) {}

  bool is_on_pool() const { return is_on_pool_; }
  bool may_work() const { return is_on_pool_ && now_ns_ - turn_ns_ < kTurnNs; }
  unsigned thread() const { return thread_; }  // of the pool
  // When the last work of this turn ended (monotonic_ns), which is when the next begins: one look at the clock a
  // sample.
  uint64_t now_ns() const { return now_ns_; }
  void set_now(uint64_t now_ns) { now_ns_ = now_ns; }

 private:
  bool is_on_pool_ = false;
  unsigned thread_ = 0;
  uint64_t turn_ns_ = 0, now_ns_ = 0;
};

// One sample on its way. Either its walker or a stage has it.
struct Passage : source::FetchRequest {
  class Walker {
   public:
    // The stage is about to hand the passage to somebody else, who may keep it for long: the walker must not have other
    // samples wait behind it. Called within start().
    virtual void on_wait(Passage& passage) = 0;
    // Whether the passage's end is still of use to anybody. Any thread that works on it. Once false, it stays so.
    virtual bool is_wanted(const Passage& passage) const = 0;
    // After kUnderWay. On any thread; must not block.
    virtual void on_outcome(Passage& passage, StageOutcome outcome) = 0;

   protected:
    ~Walker() = default;
  };

  // The memory that it is lent for the work of a pool thread.
  struct Room final : ByteBudget::Holder, media::SampleMemory::Lender {
    explicit Room(Passage& its_passage) : passage(its_passage) {}
    bool lend(uint64_t bytes) override { return budget->hold(*this, bytes); }
    void on_room() override { passage.walker->on_outcome(passage, StageOutcome::kWantsTurn); }
    bool is_wanted() const override {
      return passage.is_unwanted == nullptr || !passage.is_unwanted->load(std::memory_order_relaxed);
    }
    // Gives back what it has, and waits for so much. The passage is somebody else's before this returns.
    void wait(uint64_t bytes) { budget->wait(*this, bytes); }
    void give_back() {
      if (held_bytes() > 0) budget->give_back(*this);
    }
    Lender* lender() { return budget == nullptr ? nullptr : this; }

    Passage& passage;
    ByteBudget* budget = nullptr;  // of the pipeline; none: no bound
  };
  Room room{*this};

  Walker* walker = nullptr;
  const batch::Layout* layout = nullptr;
  uint8_t* slot = nullptr;                    // the memory that is filled
  memory::SlotMemory* slot_memory = nullptr;  // whose memory that is; null: nobody else can write to it
  uint64_t index = 0;                         // in the batch
  batch::Contents* contents = nullptr;        // of the batch: takes the sample's lengths
  uint64_t pass = 0;                          // of its random draws
  uint64_t batch_number = 0;                  // batch::Batch::number, as the following for recordings alone
  uint64_t fetch_since_ns = 0;                // when a fetcher was asked for its bytes; 0: not recorded
  bool is_again = false;                      // after kAgain: its fields say what is to be fetched
  bool is_counted = false;                    // among the samples that were fetched

  SpareTime* spare = nullptr;  // of its stream, which has some; null: it has none

  std::vector<cache::Found> found;      // by field: its entry in the cache
  std::vector<FieldBytes> held;         // by field: the bytes or planes to decode from
  std::vector<media::Carried> carried;  // between segments: two of each errand of the plan
};

struct StageStatistics {
  StripedCounter samples, bytes, failures;
  StripedHistogram duration_ns;  // of one sample, without waiting for its turn
  StripedHistogram wait_ns;      // of a sample that was handed on: for a thread that reads, or for a turn in the pool
  Gauge waiting;                 // samples that wait for a turn in the pool now
  Gauge waiting_out_faults;      // samples whose work has failed, and is to be tried again or is tried again
};

// One pipeline's use of a stage. Constant but for its statistics; any thread.
class Stage {
 public:
  enum class Keep : uint8_t { kSmall, kNothing };

  explicit Stage(StageAccount account) : account_(std::move(account)) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  const StageAccount& account() const { return account_; }
  // Its place in the way of samples, for recordings. The pipeline says it before the first sample comes.
  uint8_t place() const { return place_; }
  void set_place(uint8_t place) { place_ = place; }
  std::string_view name() const { return account_.name; }
  // Never blocks, but for work on a pool thread. Throws std::bad_alloc where there is no memory before the passage has
  // been handed on.
  virtual StageOutcome start(Passage& passage, Caller& caller) = 0;
  // The passage's stay is over, or begins anew later: gives back what the stage has kept for it, all of it or what is
  // worth keeping for the next sample.
  virtual void let_go(Passage& /*passage*/, Keep /*keep*/) const {}
  // Whether a sample whose trouble here should pass is tried again at this stage, with what the stages before it have
  // made. Otherwise its way begins anew at the first stage.
  virtual bool tries_again_here() const { return false; }
  // Some walker's `is_unwanted` has become true: passages that wait for nothing of their own end now.
  virtual void drop_unwanted() const {}

  const StageStatistics& statistics() const { return statistics_; }
  // Of a stage on the pool: the walker hands a sample to the pool, and its turn begins. Any thread.
  void on_queued() { statistics_.waiting.add(1); }
  void on_turn(uint64_t waited_ns) {
    statistics_.waiting.add(-1);
    statistics_.wait_ns.record(waited_ns);
  }
  void on_fault(int64_t samples) { statistics_.waiting_out_faults.add(samples); }  // they begin or end to wait it out
  // How long it has worked on this pipeline's samples, summed over all that work at once.
  virtual uint64_t busy_ns() const = 0;
  // Its operations of an output, by names that tell them apart there, where it does not do them on the pool: how many
  // samples each has worked on, and for how long in all. Any thread.
  using OperationVisitor =
      std::function<void(const std::string& output, std::string_view name, uint64_t samples, uint64_t busy_ns)>;
  virtual void for_each_operation(const OperationVisitor& /*visit*/) const {}
  // For recordings: how many of this pipeline's samples or tasks wait in it now, or are worked on by somebody else.
  // Samples from before the recording need not count.
  virtual uint64_t waiting() const { return statistics_.waiting.level(); }
  // How many samples more than other stages need it must have at once for its workers to be busy.
  virtual uint64_t further_samples() const { return 0; }
  // On how many samples, of all pipelines, it works at once now.
  virtual unsigned concurrency() const = 0;

 protected:
  StageStatistics statistics_;

 private:
  const StageAccount account_;
  uint8_t place_ = 0;
};

using Stages = std::vector<std::unique_ptr<Stage>>;

class Pipeline;
// Makes a further stage for a pipeline, behind its own stages; null: it needs none. The pipeline outlives the stage.
using StageMaker = std::function<std::unique_ptr<Stage>(const Pipeline&)>;

}  // namespace spdld::pipeline
