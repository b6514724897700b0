#include "daemon/user/errand_stage.h"

#include <string>
#include <utility>

namespace spdld::user {
namespace {

StageAccount account_of(size_t turn) {
  return {.name = turn == 1 ? "python" : "python-" + std::to_string(turn),
          .work = "Running user code",
          .at = "in",
          .lane = "worker",
          .more = "With processes = # under [python] in place of @",
          .faulty = "the processes of user code"};
}

}  // namespace

StageAccount account_of_making() {
  StageAccount account = account_of(1);
  account.reads_source = true;
  account.name = "fetch";
  account.work = "Making the items of the data set";
  return account;
}

ErrandStage::ErrandStage(Crew& crew, std::vector<const pipeline::Errand*> errands)
    : Stage(account_of(errands.front()->turn)), crew_(crew), errands_(std::move(errands)) {}

pipeline::StageOutcome ErrandStage::start(pipeline::Passage& passage, pipeline::Caller&) {
  passage.walker->on_wait(passage);
  crew_.add({.passage = &passage, .errands = &errands_, .customer = this});
  return pipeline::StageOutcome::kUnderWay;
}

void ErrandStage::on_done(const Job& job, Status status, ScratchPiece) {
  pipeline::Passage& passage = *job.passage;
  const bool is_ok = static_cast<bool>(status);
  statistics_.duration_ns.record(job.call_ns);
  (is_ok ? statistics_.samples : statistics_.failures).add();
  if (!is_ok) passage.error = std::move(status.error());
  passage.walker->on_outcome(passage, is_ok ? pipeline::StageOutcome::kDone : pipeline::StageOutcome::kFailed);
}

}  // namespace spdld::user
