// A task of a stream takes neighbouring samples of an open batch, and walks one after another through the stages of the
// pipeline. It is made of parts. Each part keeps rules of its own:
//
//   Passage      The sample as the stages see it, with its bytes and its place in the slot.
//   Cursor       Which samples are the task's, at which of them it is, and how many their batch has not been told of.
//   Progress     Which stage the sample is at, and which substitute stands in its place.
//   Waiting      The fault or the lack of memory that is waited out, and since when.
//   PoolWait     The wait for a turn of a pool thread.
//
// One thread at a time has a task: its stream, a stage, or nobody while it waits. Functions that are for the stream's
// lock say so.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/base/fair_pool.h"
#include "daemon/pipeline/open_batch.h"
#include "daemon/pipeline/stage.h"
#include "daemon/pipeline/steps.h"
#include "daemon/pipeline/stream.h"

namespace spdld::pipeline {

// The samples that a task has taken. The cheaper they turn out to be, the more it takes at once; a sample that waits
// has no others behind it.
class Cursor {
 public:
  static constexpr uint64_t kTakenMax = 32;  // at once

  // `sources`: of the pipeline; batches of a mix are told how many samples they have of each.
  explicit Cursor(size_t sources) : of_source_(sources > 1 ? sources : 0) {}

  OpenBatch& batch() const { return *open_; }
  const Steps::Sample& sample() const { return samples_[at_]; }
  uint64_t index() const { return taken_.first + at_; }  // of that sample, in the batch
  uint64_t taken() const { return taken_.count; }

  // The first samples of a batch, under the stream's lock. False: others took the rest of it meanwhile.
  bool take_of(OpenBatch& open, unsigned threads);
  // Further samples of the same batch, without the lock, where the last one is still to be told. False: none is left.
  bool take_more(unsigned threads);
  // Goes to the first of the samples that were taken. `now_ns`: 0: not known.
  void begin(Steps& steps, uint64_t now_ns);
  void count_source() {
    if (!of_source_.empty()) ++of_source_[sample().source];
  }
  // The sample is absent from its batch. Precondition: count_source() was called for it.
  void uncount_source() {
    if (!of_source_.empty()) --of_source_[sample().source];
  }
  // The sample is finished. Whether there is another one behind it.
  bool step_on() {
    ++finished_;
    return ++at_ < taken_.count;
  }

  // The samples behind this one, which the task has not begun. give_back(): they are others' again, under the lock.
  uint64_t rest() const { return taken_.count - at_ - 1; }
  void give_back_rest();
  // The task leaves the batch, under the lock, and tells it which samples are finished. Samples that were taken and are
  // left belong to an abandoned batch.
  void leave();

  // More samples at once where the last ones took little time, fewer where one of them would keep others waiting.
  void pace(uint64_t now_ns);
  void forget_start() { start_ns_ = 0; }  // they had to wait for a turn: nothing is known of their cost
  void slow_down() { most_ = 1; }

 private:
  OpenBatch* open_ = nullptr;
  SampleRange taken_;
  uint64_t at_ = 0;  // the next one of taken_
  std::array<Steps::Sample, kTakenMax> samples_;
  uint64_t start_ns_ = 0;            // 0: not known
  uint64_t most_ = 1;                // how many samples it takes next time
  uint64_t finished_ = 0;            // samples that the batch has not been told of
  std::vector<uint32_t> of_source_;  // of a mix: samples by source, that it has not been told of
};

// How far a sample is. Another sample may stand in its place, and begins anew.
class Progress {
 public:
  // How many substitutes are tried for one place: with bad content, and in all. Samples that are left out may be most
  // of a data set: a function that keeps one sample in fifty finds one among so many, but for one place in a billion.
  static constexpr uint32_t kAttemptsMax = 8, kLeftOutMax = 1024;

  size_t stage() const { return stage_; }        // an index of Pipeline::stages()
  uint32_t attempt() const { return attempt_; }  // 0: the sample itself; then its substitutes

  bool has_bad_content() const { return bad_ > 0; }  // the sample, or one of its substitutes

  void begin_sample() {
    stage_ = 0;
    attempt_ = bad_ = 0;
  }
  void begin_anew() { stage_ = 0; }
  void begin_at(size_t stage) { stage_ = stage; }
  void go_on() { ++stage_; }
  // Another sample is to stand there, since this one can't be used. False: too many were tried.
  bool substitute(bool has_bad_content) {
    bad_ += has_bad_content ? 1 : 0;
    ++attempt_;
    stage_ = 0;
    return attempt_ <= kLeftOutMax && bad_ <= kAttemptsMax;
  }

 private:
  size_t stage_ = 0;
  uint32_t attempt_ = 0;
  uint32_t bad_ = 0;  // how many of them had bad content
};

// A sample waits for a stage whose work fails, such as a source that is down, or for memory. Each wait is measured from
// its own beginning, and goes on while the sample is tried anew in vain.
class Waiting {
 public:
  bool is_for_memory() const { return is_for_memory_; }

  void begin_sample() { fault_since_ns_ = memory_since_ns_ = 0; }
  void note_answer() { fault_since_ns_ = 0; }  // of the stage
  void begin_finishing() { memory_since_ns_ = 0; }
  Stage* stage() const { return stage_; }  // whose fault was waited out last; null: there was none
  // Begins the wait, or goes on with it. Returns for how long the task has waited.
  uint64_t wait(bool for_memory, uint64_t now_ns) {
    if (!for_memory) memory_since_ns_ = 0;
    uint64_t& since_ns = for_memory ? memory_since_ns_ : fault_since_ns_;
    if (since_ns == 0) since_ns = now_ns;
    return now_ns - since_ns;
  }
  // The task is parked until the next tick.
  void park(Stage& stage, bool for_memory) {
    stage_ = &stage;
    is_for_memory_ = for_memory;
  }
  // The stage tries again after a fault and has not succeeded, or that is over. Whether this is news.
  bool note_asked_again(bool is_asked_again) {
    return std::exchange(is_asked_again_, is_asked_again) != is_asked_again;
  }

 private:
  uint64_t fault_since_ns_ = 0;   // of the transient fault that is waited out; 0: none
  uint64_t memory_since_ns_ = 0;  // since when there has been no memory; 0: there is
  Stage* stage_ = nullptr;
  bool is_for_memory_ = false;
  bool is_asked_again_ = false;
};

class PoolWait {
 public:
  uint64_t since_ns() const { return since_ns_; }
  Stage& stage() const { return *stage_; }  // for whose work the turn is; once it has begun
  // `pending`: what the sample's stage has answered, for the pool thread; none: the stage is to begin there.
  void begin(Stage& stage, std::optional<StageOutcome> pending, uint64_t now_ns) {
    stage_ = &stage;
    pending_ = pending;
    since_ns_ = now_ns;
  }
  std::optional<StageOutcome> end() { return std::exchange(pending_, std::nullopt); }

 private:
  Stage* stage_ = nullptr;
  std::optional<StageOutcome> pending_;
  uint64_t since_ns_ = 0;
};

struct Stream::Task final : FairTask, Passage {
  explicit Task(Stream& its_stream);

  void run(unsigned thread) override { stream.on_turn(*this, thread); }
  // The passage becomes the cursor's sample's. `spare_time`: for a better form of it; null: there is none.
  void begin_sample(SpareTime* spare_time);

  Stream& stream;
  Cursor cursor;
  Progress progress;
  Waiting waiting;
  PoolWait pool_wait;
  bool is_finishing = false;  // all samples of the batch are there, and this task finishes it
};

}  // namespace spdld::pipeline
