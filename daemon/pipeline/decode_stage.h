// The second stage of a sample's way: from its bytes to its tensors in the slot. Any thread starts it; pool threads
// work, each with a DecodeContext of its own.
#pragma once

#include <vector>

#include "daemon/base/fair_pool.h"
#include "daemon/pipeline/plan.h"
#include "daemon/pipeline/stage.h"

namespace spdld::pipeline {

StageAccount account_of_decode();

class DecodeStage final : public Stage {
 public:
  // All but the numbers are borrowed.
  struct Uses {
    const Plan& plan;
    const Caching& caching;
    std::vector<DecodeContext>& contexts;  // one for each of the pool's runners
    FairPool& pool;
    const FairPool::Lane& lane;
    ByteBudget* memory;  // null: no bound
    uint64_t seed;
    uint64_t subject;  // of recordings
  };
  explicit DecodeStage(const Uses& uses) : Stage(account_of_decode()), uses_(uses) {}

  // A sample that lacks memory leaves the pool, and comes back once it is lent the memory.
  StageOutcome start(Passage& passage, Caller& caller) override;
  void let_go(Passage& passage, Keep) const override { passage.room.give_back(); }
  void drop_unwanted() const override {
    if (uses_.memory != nullptr) uses_.memory->drop_unwanted();
  }
  uint64_t busy_ns() const override { return uses_.lane.busy_ns().value(); }
  unsigned concurrency() const override { return uses_.pool.concurrency(); }

 private:
  StageOutcome work(Passage& passage, Caller& caller);
  Status decode(Passage& passage, unsigned thread, uint64_t& parked_ns) const;

  const Uses uses_;
};

}  // namespace spdld::pipeline
