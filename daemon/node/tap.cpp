#include "daemon/node/tap.h"

#include <algorithm>
#include <utility>

#include "daemon/base/cpu.h"

namespace spdld::node {
namespace {

// A task's share: long enough to be worth a hand-over, short enough for others' turns.
constexpr uint64_t kTaskBytes = 4u << 20;
constexpr size_t kTasks = 16;

uint64_t samples_per_task(const batch::Layout& layout) {
  uint64_t sample_bytes = 0;
  for (const auto& tensor : layout.tensors()) sample_bytes += tensor.sample_bytes;
  return std::max<uint64_t>(1, kTaskBytes / std::max<uint64_t>(1, sample_bytes));
}

// Those numbers in [from, from + samples), counted from `to` on.
void add_marks(const std::vector<uint32_t>& numbers, uint64_t from, uint64_t to, uint64_t samples,
               std::vector<uint32_t>& out) {
  for (const uint32_t number : numbers)
    if (from <= number && number < from + samples) out.push_back(static_cast<uint32_t>(number - from + to));
}

}  // namespace

// Their ring's side of it. It may outlive the Tap, in the seat that it had.
class Tap::Inlet final : public control::AttachReply, private delivery::Reader {
 public:
  explicit Inlet(Tap& tap) : tap_(&tap) {}
  void forget() { tap_ = nullptr; }

  void preparing(std::string_view, uint64_t, uint64_t) override {}
  void attached(std::unique_ptr<control::Attachment> attachment, const control::AttachedInfo&) override {
    if (tap_) tap_->attached(std::move(attachment));
  }
  void refused(const Error&) override { end(); }
  delivery::Reader& reader() override { return *this; }
  void failed(const Error&) override { end(); }
  void seek_refused(uint32_t, const Error&) override {}
  bool client_gone() const override { return false; }

 private:
  void on_ready(const batch::Batch& batch, uint64_t generation, uint32_t) override {
    if (tap_) tap_->on_ready(batch, generation);
  }
  void end() {
    if (tap_) tap_->end();
  }

  Tap* tap_;
};

Tap::Tap(EventLoop& loop, std::shared_ptr<pipeline::Pipeline> pipeline, const Cut& theirs, const Cut& own,
         sampler::Position start, pipeline::FillObserver& observer)
    : loop_(loop),
      pipeline_(std::move(pipeline)),
      theirs_(theirs),
      own_(own),
      samples_per_task_max_(samples_per_task(own.layout)),
      observer_(observer),
      inlet_(std::make_shared<Inlet>(*this)),
      next_(start) {
  if (pipeline_->mix().sources().size() > 1) mixed_.emplace(pipeline_->mix());
  for (size_t i = 0; i < kTasks; i++) {
    auto task = std::make_unique<Task>();
    task->tap = this;
    idle_.push_back(task.get());
    tasks_.push_back(std::move(task));
  }
}

Tap::~Tap() { inlet_->forget(); }

std::shared_ptr<control::AttachReply> Tap::seat() const { return inlet_; }

void Tap::attached(std::unique_ptr<control::Attachment> attachment) { attachment_ = std::move(attachment); }

// In the middle of their ring's work: it is only noted.
void Tap::on_ready(const batch::Batch& batch, uint64_t generation) {
  sources_.push_back({batch, generation});
  taken_++;
  look_soon();
}

// The tap is not quiet before a posted look has run: so `this` is still there.
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
  const bool all_begun = opens_.empty() || opens_.back().next == opens_.back().batch.slice.count;
  const bool has_more = std::any_of(sources_.begin(), sources_.end(), [](const Source& s) { return !s.used_up; });
  return !ending_ && all_begun && has_more;
}

bool Tap::fill(batch::Slot& slot) {
  const uint64_t epochs = pipeline_->spec().order.epochs;
  if (ending_ || (epochs && next_.epoch >= epochs)) return false;
  OpenBatch& open = opens_.emplace_back();
  open.batch = {&slot, 0, next_, own_.sharding.slice(next_.step)};
  if (mixed_) open.batch.of_source.assign(pipeline_->mix().sources().size(), 0);
  open.start_ns = monotonic_ns();
  next_ = own_.sharding.by_one_name({next_.epoch, next_.step + 1});
  look_soon();
  return true;
}

// One task's copy; false: there is nothing to copy now, or nowhere to, or no task is free.
bool Tap::assign() {
  const auto open = std::find_if(opens_.begin(), opens_.end(),
                                 [](const OpenBatch& o) { return !o.abandoned && o.next < o.batch.slice.count; });
  const auto source = std::find_if(sources_.begin(), sources_.end(), [](const Source& s) { return !s.used_up; });
  if (idle_.empty() || open == opens_.end() || source == sources_.end()) return false;
  const sampler::Slice& theirs = source->batch.slice;
  const uint64_t epoch = open->batch.position.epoch, position = open->batch.slice.first + open->next;
  const uint64_t their_epoch = source->batch.position.epoch;
  if (their_epoch < epoch || (their_epoch == epoch && theirs.first + theirs.count <= position)) {
    source->used_up = true;
    return true;
  }
  if (their_epoch > epoch || theirs.first > position) {  // never, unless their ring has left something out
    end();
    return false;
  }
  begin_copy(*source, *open, position - theirs.first);
  return true;
}

void Tap::begin_copy(Source& source, OpenBatch& open, uint64_t from) {
  Task& task = *idle_.back();
  idle_.pop_back();
  task.source = &source, task.open = &open;
  task.from = from, task.to = open.next;
  task.samples = std::min({open.batch.slice.count - open.next, source.batch.slice.count - from, samples_per_task_max_});
  task.parts.clear();
  for (size_t i = 0; i < own_.layout.tensors().size(); i++) {
    const batch::TensorPlace &theirs = theirs_.layout.tensors()[i], &own = own_.layout.tensors()[i];
    task.parts.push_back({theirs.offset + task.from * theirs.sample_bytes, own.offset + task.to * own.sample_bytes,
                          task.samples * own.sample_bytes});
  }
  note_marks(source, open, task);
  open.next += task.samples;
  source.used_up = from + task.samples == source.batch.slice.count;
  source.copying++, open.copying++;
  pipeline_->resources().pool.submit(pipeline_->lane(), task);
}

// Copies the marks that a batch has for single samples.
void Tap::note_marks(const Source& source, OpenBatch& open, const Task& task) {
  add_marks(source.batch.substituted, task.from, task.to, task.samples, open.batch.substituted);
  add_marks(source.batch.masked, task.from, task.to, task.samples, open.batch.masked);
  for (batch::Flaw flaw : source.batch.flaws) {
    if (flaw.index < task.from || flaw.index >= task.from + task.samples) continue;
    flaw.index = static_cast<uint32_t>(flaw.index - task.from + task.to);
    open.batch.flaws.push_back(std::move(flaw));
  }
  if (!mixed_) return;
  for (uint64_t i = 0; i < task.samples; i++) {
    const uint64_t position = (open.batch.slice.first + task.to + i) % pipeline_->samples();
    ++open.batch.of_source[mixed_->at(open.batch.position.epoch, position).source];
  }
}

void Tap::Task::run(unsigned) {
  const auto copied = [this](const Status& status) {
    tap->loop_.post([this, status] { tap->on_copied(*this, status); });
  };
  open->batch.slot->memory->copy(*source->batch.slot->memory, parts, copied);
}

void Tap::on_copied(Task& task, const Status& status) {
  task.source->copying--, task.open->copying--;
  idle_.push_back(&task);
  if (!status) {
    task.open->lost = true;
    end();
  }
  look();
}

void Tap::give_back_sources() {
  for (auto source = sources_.begin(); source != sources_.end();) {
    const bool done = source->copying == 0 && (source->used_up || ending_);
    if (!done) {
      ++source;
      continue;
    }
    const delivery::LeaseId lease{source->batch.slot->index, source->generation};
    source = sources_.erase(source);
    if (attachment_) attachment_->release(lease, taken_, 0);
  }
}

void Tap::settle_opens() {
  for (auto open = opens_.begin(); open != opens_.end();) {
    const bool complete = open->next == open->batch.slice.count && open->copying == 0;
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

// Batches that have all their samples, or get them now, are handed on, up to the first other batch: from there
// the owner may go on by other means.
void Tap::end() {
  if (quiet_told_) return;
  ending_ = true;
  bool before = true;
  for (OpenBatch& open : opens_) {
    before &= open.next == open.batch.slice.count && !open.lost;
    if (before) continue;
    open.abandoned = true;
    next_ = std::min(next_, open.batch.position);
  }
  look_soon();
}

void Tap::tell_if_quiet() {
  if (!ending_ || look_posted_ || idle_.size() != tasks_.size() || quiet_told_) return;
  quiet_told_ = true;
  if (attachment_) attachment_->dismiss({});
  attachment_.reset();
  observer_.on_quiet();
}

}  // namespace spdld::node
