// Batches whose samples are all there, and that are not finished yet.
#include <exception>
#include <new>
#include <string>

#include "daemon/pipeline/stream_task.h"

namespace spdld::pipeline {

// The batch may be abandoned at any moment meanwhile. Its slot is not given back before this task has left it.
bool Stream::finish_batch(Task& task, const Caller& caller) {
  OpenBatch& open = task.cursor.batch();
  if (!open.is_abandoned()) {
    if (!has_room_to_finish(task, caller.thread())) return false;
    const Status made = run_finisher(open);
    task.room.give_back();
    if (!made && waits_to_finish(task, made.error())) return false;
  }
  task.room.give_back();  // also of a batch that was abandoned while it waited
  task.is_finishing = false;
  {
    const std::lock_guard lock(mutex_);
    if (!open.is_abandoned()) open.end_finishing();
    settle(open);
    if (!find_samples_or_rest(task)) return false;
  }
  begin_taken(task, caller.now_ns());
  return true;
}

// Memory is lent to a batch as to a sample. False: the task waits for it, and comes back.
bool Stream::has_room_to_finish(Task& task, unsigned thread) const {
  const uint64_t own_bytes = pipeline_->resources().contexts[thread].workspace.memory().own_bytes();
  const uint64_t bytes = finisher_->bytes_of(task.cursor.batch().batch);
  if (bytes <= own_bytes || task.room.budget == nullptr || task.room.lend(bytes - own_bytes)) return true;
  task.room.wait(bytes - own_bytes);
  return false;
}

// A batch of no sample: its finisher has as little to do as it is rare.
void Stream::finish_empty(OpenBatch& open) {
  const Status made = finisher_ ? run_finisher(open) : Status(Done{});
  if (!made) return fail_locked(made.error());
  open.end_finishing();
  settle(open);
}

// An exception must not reach the pool: it would end the daemon. Memory that is short now may be there again later.
Status Stream::run_finisher(OpenBatch& open) try {
  const uint64_t start_ns = trace::begin(pipeline_->subject());
  Status made = finisher_->finish(open.batch, open.memory);
  if (start_ns)
    trace::note(pipeline_->subject(), {.start_ns = start_ns,
                                       .duration_ns = monotonic_ns() - start_ns,
                                       .batch = open.batch.number,
                                       .what = trace::What::kFinish,
                                       .failed = !made});
  return made;
} catch (const std::bad_alloc&) {
  return Error{Trouble::kMemory, {}};  // a sentence would need memory
} catch (const std::exception& e) {
  return Error{Trouble::kInternal,
               "finishing the batch of step " + std::to_string(open.batch.position.step) + " failed: " + e.what()};
}

// False: the stream has failed, or the batch is wanted no more.
bool Stream::waits_to_finish(Task& task, const Error& error) {
  if (error.trouble != Trouble::kMemory) {
    fail(error);
    return false;
  }
  pipeline_->statistics().memory_waits.add();
  const Parked parked = park(task, true, 0);
  if (parked != Parked::kTooLong) return parked == Parked::kYes;
  fail({Trouble::kMemory,
        "the node was short of memory for too long, and the batch of step " +
            std::to_string(task.cursor.batch().batch.position.step) +
            " could not be finished: give the daemon more memory, or lower cache.ram_bytes_max or batch.size"});
  return false;
}

}  // namespace spdld::pipeline
