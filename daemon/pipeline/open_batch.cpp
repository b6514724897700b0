#include "daemon/pipeline/open_batch.h"

#include <algorithm>
#include <utility>

namespace spdld::pipeline {
namespace {

// A task gets at least this part of what it asks for: one that asks for many has samples that cost so little that
// threads lose more by asking again than a batch loses by waiting.
constexpr uint64_t kShortest = 8;

}  // namespace

void OpenBatch::open(const batch::Batch& of, Steps::Step its_step, uint64_t now_ns) {
  batch = of;
  step = std::move(its_step);
  slot_memory = batch.slot->memory.get();
  memory = slot_memory->fill_address();
  start_ns = now_ns;
  remaining_ = batch.slice.count;
  returned_.clear();
  state_.change(Filling::kOpen);
  abandoned_ = false;
  next_ = 0;
}

uint64_t OpenBatch::untaken_in_order() const {
  return batch.slice.count - std::min(next_.load(std::memory_order_relaxed), batch.slice.count);
}

SampleRange OpenBatch::take(uint64_t most, unsigned threads) {
  const uint64_t fair = untaken_in_order() / (2 * uint64_t{threads});
  const uint64_t wanted = std::clamp<uint64_t>(fair, std::max<uint64_t>(most / kShortest, 1), most);
  const uint64_t first = next_.fetch_add(wanted, std::memory_order_relaxed);
  if (first >= batch.slice.count) return {};
  return {first, std::min(wanted, batch.slice.count - first)};
}

SampleRange OpenBatch::take_first(uint64_t most, unsigned threads) {
  if (returned_.empty()) return take(most, threads);
  SampleRange& last = returned_.back();
  const SampleRange one{last.first++, 1};
  if (--last.count == 0) returned_.pop_back();
  return one;
}

void OpenBatch::begin_finishing() {
  std::sort(batch.absent.begin(), batch.absent.end());
  state_.change(Filling::kFinishing);
}

uint64_t OpenBatch::abandon() {
  state_.change(Filling::kAbandoned);
  abandoned_ = true;
  const uint64_t taken = std::min(next_.exchange(batch.slice.count), batch.slice.count);
  uint64_t untaken = batch.slice.count - taken;
  for (const SampleRange& range : std::exchange(returned_, {})) untaken += range.count;
  remaining_ -= untaken;
  return untaken;
}

}  // namespace spdld::pipeline
