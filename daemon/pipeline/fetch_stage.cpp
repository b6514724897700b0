#include "daemon/pipeline/fetch_stage.h"

#include <utility>

#include "daemon/base/cpu.h"

namespace spdld::pipeline {
namespace {

// Buffers above it are given back after use. Kept buffers do not count among the bytes in flight.
constexpr size_t kKeptBytesMax = 256u << 10;

}  // namespace

// Nothing is allocated once the passage has been handed on.
Outcome FetchStage::start(Passage& passage, Caller& caller) {
  if (is_at_hand_ && !caller.is_on_pool()) return Outcome::kWantsTurn;
  const bool is_again = std::exchange(passage.is_again, false);
  passage.ok = true;
  if (!is_again && !caching_.look_up(passage, passage.found)) return Outcome::kDone;
  passage.observer = this;
  // A pool thread reads bytes that are in the system's memory itself, without a hand-over.
  if (!is_again && caller.is_on_pool() && fetcher_.fetch_at_hand(passage)) {
    note(passage);
    caller.set_now(monotonic_ns());
    return Outcome::kDone;
  }
  passage.lends_bytes = true;
  passage.walker->on_wait(passage);
  fetcher_.fetch(passage);
  return Outcome::kUnderWay;
}

void FetchStage::on_fetched(source::FetchRequest& request) {
  auto& passage = static_cast<Passage&>(request);
  note(passage);
  passage.walker->on_outcome(passage, passage.ok ? Outcome::kDone : Outcome::kFailed);
}

void FetchStage::note(const Passage& passage) {
  statistics_.duration_ns.record(passage.duration_ns);
  if (!passage.ok) return statistics_.failures.add();
  statistics_.samples.add();
  for (size_t i = 0; i < passage.bytes.size(); ++i) statistics_.bytes.add(passage.bytes_of(i).size());
}

void FetchStage::let_go(Passage& passage, Keep keep) const {
  fetcher_.end_loan(passage);
  passage.end_borrowing();
  for (auto& bytes : passage.bytes) bytes.shrink(keep == Keep::kSmall ? kKeptBytesMax : 0);
  if (passage.budget) passage.budget->give_back(passage);
}

}  // namespace spdld::pipeline
