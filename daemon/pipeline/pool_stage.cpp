#include "daemon/pipeline/pool_stage.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/memory_reserve.h"
#include "daemon/base/trace.h"

namespace spdld::pipeline {
namespace {

// Larger buffers of a thread are given back after use, also within what the thread may keep.
constexpr uint64_t kKeptPixelBytesMax = 32u << 20;

// A sample's work, for its guard: samples of others may have the thread where they wait.
class Owner final : public media::WorkOwner {
 public:
  // Adds to `parked_ns` for how long others had the thread.
  Owner(const Passage& passage, FairPool& pool, unsigned thread, media::WorkGuard& guard, uint64_t& parked_ns)
      : passage_(passage), pool_(pool), thread_(thread), guard_(guard), parked_ns_(parked_ns) {
    guard_.set_owner(this);
  }
  ~Owner() { guard_.set_owner(nullptr); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  bool is_wanted() const override { return passage_.walker->is_wanted(passage_); }
  void give_way() override { parked_ns_ += pool_.give_way(thread_); }

 private:
  const Passage& passage_;
  FairPool& pool_;
  const unsigned thread_;
  media::WorkGuard& guard_;
  uint64_t& parked_ns_;
};

// Bounds the memory that the thread keeps of a sample for the next one.
void tidy(DecodeContext& context) {
  context.shrink(std::min(kKeptPixelBytesMax, context.workspace.memory().own_bytes()));
  context.end_sample();
}

}  // namespace

PoolStage::PoolStage(StageAccount account, const Uses& uses, size_t turn) : Stage(std::move(account)), uses_(uses) {
  for (const Errand& errand : uses_.plan.errands()) {
    if (errand.turn == turn + 1) carried_.push_back(errand.from);
    if (errand.turn == turn) carried_.push_back(errand.to);
  }
}

// Nobody waits for anything else while he holds this memory, so that samples never wait for one another in a circle.
StageOutcome PoolStage::start(Passage& passage, Caller& caller) {
  if (!caller.may_work()) return StageOutcome::kWantsTurn;
  const StageOutcome outcome = work(passage, caller);
  if (outcome != StageOutcome::kUnderWay) passage.room.give_back();
  return outcome;
}

void PoolStage::let_go(Passage& passage, Keep /*keep*/) const {
  passage.room.give_back();
  for (const size_t at : carried_) passage.carried[at].give_back();
}

StageOutcome PoolStage::work(Passage& passage, Caller& caller) {
  if (!begin(passage)) return StageOutcome::kAgain;
  const uint64_t start_ns = caller.now_ns(), recorded_ns = trace::begin(uses_.subject);
  uint64_t parked_ns = 0;
  Status status = try_run(passage, caller.thread(), parked_ns);
  caller.set_now(monotonic_ns());
  const media::SampleMemory& memory = uses_.contexts[caller.thread()].workspace.memory();
  if (memory.lacks_room()) {
    passage.walker->on_wait(passage);
    passage.room.wait(memory.lent_bytes());
    return StageOutcome::kUnderWay;
  }
  const uint64_t took_ns = caller.now_ns() - start_ns - parked_ns;
  statistics_.duration_ns.record(took_ns);
  if (recorded_ns)
    trace::note(uses_.subject, {.start_ns = recorded_ns,
                                .duration_ns = caller.now_ns() - recorded_ns,
                                .batch = passage.batch_number,
                                .sample = passage.sample,
                                .index = static_cast<uint32_t>(passage.index),
                                .what = trace::What::kWork,
                                .stage = place(),
                                .failed = !status});
  if (end(passage, took_ns, status)) return StageOutcome::kAgain;
  if (status) {
    statistics_.samples.add();
    return StageOutcome::kDone;
  }
  if (passage.walker->is_wanted(passage)) statistics_.failures.add();  // else it was cut off
  passage.error = std::move(status.error());
  return StageOutcome::kFailed;
}

// An exception must not reach the pool: it would end the daemon. Memory that is short now may be there again later.
Status PoolStage::try_run(Passage& passage, unsigned thread, uint64_t& parked_ns) const try {
  const memory_reserve::Spared spared;
  DecodeContext& context = uses_.contexts[thread];
  const Owner owner(passage, uses_.pool, thread, context.workspace.guard(), parked_ns);
  const Draws draws{uses_.seed, passage.pass, passage.sample};
  context.workspace.memory().begin(passage.room.lender(), passage.room.held_bytes());
  Status status =
      run(passage, draws, context, {*passage.layout, passage.slot, passage.index, passage.contents, passage.carried});
  tidy(context);
  return status;
} catch (const media::WorkEnded& ended) {
  tidy(uses_.contexts[thread]);
  return ended.error();
} catch (const std::bad_alloc&) {
  uses_.contexts[thread].shrink(0);
  return Error{Trouble::kMemory, {}};  // a sentence would need memory
} catch (const std::exception& e) {
  return Error{Trouble::kInternal, "decoding " + passage.listing->name(passage.sample) + " failed: " + e.what()};
}

}  // namespace spdld::pipeline
