// The stage in which a crew does the errands of one turn. Any thread.
#pragma once

#include <vector>

#include "daemon/pipeline/stage.h"
#include "daemon/user/crew.h"

namespace spdld::user {

// The account of a first stage whose samples a crew makes.
StageAccount account_of_making();

class ErrandStage final : public pipeline::Stage, private Customer {
 public:
  // Borrows the crew.
  ErrandStage(Crew& crew, std::vector<const pipeline::Errand*> errands);

  pipeline::StageOutcome start(pipeline::Passage& passage, pipeline::Caller& caller) override;
  void drop_unwanted() const override { crew_.drop_unwanted(); }
  uint64_t busy_ns() const override { return statistics_.duration_ns.sum(); }
  uint64_t waiting() const override { return crew_.waiting(); }
  uint64_t further_samples() const override;
  unsigned concurrency() const override { return crew_.workers(); }
  void for_each_operation(const OperationVisitor& visit) const override;

 private:
  void on_done(const Job& job, Status status, ScratchPiece record) override;

  Crew& crew_;
  const std::vector<const pipeline::Errand*> errands_;
};

}  // namespace spdld::user
