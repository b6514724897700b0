#include "daemon/user/errand_stage.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "config/segments.h"

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

void ErrandStage::for_each_operation(const OperationVisitor& visit) const {
  for (const pipeline::Errand* const errand : errands_) {
    // Calls of one function at several places are one entry.
    std::map<std::string_view, OperationTime> by_call;
    const std::vector<OperationTime> times = crew_.times_of(*errand);
    for (size_t i = 0; i < times.size(); i++) {
      OperationTime& time = by_call[errand->ops[i].text("call")];
      time.samples = std::max(time.samples, times[i].samples);
      time.ns += times[i].ns;
    }
    for (const auto& [call, time] : by_call) visit(errand->output, call, time.samples, time.ns);
  }
}

// A bunch for each worker, and one that waits; or as many as the workers have under way at once.
uint64_t ErrandStage::further_samples() const {
  uint64_t most = 0;
  const uint64_t workers = crew_.settings().workers;
  for (const pipeline::Errand* const errand : errands_) {
    most = std::max<uint64_t>(most, (workers + 1) * config::bunch_of(errand->ops.front()));
    for (const config::OperationSpec& op : errand->ops) most = std::max(most, workers * config::in_flight_of(op));
  }
  return most;
}

void ErrandStage::on_done(const Job& job, Status status, ScratchPiece) {
  pipeline::Passage& passage = *job.passage;
  const bool is_ok = static_cast<bool>(status);
  statistics_.duration_ns.record(job.call_ns);
  const bool is_dropped = !is_ok && status.error().trouble == Trouble::kDropped;
  (is_ok || is_dropped ? statistics_.samples : statistics_.failures).add();
  if (!is_ok) passage.error = std::move(status.error());
  passage.walker->on_outcome(passage, is_ok ? pipeline::StageOutcome::kDone : pipeline::StageOutcome::kFailed);
}

}  // namespace spdld::user
