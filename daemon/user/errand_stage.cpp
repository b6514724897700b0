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

ErrandStage::ErrandStage(Crew& crew, std::vector<const pipeline::Errand*> errands)
    : Stage(account_of(errands.front()->turn)), crew_(crew), errands_(std::move(errands)) {}

pipeline::StageOutcome ErrandStage::start(pipeline::Passage& passage, pipeline::Caller&) {
  passage.walker->on_wait(passage);
  crew_.add({.passage = &passage, .errands = &errands_, .statistics = &statistics_});
  return pipeline::StageOutcome::kUnderWay;
}

}  // namespace spdld::user
