// Samples that fail: bad content is substituted, masked or fatal, and trouble that should pass is waited out.
#include <algorithm>
#include <string>
#include <utility>

#include "daemon/base/system/log.h"
#include "daemon/pipeline/stream_task.h"

namespace spdld::pipeline {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

batch::FlawKind flaw_kind_of(Trouble trouble) {
  if (trouble == Trouble::kTooLong) return batch::FlawKind::kTooLong;
  if (trouble == Trouble::kDropped) return batch::FlawKind::kDropped;
  return trouble == Trouble::kUnsupported ? batch::FlawKind::kUnsupported : batch::FlawKind::kDamaged;
}

}  // namespace

bool Stream::on_bad(Task& task, const Caller& caller) {
  const Trouble trouble = task.error.trouble;
  if (trouble == Trouble::kTransient || trouble == Trouble::kMemory) return wait_out(task, caller);
  if (trouble == Trouble::kContent || trouble == Trouble::kUnsupported || trouble == Trouble::kTooLong ||
      trouble == Trouble::kDropped)
    return on_bad_content(task, caller);
  fail(task.error);
  return finish(task, caller);
}

void Stream::note_flaw(Task& task, const Error& error, const std::string& name) {
  const batch::FlawKind kind = flaw_kind_of(error.trouble);
  pipeline_->statistics().found_as(kind).add();
  pipeline_->errors().add(task.sample, task.cursor.batch().batch.position.epoch, name, error.message, kind);
  // A sample that is left out is no fault of the data set's.
  const log::Level level = batch::is_left_out(kind) ? log::Level::kDebug : log::Level::kWarn;
  log::limited(level, {pipeline_->spec().name, task.sample}, "pipeline {}: sample {} ({}) can't be used: {}",
               pipeline_->spec().name, task.sample, name, error.message);
  if (task.progress.attempt() > 0) return;  // what is wrong with a substitute is nothing of this place's
  const std::lock_guard lock(mutex_);
  task.cursor.batch().batch.flaws.push_back(
      {static_cast<uint32_t>(task.index), kind, task.sample, name, error.message});
}

// Where substitutes have begun to stand for the sample, they go on to.
Stream::Fate Stream::fate_of(const Task& task, bool is_left_out) const {
  const config::PipelineSpec& spec = pipeline_->spec();
  if (!is_left_out && spec.on_bad == config::OnBad::kFail) return Fate::kFails;
  if (task.progress.attempt() > 0) return Fate::kSubstituted;
  if (!is_left_out) return spec.on_bad == config::OnBad::kMask ? Fate::kMasked : Fate::kSubstituted;
  if (spec.drops_by() == config::OnDrop::kShorter) return Fate::kAbsent;
  return spec.drops_by() == config::OnDrop::kMask ? Fate::kMasked : Fate::kSubstituted;
}

bool Stream::on_bad_content(Task& task, const Caller& caller) {
  const Error error = std::move(task.error);
  task.waiting.note_answer();
  note_asked_again(task, false);
  const std::string name = pipeline_->listing().name(task.sample);
  note_flaw(task, error, name);
  const bool is_left_out = batch::is_left_out(flaw_kind_of(error.trouble));
  batch::Batch& batch = task.cursor.batch().batch;
  switch (fate_of(task, is_left_out)) {
    case Fate::kFails:
      fail({Trouble::kContent, "sample " + std::to_string(task.sample) + " (" + name +
                                   ") can't be used, and on_bad is \"fail\": " + error.message});
      break;
    case Fate::kMasked: {
      pipeline_->plan().write_masked(task.sample, {layout_, task.slot, task.index, task.contents});
      pipeline_->statistics().masked.add();
      std::lock_guard lock(mutex_);
      batch.masked.push_back(static_cast<uint32_t>(task.index));
      break;
    }
    case Fate::kAbsent: {
      task.cursor.uncount_source();
      pipeline_->statistics().absent.add();
      std::lock_guard lock(mutex_);
      batch.absent.push_back(static_cast<uint32_t>(task.index));
      break;
    }
    case Fate::kSubstituted:
      if (!task.progress.substitute(!is_left_out)) {
        fail(no_substitute(task, error, name));
        break;
      }
      let_go(task, Stage::Keep::kSmall);
      substitute(task);
      return true;
  }
  return finish(task, caller);
}

Error Stream::no_substitute(const Task& task, const Error& error, const std::string& name) {
  const std::string all = "sample " + std::to_string(task.sample) + " (" + name + ") and all " +
                          std::to_string(task.progress.attempt() - 1) + " substitutes ";
  if (error.trouble == Trouble::kDropped && !task.progress.has_bad_content())
    return {Trouble::kContent, all + "were dropped: " + error.message +
                                   ". Write on_drop = \"shorter\" for a function that keeps so few, or list only the "
                                   "samples that it keeps"};
  return {Trouble::kContent,
          all + "can't be used: look at `spdlctl errors`; is this the right data set? Last: " + error.message};
}

void Stream::substitute(Task& task) {
  task.sample = steps_->substitute(task.cursor.batch().step, task.index, task.progress.attempt());
  if (task.progress.attempt() > 1) return;
  pipeline_->statistics().substituted.add();
  std::lock_guard lock(mutex_);
  task.cursor.batch().batch.substituted.push_back(static_cast<uint32_t>(task.index));
}

// A store that is down, or a node that is short of memory, is no reason to train on something else: the sample is tried
// again until that has passed.
bool Stream::wait_out(Task& task, const Caller& caller) {
  const Error error = std::move(task.error);
  const bool for_memory = error.trouble == Trouble::kMemory;
  if (for_memory) pipeline_->statistics().memory_waits.add();
  Stage& stage = stage_of(task);
  // Memory that is short is given back, whatever the sample has come to.
  const size_t from = !for_memory && stage.tries_again_here() ? task.progress.stage() : 0;
  let_go(task, for_memory ? Stage::Keep::kNothing : Stage::Keep::kSmall, from);
  on_wait(task);
  const Parked parked = park(task, for_memory, from);
  if (parked == Parked::kYes) return false;
  if (parked == Parked::kUnwanted) return leave(task, caller);
  const Patience& patience = pipeline_->resources().patience;
  if (for_memory) {
    fail({Trouble::kMemory, "the node was short of memory for " + std::to_string(patience.memory_ns_max / kSecondNs) +
                                " s, and sample " + pipeline_->listing().name(task.sample) +
                                " could not be fetched and decoded: give the daemon more memory, or lower "
                                "cache.ram_bytes_max or limits.slot_bytes_max"});
  } else {
    fail({Trouble::kTransient, stage.account().faulty + " did not recover within " +
                                   std::to_string(patience.fault_ns_max / kSecondNs) + " s: " + error.message});
  }
  return finish(task, caller);
}

// It begins again at stage `from`. kTooLong: the task has waited for long enough.
Stream::Parked Stream::park(Task& task, bool for_memory, size_t from) {
  const Patience& patience = pipeline_->resources().patience;
  const uint64_t now_ns = patience.now_ns();
  const uint64_t wait_ns_max = for_memory ? patience.memory_ns_max : patience.fault_ns_max;
  const std::lock_guard lock(mutex_);
  if (stopped_ || failed_ || task.cursor.batch().is_abandoned()) return Parked::kUnwanted;
  if (task.waiting.wait(for_memory, now_ns) >= wait_ns_max) return Parked::kTooLong;
  note_asked_again(task, false);
  task.waiting.park(stage_of(task), for_memory);
  task.progress.begin_at(from);
  parked_.push_back(&task);
  note_parked(task, 1);
  return Parked::kYes;
}

// A store that fails is asked seldom, so that a sample may wait there for long.
void Stream::note_asked_again(Task& task, bool is_asked_again) {
  if (!task.waiting.note_asked_again(is_asked_again)) return;
  pipeline_->statistics().asked_again.add(is_asked_again ? 1 : -1);
  task.waiting.stage()->on_fault(is_asked_again ? 1 : -1);
}

void Stream::note_parked(const Task& task, int64_t sign) {
  auto& statistics = pipeline_->statistics();
  if (task.waiting.is_for_memory()) return statistics.waiting_for_memory.add(sign);
  statistics.waiting_out_faults.add(sign);
  task.waiting.stage()->on_fault(sign);
}

}  // namespace spdld::pipeline
