#include "daemon/node/seats/tap.h"

#include <algorithm>
#include <utility>

#include "daemon/base/system/cpu.h"

namespace spdld::node {
namespace {

constexpr size_t kTasks = 16;

}  // namespace

Tap::Tap(EventLoop& loop, std::shared_ptr<pipeline::Pipeline> pipeline, const Cut& theirs, const Cut& own,
         sampler::Position start, pipeline::FillObserver& observer, const Submit& submit)
    : loop_(loop),
      pipeline_(std::move(pipeline)),
      theirs_(theirs),
      own_(own),
      rows_per_task_max_(rows_per_turn(own.layout)),
      observer_(observer),
      submit_(submit),
      next_(start) {
  if (pipeline_->mix().sources().size() > 1) mixed_.emplace(pipeline_->mix());
  for (size_t i = 0; i < kTasks; i++) {
    auto task = std::make_unique<Task>();
    task->tap = this;
    idle_.push_back(task.get());
    tasks_.push_back(std::move(task));
  }
}

Tap::~Tap() = default;

// Called in the middle of their ring's work, so that the batch is only noted.
void Tap::on_ready(const batch::Batch& batch, uint64_t generation, uint32_t) {
  sources_.push_back({batch, generation});
  taken_++;
  look_soon();
}

// The Tap is not quiet before a posted look has run, so `this` is still there then.
void Tap::look_soon() {
  if (std::exchange(look_posted_, true)) return;
  loop_.post([this] {
    look_posted_ = false;
    look();
  });
}

void Tap::look() {
  while (assign()) {
  }
  give_back_sources();
  settle_opens();
  if (wants_slot()) observer_.on_wanting();
  tell_if_quiet();
}

bool Tap::wants_slot() {
  const bool all_begun = opens_.empty() || opens_.back().has_all();
  const bool has_more = std::any_of(sources_.begin(), sources_.end(), [](const Source& s) { return !s.used_up; });
  return state_ == State::kCopying && all_begun && has_more;
}

bool Tap::fill(batch::Slot& slot) {
  const uint64_t epochs = pipeline_->spec().order.epochs;
  if (state_ != State::kCopying || (epochs && next_.epoch >= epochs)) return false;
  OpenBatch& open = opens_.emplace_back();
  open.batch = {&slot, 0, next_, own_.sharding.slice(next_)};
  open.batch.number = pipeline_->next_batch();
  batch::clear(own_.layout, slot.contents);
  if (mixed_) open.batch.of_source.assign(pipeline_->mix().sources().size(), 0);
  open.start_ns = monotonic_ns();
  next_ = own_.sharding.by_one_name({next_.epoch, next_.step + 1});
  look_soon();
  return true;
}

// One task's copy; false: there is nothing to copy now, or nowhere to, or no task is free.
bool Tap::assign() {
  const auto open =
      std::find_if(opens_.begin(), opens_.end(), [](const OpenBatch& o) { return !o.abandoned && !o.has_all(); });
  const auto source = std::find_if(sources_.begin(), sources_.end(), [](const Source& s) { return !s.used_up; });
  if (idle_.empty() || open == opens_.end() || source == sources_.end()) return false;
  const sampler::Slice& theirs = source->batch.slice;
  const uint64_t epoch = open->batch.position.epoch, wanted = open->batch.slice.first + open->next;
  const uint64_t their_epoch = source->batch.position.epoch;
  if (their_epoch < epoch || (their_epoch == epoch && theirs.first + theirs.count <= wanted)) {
    source->used_up = true;
    return true;
  }
  if (their_epoch > epoch || theirs.first > wanted) {  // never, unless their ring has left a sample out
    end();
    return false;
  }
  begin_copy(*source, *open, wanted - theirs.first);
  return true;
}

void Tap::begin_copy(Source& source, OpenBatch& open, uint64_t from) {
  Task& task = *idle_.back();
  idle_.pop_back();
  task.source = &source;
  task.open = &open;
  const batch::Cutting cutting{
      from, open.next,
      std::min({open.batch.slice.count - open.next, source.batch.slice.count - from, rows_per_task_max_})};
  task.ranges.clear();
  batch::append(theirs_.layout, source.batch.slot->contents, own_.layout, open.batch.slot->contents,
                rows_of(cutting, source.batch, open.batch), task.ranges);
  open.next += cutting.samples;
  add_marks(cutting, source.batch, open.batch);
  task.rest =
      open.has_all() ? batch::finish(own_.layout, open.batch.slot->contents, open.batch.valid()) : batch::Rest();
  count_sources(open, cutting);
  source.used_up = from + cutting.samples == source.batch.slice.count;
  source.copying++;
  open.copying++;
  submit_(*pipeline_, task);
}

void Tap::count_sources(OpenBatch& open, const batch::Cutting& cutting) {
  if (!mixed_) return;
  for (uint64_t i = 0; i < cutting.samples; i++) {
    if (open.batch.absent_in(cutting.to + i, 1) > 0) continue;
    const uint64_t in_epoch = open.batch.slice.place(cutting.to + i);
    ++open.batch.of_source[mixed_->at(open.batch.position.epoch, in_epoch).source];
  }
}

void Tap::Task::run(unsigned) {
  const auto copied = [this](const Status& status) {
    tap->loop_.post([this, status] { tap->on_copied(*this, status); });
  };
  open->batch.slot->memory->copy(*source->batch.slot->memory, {ranges, rest.literals}, copied);
}

void Tap::on_copied(Task& task, const Status& status) {
  task.source->copying--;
  task.open->copying--;
  idle_.push_back(&task);
  if (!status) {
    task.open->abandoned = true;
    end();
  }
  look();
}

void Tap::give_back_sources() {
  for (auto source = sources_.begin(); source != sources_.end();) {
    const bool done = source->copying == 0 && (source->used_up || state_ != State::kCopying);
    if (!done) {
      ++source;
      continue;
    }
    const delivery::LeaseId lease{source->batch.slot->index, source->generation};
    source = sources_.erase(source);
    if (seat_) seat_->release(lease, taken_, 0);
  }
}

void Tap::settle_opens() {
  for (auto open = opens_.begin(); open != opens_.end();) {
    const bool complete = open->has_all() && open->copying == 0;
    if (open->abandoned && open->copying == 0) {
      observer_.on_abandoned(*open->batch.slot);
    } else if (complete && open == opens_.begin()) {
      open->batch.fill_ns = monotonic_ns() - open->start_ns;
      observer_.on_batch(open->batch);
    } else {
      ++open;
      continue;
    }
    open = opens_.erase(open);
  }
}

// Batches whose samples were all found are handed on, up to the first other batch: from there the owner may go on by
// other means.
void Tap::end() {
  if (state_ == State::kQuiet) return;
  if (state_ == State::kCopying) state_.change(State::kEnding);
  bool before = true;
  for (OpenBatch& open : opens_) {
    before &= open.has_all() && !open.abandoned;
    if (before) continue;
    open.abandoned = true;
    next_ = std::min(next_, open.batch.position);
  }
  look_soon();
}

void Tap::tell_if_quiet() {
  if (state_ != State::kEnding || look_posted_ || idle_.size() != tasks_.size()) return;
  state_.change(State::kQuiet);
  if (seat_) seat_->dismiss({});
  seat_.reset();
  observer_.on_quiet();
}

}  // namespace spdld::node
