#include "daemon/pipeline/stream.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "daemon/base/cpu.h"
#include "daemon/base/memory_reserve.h"

namespace spdld::pipeline {
namespace {

// Enough to keep every pool thread fed while as many samples again are being fetched, by as many reads as there may be.
size_t window_of(const Resources& resources, uint64_t batch_size, size_t slots) {
  const size_t wanted = 16 + 4 * resources.pool.threads() + resources.fetch_max;
  return std::clamp<size_t>(wanted, 1, std::max<size_t>(batch_size * slots, 1));
}

// Buffers above these are given back after use: of a task's bytes, of a thread's decoded pixels. Kept bytes do not
// count among the bytes in flight.
constexpr size_t kKeptBytesMax = 256u << 10;
constexpr size_t kKeptPixelBytesMax = 16u << 20;

}  // namespace

Stream::Stream(std::shared_ptr<Pipeline> pipeline, const sampler::Sharding& sharding, const batch::Layout& layout,
               size_t slots, sampler::Position start, FillObserver& observer)
    : pipeline_(std::move(pipeline)),
      layout_(layout),
      observer_(observer),
      opens_(slots),
      steps_(make_steps(*pipeline_, sharding, start, *this)) {
  const size_t window = window_of(pipeline_->resources(), sharding.batch_size(), slots);
  for (size_t i = 0; i < window; i++) {
    auto task = std::make_unique<Task>();
    task->stream = this;
    task->observer = this;
    task->listing = &pipeline_->listing();
    task->owner = pipeline_->resources().fetch_owner;
    task->budget = pipeline_->resources().budget.get();
    for (const FieldUse& use : pipeline_->plan().fetched()) task->fields.push_back({.field = use.field});
    idle_.push_back(task.get());
    tasks_.push_back(std::move(task));
  }
  parked_.reserve(window);
}

Stream::~Stream() {
  std::lock_guard lock(mutex_);  // the thread that told on_quiet has left
}

bool Stream::wants_slot() {
  const std::lock_guard lock(mutex_);
  wanting_told_ = to_assign_ < tasks_.size();
  return wanting_told_ && steps_->has_next();
}

Status Stream::push(const sampler::PushedSteps& steps) {
  const std::lock_guard lock(mutex_);
  return steps_->push(steps);
}

bool Stream::open_next(OpenBatch& open, batch::Slot& slot) {
  if (stopped_ || failed_ || !steps_->has_next()) return false;
  open.step = steps_->take_next();
  open.batch = {&slot, run_, open.step.position, open.step.slice};
  if (const size_t sources = pipeline_->mix().sources().size(); sources > 1) open.batch.of_source.assign(sources, 0);
  return true;
}

bool Stream::fill(batch::Slot& slot) {
  std::vector<Task*> ready;
  {
    std::lock_guard lock(mutex_);
    OpenBatch& open = opens_.at(slot.index);
    if (!open_next(open, slot)) return false;
    open.next = 0;
    open.remaining = open.batch.slice.count;
    open.start_ns = monotonic_ns();
    open.abandoned = false;
    in_order_.push_back(&open);
    to_assign_ += open.remaining;
    if (!open.remaining) settle(open);
    ready = assign_idle();
  }
  for (Task* task : ready) launch(*task, On::kControl);
  return true;
}

std::vector<Stream::Task*> Stream::assign_idle() {
  std::vector<Task*> ready;
  while (!idle_.empty() && assign(*idle_.back())) {
    ready.push_back(idle_.back());
    idle_.pop_back();
  }
  return ready;
}

bool Stream::assign(Task& task) {
  const auto open = std::find_if(in_order_.begin(), in_order_.end(),
                                 [](const OpenBatch* o) { return o->next < o->batch.slice.count; });
  if (open == in_order_.end() || !steps_->can_read((*open)->step)) return false;
  task.open = *open;
  task.index = task.open->next++;
  if (--to_assign_ < tasks_.size() && !std::exchange(wanting_told_, true)) observer_.on_wanting();
  task.attempt = 0;
  task.fault_since_ns = task.memory_since_ns = 0;
  const Steps::Sample sample = steps_->at(task.open->step, task.index);
  task.sample = sample.id;
  task.pass = sample.pass;
  auto& of_source = task.open->batch.of_source;
  if (!of_source.empty()) ++of_source[sample.source];
  return true;
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
  for (Task* task : ready) launch(*task, On::kPool);
}

void Stream::launch(Task& task, On thread) {
  try {
    begin(task, thread);
  } catch (const std::bad_alloc&) {
    wait_out(task, {Trouble::kMemory, {}});
  }
}

// Nothing is allocated once the task has been handed on.
void Stream::begin(Task& task, On thread) {
  if (pipeline_->caching().look_up(task, task.found)) {
    source::Fetcher& fetcher = pipeline_->resources().fetcher;
    if (thread == On::kPool && fetcher.fetch_at_hand(task)) return on_fetched(task);
    return fetcher.fetch(task);
  }
  task.ok = true;
  pipeline_->resources().pool.submit(pipeline_->lane(), task);
}

void Stream::on_fetched(source::FetchRequest& request) {
  Task& task = static_cast<Task&>(request);
  auto& fetch = pipeline_->statistics().fetch;
  fetch.duration_ns.record(task.duration_ns);
  if (task.ok) {
    fetch.samples.add();
    for (const auto& bytes : task.bytes) fetch.bytes.add(bytes.size());
  } else {
    fetch.failures.add();
  }
  pipeline_->resources().pool.submit(pipeline_->lane(), task);
}

void Stream::process(Task& task, unsigned thread) {
  if (task.open->abandoned.load(std::memory_order_relaxed)) return finish(task);
  if (!task.ok) return on_bad(task, task.error);
  task.fault_since_ns = 0;  // the source has recovered
  try {
    if (!pipeline_->caching().settle(task, task.found, task.held)) return pipeline_->resources().fetcher.fetch(task);
  } catch (const std::bad_alloc&) {
    return wait_out(task, {Trouble::kMemory, {}});
  }
  auto& decode = pipeline_->statistics().decode;
  const uint64_t start_ns = monotonic_ns();
  const Status status = decode_sample(task, pipeline_->resources().contexts[thread]);
  decode.duration_ns.record(monotonic_ns() - start_ns);
  if (!status) {
    decode.failures.add();
    return on_bad(task, status.error());
  }
  decode.samples.add();
  finish(task);
}

// An exception must not reach the pool: it would end the daemon. Memory that is short now may be there again later.
Status Stream::decode_sample(Task& task, DecodeContext& context) try {
  const memory_reserve::Spared spared;
  const batch::Batch& batch = task.open->batch;
  const Draws draws{pipeline_->spec().seed, task.pass, task.sample};
  Status status = pipeline_->plan().run({*task.listing, task.sample, task.held}, draws, context,
                                        {layout_, batch.slot->memory->fill_address(), task.index});
  context.shrink(kKeptPixelBytesMax);
  return status;
} catch (const std::bad_alloc&) {
  context.shrink(0);
  return Error{Trouble::kMemory, {}};  // a sentence would need memory
} catch (const std::exception& e) {
  return Error{Trouble::kInternal, "decoding " + pipeline_->listing().name(task.sample) + " failed: " + e.what()};
}

void Stream::on_bad(Task& task, const Error& error) {
  if (error.trouble == Trouble::kTransient || error.trouble == Trouble::kMemory) return wait_out(task, error);
  if (error.trouble == Trouble::kContent || error.trouble == Trouble::kUnsupported) return on_bad_content(task, error);
  fail(error);
  finish(task);
}

void Stream::note_flaw(Task& task, const Error& error, const std::string& name) {
  const bool unsupported = error.trouble == Trouble::kUnsupported;
  const auto kind = unsupported ? batch::FlawKind::kUnsupported : batch::FlawKind::kDamaged;
  auto& statistics = pipeline_->statistics();
  (unsupported ? statistics.unsupported : statistics.damaged).add();
  pipeline_->errors().add(task.sample, task.open->batch.position.epoch, name, error.message, kind);
  if (task.attempt > 0) return;  // what is wrong with a substitute is nothing of this place's
  const std::lock_guard lock(mutex_);
  task.open->batch.flaws.push_back({static_cast<uint32_t>(task.index), kind, task.sample, name, error.message});
}

void Stream::on_bad_content(Task& task, const Error& error) {
  const std::string name = pipeline_->listing().name(task.sample);
  note_flaw(task, error, name);
  switch (pipeline_->spec().on_bad) {
    case config::OnBad::kFail:
      fail({Trouble::kContent, "sample " + std::to_string(task.sample) + " (" + name +
                                   ") can't be used, and on_bad is \"fail\": " + error.message});
      return finish(task);
    case config::OnBad::kMask: {
      pipeline_->plan().write_masked(task.sample, {layout_, task.open->batch.slot->memory->fill_address(), task.index});
      pipeline_->statistics().masked.add();
      std::lock_guard lock(mutex_);
      task.open->batch.masked.push_back(static_cast<uint32_t>(task.index));
      break;
    }
    case config::OnBad::kSubstitute:
      if (++task.attempt > kAttemptsMax) {
        fail({Trouble::kContent,
              "sample " + std::to_string(task.sample) + " (" + name + ") and all " + std::to_string(kAttemptsMax) +
                  " substitutes can't be used: look at `spdlctl errors`; is this the right data set? Last: " +
                  error.message});
        return finish(task);
      }
      give_back_bytes(task);
      substitute(task);
      return launch(task, On::kPool);
  }
  finish(task);
}

void Stream::substitute(Task& task) {
  if (task.attempt == 1) pipeline_->statistics().substituted.add();
  std::lock_guard lock(mutex_);
  if (task.attempt == 1) task.open->batch.substituted.push_back(static_cast<uint32_t>(task.index));
  task.sample = steps_->substitute(task.open->step, task.index, task.attempt);
}

// A store that is down, or a node that is short of memory, is no reason to train on something else: the sample is asked
// for again until that has passed.
void Stream::wait_out(Task& task, const Error& error) {
  const bool for_memory = error.trouble == Trouble::kMemory;
  if (for_memory) {
    pipeline_->statistics().memory_waits.add();
    for (auto& bytes : task.bytes) bytes.shrink(0);  // they are fetched again
  }
  give_back_bytes(task);
  if (park(task, for_memory)) return;
  if (for_memory) {
    const uint64_t waited_s = pipeline_->resources().patience.memory_ns_max / 1'000'000'000;
    fail({Trouble::kMemory, "the node was short of memory for " + std::to_string(waited_s) + " s, and sample " +
                                pipeline_->listing().name(task.sample) +
                                " could not be fetched and decoded: give the daemon more memory, or lower "
                                "cache.ram_bytes_max or limits.slot_bytes_max"});
  } else {
    fail({Trouble::kTransient, "the source did not recover within " +
                                   std::to_string(pipeline_->resources().patience.fault_ns_max / 1'000'000'000) +
                                   " s: " + error.message});
  }
  finish(task);
}

// False: the task has waited for long enough, or nobody wants it any more.
bool Stream::park(Task& task, bool for_memory) {
  const Patience& patience = pipeline_->resources().patience;
  const uint64_t now_ns = patience.now_ns();
  const uint64_t wait_ns_max = for_memory ? patience.memory_ns_max : patience.fault_ns_max;
  const std::lock_guard lock(mutex_);
  if (stopped_ || failed_ || task.open->abandoned) return false;
  if (!for_memory) task.memory_since_ns = 0;
  uint64_t& since_ns = for_memory ? task.memory_since_ns : task.fault_since_ns;
  if (!since_ns) since_ns = now_ns;
  if (now_ns - since_ns >= wait_ns_max) return false;
  task.waits_for_memory = for_memory;
  parked_.push_back(&task);
  auto& statistics = pipeline_->statistics();
  (for_memory ? statistics.waiting_for_memory : statistics.waiting_out_faults).add(1);
  return true;
}

void Stream::note_parked(const std::vector<Task*>& tasks, int64_t sign) {
  const auto for_memory = std::count_if(tasks.begin(), tasks.end(), [](const Task* t) { return t->waits_for_memory; });
  auto& statistics = pipeline_->statistics();
  statistics.waiting_for_memory.add(sign * for_memory);
  statistics.waiting_out_faults.add(sign * (static_cast<int64_t>(tasks.size()) - for_memory));
}

void Stream::tick() {
  std::vector<Task*> again;
  again.reserve(tasks_.size());
  {
    std::lock_guard lock(mutex_);
    again.swap(parked_);
  }
  note_parked(again, -1);
  for (Task* task : again) launch(*task, On::kControl);
}

void Stream::give_back_bytes(Task& task) {
  for (auto& bytes : task.bytes) bytes.shrink(kKeptBytesMax);
  if (task.budget) task.budget->give_back(task);
}

void Stream::finish(Task& task) {
  give_back_bytes(task);
  bool more;
  {
    std::lock_guard lock(mutex_);
    OpenBatch& open = *task.open;
    if (--open.remaining == 0) settle(open);
    more = assign(task);
    if (!more) {
      idle_.push_back(&task);
      tell_if_quiet();
    }
  }
  if (more) launch(task, On::kPool);
}

void Stream::settle(OpenBatch& open) {
  if (open.abandoned) return observer_.on_abandoned(*open.batch.slot);
  open.batch.fill_ns = monotonic_ns() - open.start_ns;
  while (!in_order_.empty() && in_order_.front()->remaining == 0) {
    const batch::Batch& batch = in_order_.front()->batch;
    in_order_.pop_front();
    pipeline_->statistics().batches.add();
    pipeline_->statistics().samples.add(batch.slice.count);
    observer_.on_batch(batch);
  }
}

// An abandoned batch leaves the order at once, so that no later batch waits for it; its slot comes back when its last
// task has ended.
void Stream::abandon_all() {
  to_assign_ = 0;
  for (OpenBatch* open : std::exchange(in_order_, {})) {
    open->abandoned = true;
    open->remaining -= open->batch.slice.count - open->next;
    open->next = open->batch.slice.count;
    if (open->remaining == 0) settle(*open);
  }
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
    abandon_all();
    parked.swap(parked_);
    tell_if_quiet();
  }
  note_parked(parked, -1);
  for (Task* task : parked) finish(*task);
}

void Stream::fail(const Error& error) {
  std::lock_guard lock(mutex_);
  if (failed_ || stopped_) return;
  failed_ = true;
  abandon_all();
  observer_.on_failed(error);
}

void Stream::tell_if_quiet() {
  if (!stopped_ || quiet_told_ || steps_->awaits_order() || idle_.size() != tasks_.size()) return;
  quiet_told_ = true;
  observer_.on_quiet();
}

}  // namespace spdld::pipeline
