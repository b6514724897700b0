#include "daemon/node/seats/feed.h"

#include <algorithm>
#include <new>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"

namespace spdld::node {
namespace {

std::vector<batch::Slot> slots_of(memory::SlotMemories memories) {
  std::vector<batch::Slot> slots;
  for (uint32_t i = 0; i < memories.size(); i++) slots.push_back({i, std::move(memories[i])});
  return slots;
}

// A ring has prefetch_depth slots and those for what a reader holds, less where they would be too many.
uint32_t depth_of(size_t slots, uint32_t prefetch_depth) {
  const auto most = static_cast<uint32_t>(slots > 1 ? slots - 1 : 1);
  return std::clamp(prefetch_depth, 1u, most);
}

}  // namespace

Feed::Feed(EventLoop& loop, std::shared_ptr<pipeline::Pipeline> pipeline, const sampler::Sharding& sharding,
           const batch::Layout& layout, const Setting& setting, memory::SlotMemories memories,
           memory::HostMemory& host_memory, const Fillers& fillers)
    : loop_(loop),
      host_memory_(host_memory),
      pipeline_(std::move(pipeline)),
      sharding_(sharding),
      layout_(layout),
      setting_(setting),
      sheets_(layout_, pipeline_->spec().outputs, pipeline_->listing().classes()),
      depth_max_(setting.sharing ? setting.sharing->ring.depth
                                 : depth_of(memories.size(), pipeline_->spec().batch.prefetch_depth)),
      bad_limit_(pipeline_->spec(), sharding_, pipeline_->samples()),
      ring_(make_ring(std::move(memories))),
      fillers_(fillers),
      start_(setting.start),
      filler_(first_filler()) {
  ring_.set_depth(depth_max_);
  ring_.trace_as(pipeline_->subject());
}

RingFiller::StreamOwner Feed::make_stream(sampler::Position start) {
  return fillers_.make_stream({pipeline_, sharding_, layout_, ring_.slots().size(), start}, *this);
}

RingFiller Feed::first_filler() {
  if (!setting_.sharing || !setting_.sharing->tapped) return RingFiller(make_stream(start_));
  return RingFiller(std::make_unique<Tap>(loop_, pipeline_, *setting_.sharing->tapped, Tap::Cut{sharding_, layout_},
                                          start_, *this, fillers_.submit));
}

delivery::Ring Feed::make_ring(memory::SlotMemories memories) const {
  const auto slots = static_cast<uint32_t>(memories.size());
  if (setting_.sharing) return {slots_of(std::move(memories)), setting_.access, setting_.sharing->ring};
  return {slots_of(std::move(memories)), setting_.access, setting_.readers, slots - depth_max_};
}

Feed::~Feed() {
  if (memory::on_gpu(kind())) return;
  const memory::HostMemory::Use use{setting_.key.uid, layout_.slot_bytes(), ring_.access(), kind(),
                                    pipeline_->has_delegates()};
  host_memory_.give_back(use, ring_.take_memories(), closed_);
}

void Feed::set_depth(uint32_t depth) {
  if (depth == ring_.depth() || setting_.sharing) return;
  ring_.set_depth(depth);
  fill_free_slots();
}

void Feed::begin_by(sampler::Position position) {
  pipeline::SeekableFiller* const stream = filler_.stream();
  if (stream == nullptr || state_ != State::kGathering || position >= start_) return;
  start_ = position;
  stream->seek(ring_.run(), position);
}

uint64_t Feed::touched_bytes() const {
  if (!setting_.sharing) return layout_.slot_bytes() * ring_.slots().size();
  return layout_.slot_bytes() * setting_.sharing->ring.slots(std::max<size_t>(jobs(), 1));
}

// Device memory is all there from the start, and a slot is a whole number of the driver's pages.
uint64_t Feed::device_bytes() const {
  if (!memory::on_gpu(kind())) return 0;
  return ring_.slots().front().memory->shared().bytes * ring_.slots().size();
}

std::optional<sampler::Position> Feed::entry(control::Join join, sampler::Position wanted, uint64_t reach) const {
  const sampler::Position next = next_to_come();
  if (!setting_.sharing) return next;
  if (join == control::Join::kAlone || !is_open() || jobs() >= setting_.sharing->jobs_max) return std::nullopt;
  // A wanted batch that is there, or comes next, is given exactly: no job shall wait for another job's pace.
  const sampler::Position begin = ring_.window_begin().value_or(next);
  if (begin <= wanted && wanted <= next) return wanted;
  // Nor does it wait where there is room for all batches up to its own. Jobs that come back after a restart stand at
  // different steps; while the first batches come, nobody holds anything yet.
  const uint32_t depth = setting_.sharing->ring.depth;
  const bool begins = ring_.statistics().batches < depth;
  const uint64_t ahead = begins ? std::max<uint64_t>(depth, ring_.to_come()) + reach : ring_.to_come();
  if (next < wanted && wanted <= sampler::steps_on(next, ahead, sharding_.steps())) return wanted;
  if (join == control::Join::kExact || next < wanted) return std::nullopt;
  if (join != control::Join::kEpoch) return begin;
  const sampler::Position next_epoch = begin.step == 0 ? begin : sampler::Position{begin.epoch + 1, 0};
  const uint64_t epochs = pipeline_->spec().order.epochs;
  return epochs && next_epoch.epoch >= epochs ? std::nullopt : std::optional(next_epoch);
}

delivery::ReaderId Feed::join(const Seat& seat, sampler::Position from, std::optional<sampler::Position> followed) {
  const delivery::ReaderId id = ring_.join(*seat.reader, setting_.sharing ? from : sampler::Position{});
  try {
    seats_.emplace(id, seat);
    const bool is_of_run = followed && sharding_.has(*followed);
    seeks_.join(id, is_of_run ? std::optional(sharding_.by_one_name(*followed)) : std::nullopt);
    if (state_ == State::kGathering && seats_.size() == setting_.readers) state_.change(State::kFilling);
    fill_free_slots();
  } catch (...) {
    leave(id);  // the reader does not hear that it has a seat
    throw;
  }
  return id;
}

void Feed::leave(delivery::ReaderId id, std::span<const delivery::LeaseId> keeps) {
  seats_.erase(id);
  seeks_.leave(id);
  if (keeps.empty())
    ring_.leave(id);
  else
    ring_.dismiss(id, keeps);
  go_where_all_want();
  fill_free_slots();
}

void Feed::vacate(delivery::ReaderId id) {
  seats_.erase(id);
  seeks_.leave(id);
  ring_.dismiss(id, ring_.leases_of(id));
  go_where_all_want();
  fill_free_slots();
}

bool Feed::lose(delivery::ReaderId id) {
  const size_t lost = ring_.leases(id);
  if (lost == 0) {
    leave(id);
    return false;
  }
  vacate(id);
  log::info(log::About{pipeline_->spec().name},
            "pipeline {}: a reader of rank {} died with {} batches on the GPU; their slots are not filled again",
            pipeline_->spec().name, setting_.key.rank, lost);
  const bool others_can_join = setting_.sharing && jobs() < setting_.sharing->jobs_max;
  if (seats_.empty() || others_can_join || !is_open()) return false;
  give_up({Trouble::kStopping,
           "another reader of this ring died with batches on the GPU, whose memory is not used again: this ring ends, "
           "and attaching anew gives one with other memory"});
  return true;
}

// The job is told before its seat goes, while it can be told. It first takes the batches that wait in its socket.
void Feed::cut_loose(delivery::ReaderId id) {
  const Seat seat = seats_.at(id);
  const uint64_t limit_ms = setting_.sharing->lag_ns_max / 1'000'000;
  log::info(
      "pipeline {}: {} (pid {}) of group {} held back the other jobs on its stream for more than {} ms: it goes on "
      "with a ring of its own",
      pipeline_->spec().name, seat.client.name, seat.client.pid, seat.group, limit_ms);
  cut_loose_++;
  seat.reader->on_failed({Trouble::kLagged, "this job held back the other jobs on its stream for more than " +
                                                std::to_string(limit_ms) +
                                                " ms (limits.share_lag_ms_max): it goes on with a ring of its own"});
  vacate(id);
}

void Feed::watch_lag(uint64_t now_ns) {
  const uint64_t since_ns = now_ns - std::exchange(looked_ns_, now_ns).value_or(now_ns);
  if (!setting_.sharing) return;
  const auto laggard = ring_.laggard();
  for (auto& [id, seat] : seats_) {
    if (id == laggard) seat.lag_ns += since_ns;
    if (ring_.is_abreast(id)) seat.lag_ns = 0;
  }
  if (laggard && seats_.at(*laggard).lag_ns > setting_.sharing->lag_ns_max) cut_loose(*laggard);
}

bool Feed::release(delivery::ReaderId id, const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us) {
  ring_.note_progress(id, taken, waited_us);
  if (!ring_.release(id, lease)) return false;
  if (const auto at = seats_.find(id); at != seats_.end() && setting_.sharing && ring_.is_abreast(id))
    at->second.lag_ns = 0;
  fill_free_slots();
  return true;
}

Status Feed::push(const sampler::PushedSteps& steps) {
  pipeline::SeekableFiller* const stream = setting_.sharing ? nullptr : filler_.stream();
  if (stream == nullptr) return Error{Trouble::kUsage, "a stream that jobs share has its own order and takes no PUSH"};
  Status taken = stream->push(steps);
  if (taken) fill_free_slots();
  return taken;
}

void Feed::stop(std::function<void()> quiet) {
  state_.change(State::kStopping);
  quiet_ = std::move(quiet);
  filler_->stop();
}

void Feed::tick(uint64_t now_ns) {
  sheets_.tick(now_ns);
  filler_->tick();
  if (ring_.tick()) fill_free_slots();
  watch_lag(now_ns);
  if (const auto trouble = ring_.slots().front().memory->trouble(); trouble && is_open()) give_up(*trouble);
}

void Feed::fill_free_slots() {
  if (state_ != State::kFilling || seats_.empty()) return;
  while (filler_->wants_slot()) {
    batch::Slot* const slot = ring_.take_free();
    if (!slot) return;
    if (begin_fill(*slot)) continue;
    ring_.given_back(*slot);
    return;
  }
}

bool Feed::begin_fill(batch::Slot& slot) {
  if (filler_->copies()) return fill(slot);
  const auto begun = slot.memory->begin_fill([&loop = loop_, weak = weak_from_this()] {
    loop.post([weak] {
      const auto self = weak.lock();
      if (!self || self->state_ != State::kWaitingForRoom) return;
      self->state_.change(State::kFilling);
      self->fill_free_slots();
    });
  });
  if (!begun) {
    give_up(begun.error());
    return false;
  }
  if (*begun) return fill(slot);
  state_.change(State::kWaitingForRoom);
  return false;
}

bool Feed::fill(batch::Slot& slot) {
  if (filler_->fill(slot)) return true;
  slot.memory->abandon();
  return false;
}

void Feed::on_batch(const batch::Batch& batch) {
  if (!setting_.sharing || !setting_.sharing->tapped) sheets_.look(batch, monotonic_ns());
  const batch::Ranges counts = batch::ranges_of(layout_, batch.slot->contents, batch.valid());
  const uint64_t subject = pipeline_->subject(), number = batch.number, start_ns = trace::begin(subject);
  const auto note = [=](trace::What what, uint64_t from_ns, uint64_t duration_ns) {
    trace::note(subject, {.start_ns = from_ns, .duration_ns = duration_ns, .batch = number, .what = what});
  };
  if (start_ns) note(trace::What::kFill, start_ns - batch.fill_ns, batch.fill_ns);
  batch.slot->memory->publish(counts.list(), [=, self = shared_from_this()](const Status& published) {
    if (start_ns && memory::on_gpu(self->kind())) note(trace::What::kCopy, start_ns, monotonic_ns() - start_ns);
    self->post([batch, published](Feed& feed) {
      if (!published) feed.give_up(published.error());
      feed.note_bad(batch);
      if (!feed.is_open()) return feed.ring_.given_back(*batch.slot);  // also batches behind a lost batch
      feed.ring_.filled(batch);
      feed.fill_free_slots();  // where nobody wanted the batch any more
    });
  });
  if (start_ns) note(trace::What::kPublish, start_ns, monotonic_ns() - start_ns);
}

// Batches from before a seek are dropped, and their bad samples do not count.
void Feed::note_bad(const batch::Batch& batch) {
  if (!is_open() || batch.run != ring_.run()) return;
  const Status within = bad_limit_.note(batch);
  if (!within) give_up(within.error());
}

void Feed::on_abandoned(batch::Slot& slot) {
  slot.memory->abandon();
  post([&slot](Feed& feed) {
    feed.ring_.given_back(slot);
    feed.fill_free_slots();
  });
}

void Feed::on_failed(const Error& error) {
  post([error](Feed& feed) { feed.give_up(error); });
}

void Feed::give_up(const Error& error) {
  if (!is_open()) return;
  log::limited(log::Level::kError, {pipeline_->spec().name}, "pipeline {}, group {}, rank {} failed: {}",
               pipeline_->spec().name, setting_.key.group, setting_.key.rank, error.message);
  failure_ = error.message;
  state_.change(State::kFailed);
  tell_all([&](delivery::ReaderId, const Seat& seat) { seat.reader->on_failed(error); });
}

void Feed::tell_all(const std::function<void(delivery::ReaderId, const Seat&)>& tell) {
  std::vector<delivery::ReaderId> readers;
  for (const auto& [id, seat] : seats_) readers.push_back(id);
  for (const delivery::ReaderId id : readers)
    if (const auto at = seats_.find(id); at != seats_.end()) tell(id, Seat(at->second));
}

void Feed::on_quiet() {
  post([](Feed& feed) {
    if (feed.state_ == State::kStopping) {
      feed.state_.change(State::kQuiet);
      return std::exchange(feed.quiet_, nullptr)();
    }
    const Tap* const tap = feed.filler_.tap();  // a stream is quiet only once it was stopped
    if (tap != nullptr) feed.filler_.replace_by(feed.make_stream(tap->next()));
    feed.fill_free_slots();
  });
}

void Feed::on_wanting() {
  post([](Feed& feed) { feed.fill_free_slots(); });
}

void Feed::post(std::function<void(Feed&)> task) {
  loop_.post([self = shared_from_this(), task = std::move(task)] {
    try {
      task(*self);
    } catch (const std::bad_alloc&) {
      self->give_up({Trouble::kMemory, "spdld is short of memory, and could not go on with this stream"});
    }
  });
}

bool Feed::has_job(const std::string& group) const {
  return setting_.key.group == group ||
         std::any_of(seats_.begin(), seats_.end(), [&](const auto& seat) { return seat.second.group == group; });
}

std::string Feed::gpu() const { return ring_.slots().front().memory->gpu(); }

// The position of a reader that joins now.
sampler::Position Feed::next_to_come() const {
  if (!ring_.has_begun()) return start_;
  return sharding_.by_one_name({ring_.last().epoch, ring_.last().step + 1});
}

control::AttachedInfo Feed::describe_to_client(sampler::Position position) const {
  control::AttachedInfo info;
  info.pipeline = pipeline_->spec().name;
  info.memory = kind();
  info.access = ring_.access();
  for (const auto& slot : ring_.slots()) info.slots.push_back(slot.memory->shared());
  info.gpu = setting_.gpu;
  info.ready_early = ready_early();
  info.slot_bytes = layout_.slot_bytes();
  info.layout = &layout_;
  info.global_size = sharding_.global_size();
  info.samples = pipeline_->samples();
  info.steps_per_epoch = sharding_.steps();
  info.last_samples = sharding_.last_samples();
  info.empty_steps = sharding_.empty_steps();
  if (pipeline_->spec().order.shuffle == config::Shuffle::kClient) {
    info.push_steps_max = sampler::Pushed::kStepsMax;
    info.push_ids_max = sampler::Pushed::kIdsMax;
  }
  info.epochs = pipeline_->spec().order.epochs;
  info.seed = pipeline_->spec().seed;
  info.position = position;
  if (setting_.sharing) {
    info.shared = true;
    info.leases_max = setting_.sharing->ring.credit;
  }
  info.fingerprint = pipeline_->fingerprint(sharding_);
  info.key_digests = pipeline_->key_digests();
  if (pipeline_->spec().is_mix())
    for (const auto& source : pipeline_->spec().sources) info.sources.push_back(source.name);
  info.classes = pipeline_->listing().classes();
  const source::Remarks remarks = pipeline_->remarks();
  info.missing = remarks.missing().first;
  info.missing_count = remarks.missing().count;
  return info;
}

}  // namespace spdld::node
