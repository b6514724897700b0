// A stage whose work is the outputs' operations, on the threads of the pool. Any thread starts it; pool threads work,
// each with a DecodeContext of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/fair_pool.h"
#include "daemon/pipeline/plan.h"
#include "daemon/pipeline/stage.h"

namespace spdld::pipeline {

class PoolStage : public Stage {
 public:
  // All but the numbers are borrowed.
  struct Uses {
    const Plan& plan;
    std::vector<DecodeContext>& contexts;  // one for each of the pool's runners
    FairPool& pool;
    ByteBudget* memory;  // null: no bound
    uint64_t seed;
    uint64_t subject;  // of recordings
  };

  // A sample that lacks memory leaves the pool, and comes back once it is lent the memory.
  StageOutcome start(Passage& passage, Caller& caller) override;
  void let_go(Passage& passage, Keep keep) const override;
  void drop_unwanted() const override {
    if (uses_.memory != nullptr) uses_.memory->drop_unwanted();
  }
  uint64_t busy_ns() const override { return statistics_.duration_ns.sum(); }
  unsigned concurrency() const override { return uses_.pool.concurrency(); }

 protected:
  // `turn`: of the errands that are before its work; 0: none.
  PoolStage(StageAccount account, const Uses& uses, size_t turn);
  const Plan& plan() const { return uses_.plan; }

 private:
  // Before the work: false: the sample's way begins anew.
  virtual bool begin(Passage& /*passage*/) { return true; }
  virtual Status run(Passage& passage, const Draws& draws, DecodeContext& context,
                     const Plan::Target& target) const = 0;
  // Behind the work, which took so long and had memory. Whether the sample's way begins anew; it may set the status.
  virtual bool end(Passage& /*passage*/, uint64_t /*took_ns*/, Status& /*status*/) const { return false; }

  StageOutcome work(Passage& passage, Caller& caller);
  Status try_run(Passage& passage, unsigned thread, uint64_t& parked_ns) const;

  const Uses uses_;
  std::vector<size_t> carried_;  // places in Passage::carried that it has read or written
};

}  // namespace spdld::pipeline
