#include "daemon/pipeline/fetch_stage.h"

#include <algorithm>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/base/trace.h"

namespace spdld::pipeline {
namespace {

// Buffers above it are given back after use. Kept buffers do not count among the bytes in flight.
constexpr size_t kKeptBytesMax = 256u << 10;

bool asks_for_parts(const Passage& passage) {
  return std::any_of(passage.fields.begin(), passage.fields.end(),
                     [](const auto& field) { return field.want == source::FieldFetch::Want::kParts; });
}

uint64_t bytes_in(const Passage& passage, size_t i) {
  const bool is_placed = i < passage.fields.size() && passage.fields[i].is_placed;
  return is_placed ? passage.fields[i].content_bytes : passage.bytes_of(i).size();
}

}  // namespace

StageAccount account_of_fetch(bool is_remote) {
  StageAccount account{.reads_source = true, .name = "fetch", .work = "Reading", .at = "with", .behind = " at once"};
  if (is_remote) {
    account.lane = "request";
    account.more =
        "With connections_max = # of the store in place of @ in the daemon's file, if the store takes so many at once";
  } else {
    account.tuned_as = account.role = "fetch";
    account.lane = "read";
    account.more = "With fetch_concurrency = # in place of @ in the daemon's file, if the disk takes so many at once";
  }
  return account;
}

// Nothing is allocated once the passage has been handed on.
StageOutcome FetchStage::start(Passage& passage, Caller& caller) {
  if (is_at_hand_ && !caller.is_on_pool()) return StageOutcome::kWantsTurn;
  const bool is_again = std::exchange(passage.is_again, false);
  passage.ok = true;
  if (!is_again) passage.is_counted = false;
  if (!is_again && !caching_.look_up(passage, passage.found, passage.held, passage.spare != nullptr))
    return StageOutcome::kDone;
  passage.observer = this;
  // A pool thread reads bytes that are in the system's memory itself, without a hand-over.
  const uint64_t since_ns = trace::begin(subject_);
  const bool may_be_at_hand = caller.is_on_pool() && (!is_again || asks_for_parts(passage));
  if (may_be_at_hand && fetcher_.fetch_at_hand(passage)) {
    note(passage);
    caller.set_now(monotonic_ns());
    if (since_ns) trace(trace::What::kWork, passage, since_ns, caller.now_ns());
    return StageOutcome::kDone;
  }
  passage.lends_bytes = true;
  passage.fetch_since_ns = since_ns;
  if (since_ns) handed_.add();
  passage.walker->on_wait(passage);
  fetcher_.fetch(passage);
  return StageOutcome::kUnderWay;
}

void FetchStage::on_fetched(source::FetchRequest& request) {
  auto& passage = static_cast<Passage&>(request);
  if (passage.asked_ns > 0) statistics_.wait_ns.record(passage.waited_ns);
  note(passage);
  if (passage.fetch_since_ns) trace_read(passage);
  passage.walker->on_outcome(passage, passage.ok ? StageOutcome::kDone : StageOutcome::kFailed);
}

void FetchStage::note(Passage& passage) {
  statistics_.duration_ns.record(passage.duration_ns);
  const bool is_dropped = !passage.ok && passage.error.trouble == Trouble::kDropped;
  if (!passage.ok && !is_dropped) return statistics_.failures.add();
  if (!std::exchange(passage.is_counted, true)) statistics_.samples.add();
  for (size_t i = 0; passage.ok && i < passage.bytes.size(); ++i) statistics_.bytes.add(bytes_in(passage, i));
}

// A store's sample is with several threads while it is fetched; a file is read by this one.
void FetchStage::trace_read(const Passage& passage) {
  returned_.add();
  const uint64_t now_ns = monotonic_ns(), start_ns = now_ns - std::min(now_ns, passage.duration_ns);
  if (const uint64_t since_ns = passage.fetch_since_ns; since_ns < start_ns)
    trace(trace::What::kWait, passage, since_ns, start_ns);
  trace(store_concurrency_ > 0 ? trace::What::kWorkElsewhere : trace::What::kWork, passage, start_ns, now_ns);
}

void FetchStage::trace(trace::What what, const Passage& passage, uint64_t start_ns, uint64_t end_ns) const {
  uint64_t bytes = 0;
  for (size_t i = 0; passage.ok && i < passage.fields.size(); ++i) bytes += bytes_in(passage, i);
  trace::note(subject_, {.start_ns = start_ns,
                         .duration_ns = end_ns - start_ns,
                         .batch = passage.batch_number,
                         .sample = passage.sample,
                         .value = bytes,
                         .index = static_cast<uint32_t>(passage.index),
                         .what = what,
                         .stage = place(),
                         .failed = !passage.ok});
}

// The two counters are not read at the same moment.
uint64_t FetchStage::waiting() const {
  const uint64_t returned = returned_.value(), handed = handed_.value();
  return handed - std::min(handed, returned);
}

void FetchStage::let_go(Passage& passage, Keep keep) const {
  fetcher_.end_loan(passage);
  passage.end_borrowing();
  for (auto& bytes : passage.bytes) bytes.shrink(keep == Keep::kSmall ? kKeptBytesMax : 0);
  if (passage.budget) passage.budget->give_back(passage);
}

}  // namespace spdld::pipeline
