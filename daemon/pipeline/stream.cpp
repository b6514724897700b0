#include "daemon/pipeline/stream.h"

#include <algorithm>
#include <new>
#include <utility>

#include "daemon/pipeline/stream_task.h"

namespace spdld::pipeline {
namespace {

// Enough to keep every pool thread fed while as many samples again are being fetched, by as many reads as there may be.
size_t window_of(const Pipeline& pipeline, uint64_t batch_size, size_t slots) {
  const Resources& resources = pipeline.resources();
  size_t wanted = 16 + 4 * resources.pool.threads() + resources.fetch_max;
  for (const auto& stage : pipeline.stages()) wanted += stage->further_samples();
  return std::clamp<size_t>(wanted, 1, std::max<size_t>(batch_size * slots, 1));
}

}  // namespace

Stream::Stream(const std::shared_ptr<Pipeline>& pipeline, const sampler::Sharding& sharding,
               const batch::Layout& layout, size_t slots, sampler::Position start, FillObserver& observer)
    : Stream(pipeline, sharding, layout, slots, start, observer, make_finisher(*pipeline, layout)) {}

Stream::Stream(std::shared_ptr<Pipeline> pipeline, const sampler::Sharding& sharding, const batch::Layout& layout,
               size_t slots, sampler::Position start, FillObserver& observer, std::unique_ptr<Finisher> finisher)
    : pipeline_(std::move(pipeline)),
      stages_(pipeline_->stages()),
      layout_(layout),
      observer_(observer),
      finisher_(std::move(finisher)),
      threads_(pipeline_->resources().pool.threads()),
      opens_(slots),
      steps_(make_steps(*pipeline_, sharding, start, *this)) {
  const size_t window = window_of(*pipeline_, sharding.batch_size(), slots);
  for (size_t i = 0; i < window; i++) {
    tasks_.push_back(std::make_unique<Task>(*this));
    idle_.push_back(tasks_.back().get());
  }
  parked_.reserve(window);
}

Stream::~Stream() {
  std::lock_guard lock(mutex_);  // the thread that told on_quiet has left
}

// The flag falls before the count is read. So a task that takes samples meanwhile either changes the count in time, or
// sees the flag and tells the observer.
bool Stream::wants_slot() {
  wanting_told_ = false;
  const bool wants = to_assign_ < tasks_.size();
  if (wants) wanting_told_ = true;
  const std::lock_guard lock(mutex_);
  return wants && steps_->has_next();
}

void Stream::count_taken(uint64_t samples) {
  const uint64_t left = to_assign_.fetch_sub(samples) - samples;
  if (left < tasks_.size() && !wanting_told_ && !wanting_told_.exchange(true)) observer_.on_wanting();
}

Status Stream::push(const sampler::PushedSteps& steps) {
  const std::lock_guard lock(mutex_);
  return steps_->push(steps);
}

bool Stream::open_next(batch::Slot& slot) {
  if (stopped_ || failed_ || !steps_->has_next()) return false;
  OpenBatch& open = opens_.at(slot.index);
  Steps::Step step = steps_->take_next();
  batch::Batch batch{&slot, run_, step.position, step.slice};
  batch.number = pipeline_->next_batch();
  if (const size_t sources = pipeline_->mix().sources().size(); sources > 1) batch.of_source.assign(sources, 0);
  batch::clear(layout_, slot.contents, pipeline_->shape_of(step.position, step.slice));
  const uint64_t now_ns = monotonic_ns();
  spare_.on_batch(now_ns, in_order_.empty());
  open.open(batch, std::move(step), now_ns);
  to_assign_ += open.batch.slice.count;
  in_order_.push_back(&open);
  if (open.is_whole()) finish_empty(open);
  return true;
}

bool Stream::fill(batch::Slot& slot) {
  std::vector<Task*> ready;
  {
    std::lock_guard lock(mutex_);
    if (!open_next(slot)) return false;
    ready = assign_idle();
  }
  launch(ready);
  return true;
}

void Stream::launch(const std::vector<Task*>& tasks) {
  for (Task* task : tasks) {
    Caller caller;
    begin_taken(*task, 0);
    walk(*task, std::nullopt, caller);
  }
}

std::vector<Stream::Task*> Stream::assign_idle() {
  std::vector<Task*> ready;
  while (!idle_.empty() && find_samples(*idle_.back())) {
    ready.push_back(idle_.back());
    idle_.pop_back();
  }
  return ready;
}

// The earliest batch comes first.
bool Stream::find_samples(Task& task) {
  for (OpenBatch* open : in_order_) {
    if (!open->has_untaken()) continue;
    if (!steps_->can_read(open->step)) return false;
    if (!task.cursor.take_of(*open, threads_)) continue;
    note_returned();
    count_taken(task.cursor.taken());
    return true;
  }
  return false;
}

void Stream::note_returned() {
  has_returned_ = std::any_of(in_order_.begin(), in_order_.end(), [](const OpenBatch* o) { return o->has_returned(); });
}

bool Stream::take_more(Task& task) {
  if (!task.cursor.take_more(threads_)) return false;
  count_taken(task.cursor.taken());
  return true;
}

void Stream::begin_taken(Task& task, uint64_t now_ns) {
  task.cursor.begin(*steps_, now_ns);
  begin_sample(task);
}

void Stream::begin_sample(Task& task) { task.begin_sample(may_use_spare_time() ? &spare_ : nullptr); }

// The threads are all pipelines': another one's samples that wait for them come first.
bool Stream::may_use_spare_time() const {
  if (!spare_.has_some()) return false;
  uint64_t own = 0;
  for (const auto& stage : stages_) own += stage->statistics().waiting.level();
  return pipeline_->resources().pool.waiting() <= own;
}

Stage& Stream::stage_of(const Task& task) const { return *stages_[task.progress.stage()]; }

// For whose work a sample at this stage has a turn of a pool thread: the stage's own, or the next one's that works
// there; at the end of its way, the last one's.
Stage& Stream::stage_of_turn(size_t stage) const {
  const auto is_on_pool = [](const auto& one) { return one->account().is_on_pool; };
  const auto at = std::find_if(stages_.begin() + static_cast<std::ptrdiff_t>(stage), stages_.end(), is_on_pool);
  if (at != stages_.end()) return **at;
  const auto last = std::find_if(stages_.rbegin(), stages_.rend(), is_on_pool);
  return last == stages_.rend() ? *stages_.back() : **last;
}

void Stream::on_order(const Status& made) {
  if (!made) fail(made.error());
  std::vector<Task*> ready;
  {
    std::lock_guard lock(mutex_);
    steps_->note_order();
    ready = assign_idle();
    tell_if_quiet();
  }
  if (!ready.empty()) launch(ready);  // else the stream may have told that it is quiet, and be gone
}

void Stream::on_turn(Task& task, unsigned thread) {
  const uint64_t now_ns = monotonic_ns();
  task.pool_wait.stage().on_turn(now_ns - task.pool_wait.since_ns());
  if (trace::is_on(pipeline_->subject())) trace_wait(task, now_ns);
  Caller caller(thread, now_ns);
  task.cursor.forget_start();
  walk(task, task.pool_wait.end(), caller);
}

void Stream::trace_wait(const Task& task, uint64_t now_ns) const {
  trace::note(pipeline_->subject(), {.start_ns = task.pool_wait.since_ns(),
                                     .duration_ns = now_ns - task.pool_wait.since_ns(),
                                     .batch = task.batch_number,
                                     .sample = task.sample,
                                     .index = static_cast<uint32_t>(task.index),
                                     .what = trace::What::kWait,
                                     .stage = task.pool_wait.stage().place()});
}

void Stream::on_outcome(Passage& passage, StageOutcome outcome) {
  Caller caller;
  walk(static_cast<Task&>(passage), outcome, caller);
}

void Stream::walk(Task& task, std::optional<StageOutcome> outcome, Caller& caller) {
  if (task.is_finishing) {
    if (!caller.is_on_pool()) return hand_to_pool(task, std::nullopt);
    if (!finish_batch(task, caller)) return;
  }
  for (;;) {
    if (outcome == StageOutcome::kUnderWay) return;
    if (outcome == StageOutcome::kWantsTurn) return hand_to_pool(task, std::nullopt);
    const bool is_last = task.progress.stage() + 1 == stages_.size();
    const bool goes_on = !outcome || outcome == StageOutcome::kAgain || (outcome == StageOutcome::kDone && !is_last);
    const bool is_abandoned = task.cursor.batch().is_abandoned();
    // The end of a sample is for the pool: the task takes locks then, and looks for its next sample.
    if (outcome && (!goes_on || is_abandoned) && !caller.is_on_pool()) return hand_to_pool(task, outcome);
    if (is_abandoned) {
      if (!leave(task, caller)) return;
    } else if (outcome == StageOutcome::kAgain) {
      task.progress.begin_anew();
      task.is_again = true;
    } else if (outcome == StageOutcome::kDone && !is_last) {
      task.progress.go_on();
      task.waiting.note_answer();  // what had failed has recovered
      note_asked_again(task, false);
    } else if (outcome && !(outcome == StageOutcome::kDone ? finish(task, caller) : on_bad(task, caller))) {
      return;
    }
    outcome = start_stage(task, caller);
  }
}

StageOutcome Stream::start_stage(Task& task, Caller& caller) try {
  return stage_of(task).start(task, caller);
} catch (const std::bad_alloc&) {
  task.error = {Trouble::kMemory, {}};
  return StageOutcome::kFailed;
}

void Stream::hand_to_pool(Task& task, std::optional<StageOutcome> pending) {
  Stage& stage = stage_of_turn(task.progress.stage());
  task.pool_wait.begin(stage, pending, monotonic_ns());
  stage.on_queued();
  pipeline_->resources().pool.submit(pipeline_->lane(), task);
}

bool Stream::is_wanted(const Passage& passage) const {
  return !static_cast<const Task&>(passage).cursor.batch().is_abandoned();
}

// The fetcher may keep the passage for long.
void Stream::on_wait(Passage& passage) {
  Task& task = static_cast<Task&>(passage);
  task.cursor.slow_down();
  give_back_rest(task);
}

void Stream::give_back_rest(Task& task) {
  const uint64_t rest = task.cursor.rest();
  if (rest == 0) return;
  std::vector<Task*> ready;
  {
    std::lock_guard lock(mutex_);
    if (task.cursor.batch().is_abandoned()) return;
    task.cursor.give_back_rest();
    to_assign_ += rest;
    note_returned();
    ready = assign_idle();
  }
  launch(ready);
}

void Stream::tick() {
  std::vector<Task*> again;
  again.reserve(tasks_.size());
  {
    std::lock_guard lock(mutex_);
    again.swap(parked_);
  }
  for (Task* task : again) note_asked_again(*task, !task->waiting.is_for_memory());
  for (const Task* task : again) note_parked(*task, -1);
  for (Task* task : again) {
    Caller caller;
    walk(*task, std::nullopt, caller);
  }
}

void Stream::let_go(Task& task, Stage::Keep keep, size_t from) {
  for (size_t i = from; i < stages_.size(); i++) stages_[i]->let_go(task, keep);
}

bool Stream::finish(Task& task, const Caller& caller) {
  note_asked_again(task, false);
  if (task.cursor.step_on()) {
    let_go(task, Stage::Keep::kSmall);
    begin_sample(task);
    return true;
  }
  task.cursor.pace(caller.now_ns());
  if (has_returned_.load(std::memory_order_relaxed) || !take_more(task)) return leave(task, caller);
  let_go(task, Stage::Keep::kSmall);
  begin_taken(task, caller.now_ns());
  return true;
}

bool Stream::leave(Task& task, const Caller& caller) {
  note_asked_again(task, false);
  let_go(task, Stage::Keep::kSmall);
  {
    std::lock_guard lock(mutex_);
    OpenBatch& open = task.cursor.batch();
    task.cursor.leave();
    task.is_finishing = finisher_ && open.is_whole() && !open.is_abandoned();
    if (task.is_finishing) {
      open.begin_finishing();
    } else {
      if (open.is_whole() && !open.is_abandoned()) open.end_finishing();
      if (open.is_whole()) settle(open);
      if (!find_samples_or_rest(task)) return false;
    }
  }
  if (task.is_finishing) {
    task.waiting.begin_finishing();
    return finish_batch(task, caller);
  }
  begin_taken(task, caller.now_ns());
  return true;
}

bool Stream::find_samples_or_rest(Task& task) {
  if (find_samples(task)) return true;
  idle_.push_back(&task);
  tell_if_quiet();
  return false;
}

void Stream::settle(OpenBatch& open) {
  if (open.is_abandoned()) return observer_.on_abandoned(*open.batch.slot);
  open.batch.fill_ns = monotonic_ns() - open.start_ns;
  while (!in_order_.empty() && in_order_.front()->state() == Filling::kFinished) {
    const batch::Batch& batch = in_order_.front()->batch;
    in_order_.pop_front();
    pipeline_->statistics().batches.add();
    pipeline_->statistics().samples.add(batch.valid());
    observer_.on_batch(batch);
  }
  if (in_order_.empty() && steps_->has_next()) spare_.on_full(monotonic_ns());
}

// An abandoned batch leaves the order at once, so that no later batch waits for it; its slot comes back when its last
// task has ended, the task that finishes it as well.
void Stream::abandon_all() {
  for (OpenBatch* open : std::exchange(in_order_, {})) {
    const bool is_finishing = open->state() == Filling::kFinishing;
    to_assign_ -= open->abandon();
    if (open->is_whole() && !is_finishing) settle(*open);
  }
  note_returned();
}

void Stream::seek(uint32_t run, sampler::Position to) {
  std::lock_guard lock(mutex_);
  abandon_all();
  run_ = run;
  steps_->go_to(to);
}

void Stream::stop() {
  std::vector<Task*> parked;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    is_over_ = true;
    abandon_all();
    parked.swap(parked_);
    tell_if_quiet();
  }
  for (const auto& stage : stages_) stage->drop_unwanted();
  for (const Task* task : parked) note_parked(*task, -1);
  for (Task* task : parked) {
    Caller caller;
    walk(*task, std::nullopt, caller);  // it leaves its abandoned batch
  }
}

void Stream::fail(const Error& error) {
  {
    std::lock_guard lock(mutex_);
    fail_locked(error);
  }
  for (const auto& stage : stages_) stage->drop_unwanted();
}

void Stream::fail_locked(const Error& error) {
  if (failed_ || stopped_) return;
  failed_ = true;
  is_over_ = true;
  abandon_all();
  observer_.on_failed(error);
}

void Stream::tell_if_quiet() {
  if (!stopped_ || quiet_told_ || steps_->awaits_order() || idle_.size() != tasks_.size()) return;
  quiet_told_ = true;
  for (const OpenBatch& open : opens_)
    if (open.slot_memory != nullptr) pipeline_->end_lending(*open.slot_memory);
  observer_.on_quiet();
}

}  // namespace spdld::pipeline
