#include "daemon/pipeline/decode_stage.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "daemon/base/cpu.h"
#include "daemon/base/memory_reserve.h"
#include "daemon/base/trace.h"

namespace spdld::pipeline {
namespace {

constexpr size_t kKeptPixelBytesMax = 16u << 20;  // larger buffers of a thread are given back after use

bool is_upgraded(const Passage& passage) {
  return std::any_of(passage.held.begin(), passage.held.end(),
                     [](const FieldBytes& field) { return field.is_upgrade; });
}

}  // namespace

Outcome DecodeStage::start(Passage& passage, Caller& caller) {
  if (!caller.may_work()) return Outcome::kWantsTurn;
  if (!uses_.caching.settle(passage, passage.found, passage.held)) return Outcome::kAgain;
  const uint64_t start_ns = caller.now_ns(), recorded_ns = trace::begin(uses_.subject);
  Status status = decode(passage, uses_.contexts[caller.thread()]);
  caller.set_now(monotonic_ns());
  statistics_.duration_ns.record(caller.now_ns() - start_ns);
  if (passage.spare && is_upgraded(passage)) passage.spare->spend(caller.now_ns() - start_ns);
  if (recorded_ns)
    trace::note(uses_.subject, {.start_ns = recorded_ns,
                                .duration_ns = caller.now_ns() - recorded_ns,
                                .batch = passage.batch_number,
                                .sample = passage.sample,
                                .index = static_cast<uint32_t>(passage.index),
                                .what = trace::What::kDecode,
                                .failed = !status});
  uses_.caching.keep_indexes(passage, passage.held);
  if (!status && status.error().trouble == Trouble::kUnread) {
    status = IndexShelves::ask_further(passage, passage.held);
    if (status) return Outcome::kAgain;
  }
  if (status) {
    statistics_.samples.add();
    return Outcome::kDone;
  }
  statistics_.failures.add();
  passage.error = std::move(status.error());
  return Outcome::kFailed;
}

// An exception must not reach the pool: it would end the daemon. Memory that is short now may be there again later.
Status DecodeStage::decode(Passage& passage, DecodeContext& context) const try {
  const memory_reserve::Spared spared;
  const Draws draws{uses_.seed, passage.pass, passage.sample};
  Status status = uses_.plan.run({*passage.listing, passage.sample, passage.held}, draws, context,
                                 {*passage.layout, passage.slot, passage.index, passage.contents});
  context.shrink(kKeptPixelBytesMax);
  return status;
} catch (const std::bad_alloc&) {
  context.shrink(0);
  return Error{Trouble::kMemory, {}};  // a sentence would need memory
} catch (const std::exception& e) {
  return Error{Trouble::kInternal, "decoding " + passage.listing->name(passage.sample) + " failed: " + e.what()};
}

}  // namespace spdld::pipeline
