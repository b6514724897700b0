// The stages that make a sample's tensors: from its bytes to its tensors in the slot; and, where other executors do a
// part of that, behind each of their turns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/pipeline/pool_stage.h"

namespace spdld::pipeline {

StageAccount account_of_decode();
// `turn`: of the errands that are before it.
StageAccount account_of_transform(size_t turn);

// The second stage of a sample's way.
class DecodeStage final : public PoolStage {
 public:
  // `caching` and `lane` are borrowed. The lane counts all the work of the pipeline's threads, this stage's alone where
  // no other stage has a turn of them.
  DecodeStage(const Uses& uses, const Caching& caching, const FairPool::Lane& lane)
      : PoolStage(account_of_decode(), uses, 0), caching_(caching), lane_(lane) {}

  uint64_t busy_ns() const override {
    return plan().errands().empty() ? lane_.busy_ns().value() : PoolStage::busy_ns();
  }

 private:
  bool begin(Passage& passage) override { return caching_.settle(passage, passage.found, passage.held); }
  Status run(Passage& passage, const Draws& draws, DecodeContext& context, const Plan::Target& target) const override;
  bool end(Passage& passage, uint64_t took_ns, Status& status) const override;

  const Caching& caching_;
  const FairPool::Lane& lane_;
};

// The work of the decode threads behind a turn of errands.
class TransformStage final : public PoolStage {
 public:
  TransformStage(const Uses& uses, size_t turn) : PoolStage(account_of_transform(turn), uses, turn), turn_(turn) {}
  // The results of the errands are there.
  bool tries_again_here() const override { return true; }

 private:
  Status run(Passage& passage, const Draws& draws, DecodeContext& context, const Plan::Target& target) const override;

  const size_t turn_;
};

}  // namespace spdld::pipeline
