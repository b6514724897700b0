#include "daemon/node/feed.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>

#include "daemon/base/cpu.h"
#include "proto/cuda/driver.h"

namespace spdld::node {
namespace {

constexpr size_t kSeeksMax = 64;  // of a replica that is ahead of the others; of more the first are passed over

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

Feed::Feed(boost::asio::io_context& context, std::shared_ptr<pipeline::Pipeline> pipeline,
           const sampler::Sharding& sharding, const batch::Layout& layout, const Setting& setting,
           memory::SlotMemories memories, memory::HostMemory& host_memory)
    : context_(context),
      host_memory_(host_memory),
      pipeline_(std::move(pipeline)),
      sharding_(sharding),
      layout_(layout),
      setting_(setting),
      depth_max_(setting.sharing ? setting.sharing->ring.depth
                                 : depth_of(memories.size(), pipeline_->spec().batch.prefetch_depth)),
      ring_(make_ring(std::move(memories))),
      stream_(pipeline_, sharding_, layout_, ring_.slots().size(), setting.start, *this),
      looked_ns_(monotonic_ns()),
      start_(setting.start) {
  ring_.set_depth(depth_max_);
}

delivery::Ring Feed::make_ring(memory::SlotMemories memories) const {
  const auto slots = static_cast<uint32_t>(memories.size());
  if (setting_.sharing) return {slots_of(std::move(memories)), setting_.access, setting_.sharing->ring};
  return {slots_of(std::move(memories)), setting_.access, setting_.readers, slots - std::min(depth_max_, slots)};
}

Feed::~Feed() {
  if (memory::on_gpu(kind())) return;
  const memory::HostMemory::Use use{setting_.key.uid, layout_.slot_bytes(), ring_.access(), kind()};
  host_memory_.give_back(use, ring_.take_memories(), closed_);
}

void Feed::set_depth(uint32_t depth) {
  if (depth == ring_.depth() || setting_.sharing) return;
  ring_.set_depth(depth);
  fill_free_slots();
}

void Feed::begin_by(sampler::Position place) {
  if (begun_ || place >= start_) return;
  start_ = place;
  stream_.seek(ring_.run(), place);
}

uint64_t Feed::slot_bytes() const {
  if (!setting_.sharing) return layout_.slot_bytes() * ring_.slots().size();
  return layout_.slot_bytes() * setting_.sharing->ring.slots(std::max<size_t>(jobs(), 1));
}

std::optional<sampler::Position> Feed::entry(control::Join join, sampler::Position wanted) const {
  const sampler::Position next = next_to_come();
  if (!setting_.sharing) return next;
  if (join == control::Join::kAlone || !failure_.empty() || jobs() >= setting_.sharing->jobs_max) return std::nullopt;
  // What is asked for is given exactly where it is there, or comes next: nobody shall wait for another's pace.
  const sampler::Position begin = ring_.window_begin().value_or(next);
  if (begin <= wanted && wanted <= next) return wanted;
  const bool begins = ring_.statistics().batches == 0;  // those that come back after a restart are not all as far
  if (begins && next < wanted && wanted <= sampler::steps_on(next, setting_.sharing->ring.depth, sharding_.steps()))
    return wanted;
  if (join == control::Join::kExact || next < wanted) return std::nullopt;
  if (join != control::Join::kEpoch) return begin;
  const sampler::Position next_epoch{begin.epoch + 1, 0};
  const uint64_t epochs = pipeline_->spec().order.epochs;
  return epochs && next_epoch.epoch >= epochs ? std::nullopt : std::optional(next_epoch);
}

delivery::ReaderId Feed::join(const control::AttachRequest& request, sampler::Position from,
                              const control::Client& client, std::shared_ptr<control::AttachReply> reply) {
  const delivery::ReaderId id = ring_.join(reply->reader(), setting_.sharing ? from : sampler::Position{});
  seats_[id] = {request.group, request.reader, client, std::move(reply)};
  if (seats_.size() == setting_.readers) begun_ = true;
  fill_free_slots();
  return id;
}

void Feed::leave(delivery::ReaderId id, std::span<const delivery::LeaseId> keeps) {
  seats_.erase(id);
  if (keeps.empty())
    ring_.leave(id);
  else
    ring_.dismiss(id, keeps);
  go_where_all_want();
  fill_free_slots();
}

void Feed::vacate(delivery::ReaderId id) {
  seats_.erase(id);
  ring_.dismiss(id, ring_.leases_of(id));
  go_where_all_want();
  fill_free_slots();
}

// Told before its seat goes, while it can be told. What waits in its socket it takes first.
void Feed::cut_loose(delivery::ReaderId id) {
  const Seat seat = seats_.at(id);
  const uint64_t limit_ms = setting_.sharing->lag_ns_max / 1'000'000;
  spdlog::info(
      "pipeline {}: {} (pid {}) of group {} held the jobs back that it shares a stream with for more than {} "
      "ms: it goes on by itself",
      pipeline_->spec().name, seat.client.name, seat.client.pid, seat.group, limit_ms);
  cut_loose_++;
  seat.reply->failed({Trouble::kLagged, "this job held back for more than " + std::to_string(limit_ms) +
                                            " ms those that it shares a stream with (limits.share_lag_ms_max): it "
                                            "goes on with a ring of its own"});
  vacate(id);
}

void Feed::watch_lag() {
  const uint64_t now_ns = monotonic_ns(), since_ns = now_ns - std::exchange(looked_ns_, now_ns);
  if (!setting_.sharing) return;
  const auto laggard = ring_.laggard();
  for (auto& [id, seat] : seats_) {
    if (id == laggard) seat.lag_ns += since_ns;
    if (ring_.behind(id) == 0) seat.lag_ns = 0;
  }
  if (laggard && seats_.at(*laggard).lag_ns > setting_.sharing->lag_ns_max) cut_loose(*laggard);
}

bool Feed::release(delivery::ReaderId id, const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us) {
  ring_.note_progress(id, taken, waited_us);
  if (!ring_.release(id, lease)) return false;
  fill_free_slots();
  return true;
}

Status Feed::seek(delivery::ReaderId id, const control::SeekRequest& seek) {
  if (setting_.sharing)
    return Error{Trouble::kUsage, "a stream that jobs share can't seek: detach, and attach at the other place"};
  const auto at = seats_.find(id);
  if (at == seats_.end()) return Error{Trouble::kUsage, "a seat that was given back can't seek"};
  Seat& seat = at->second;
  if (seek.waits && seek.run == seat.run && seek.run != 0) {  // said before
    seat.waits = true;
    go_where_all_want();
    fill_free_slots();
    return Done{};
  }
  if (seek.run <= seat.run) return Error{Trouble::kUsage, "SEEK's run must be larger than any before"};
  if (!sharding_.has(seek.to))
    return Error{Trouble::kUsage, "SEEK to step " + std::to_string(seek.to.step) + " of an epoch of " +
                                      std::to_string(sharding_.steps()) + " steps"};
  const sampler::Position to = sharding_.by_one_name(seek.to);
  seat.run = seek.run;
  seat.waits = seek.waits;
  if (seat.sought.size() == kSeeksMax) seat.sought.pop_front();
  seat.sought.push_back(seek);
  seat.sought.back().to = to;
  ring_.pause(id, seek.run, seek.keeps ? *seek.keeps : ring_.leases_of(id),
              seek.stays ? std::optional(to) : std::nullopt);
  go_where_all_want();
  fill_free_slots();
  return Done{};
}

// Once the ring has begun: before, those that are missing are waited for.
void Feed::go_where_all_want() {
  const auto of_all = [this](auto holds) {
    return std::all_of(seats_.begin(), seats_.end(), [&](const auto& seat) { return holds(seat.second); });
  };
  for (size_t i = 0; i < kSeeksMax && begun_ && !seats_.empty(); i++) {  // as many as can be met
    if (!of_all([](const Seat& seat) { return !seat.sought.empty(); })) return;
    const bool all_wait = of_all([](const Seat& seat) { return seat.waits; });
    if (all_wait)
      for (auto& [id, seat] : seats_) seat.sought.erase(seat.sought.begin(), std::prev(seat.sought.end()));
    const auto to = meeting_place();
    if (!to && all_wait) tell_of_other_places();
    if (!to) return;
    go_to(*to);
  }
}

// The first place that all have sought, of those that are not followed yet.
std::optional<sampler::Position> Feed::meeting_place() const {
  for (const control::SeekRequest& wish : seats_.begin()->second.sought) {
    const auto wants_it = [&](const control::SeekRequest& other) { return other.to == wish.to; };
    if (std::all_of(seats_.begin(), seats_.end(), [&](const auto& seat) {
          return std::any_of(seat.second.sought.begin(), seat.second.sought.end(), wants_it);
        }))
      return wish.to;
  }
  return std::nullopt;
}

void Feed::go_to(sampler::Position to) {
  if (!ring_.all_stay()) {
    start_ = to;
    ring_.move(ring_.run() + 1);
    stream_.seek(ring_.run(), to);
  }
  for (auto& [id, seat] : seats_) {
    while (seat.sought.front().to != to) seat.sought.pop_front();
    seat.sought.pop_front();
    if (seat.sought.empty()) ring_.resume(id);
  }
}

// All of them: each waits for the others, and nobody knows which of them is wrong.
void Feed::tell_of_other_places() {
  const auto place_of = [](const auto& seat) { return seat.second.sought.back().to; };
  const auto text_of = [&](const auto& seat) {
    return "replica " + std::to_string(seat.second.reader) + " goes to epoch " + std::to_string(place_of(seat).epoch) +
           ", step " + std::to_string(place_of(seat).step);
  };
  const auto& one = *seats_.begin();
  const auto& other =
      *std::find_if(seats_.begin(), seats_.end(), [&](const auto& seat) { return place_of(seat) != place_of(one); });
  const bool in_order = one.second.reader < other.second.reader;
  const Error error{Trouble::kUsage,
                    "the replicas of rank " + std::to_string(setting_.key.rank) + " have parted: " +
                        text_of(in_order ? one : other) + ", and " + text_of(in_order ? other : one) +
                        "; they see the same batches, so that all of them seek the same place, or load the same state"};
  for (auto& [id, seat] : seats_) {
    seat.waits = false;  // until it asks again, perhaps for the same
    seat.reply->seek_refused(seat.sought.back().request, error);
  }
}

Status Feed::push(const sampler::PushedSteps& steps) {
  Status taken = stream_.push(steps);
  if (taken) fill_free_slots();
  return taken;
}

void Feed::stop(std::function<void()> quiet) {
  stopping_ = true;
  quiet_ = std::move(quiet);
  stream_.stop();
}

void Feed::tick() {
  stream_.tick();
  if (ring_.tick()) fill_free_slots();
  watch_lag();
  if (const auto trouble = ring_.slots().front().memory->trouble(); trouble && failure_.empty()) give_up(*trouble);
}

void Feed::fill_free_slots() {
  if (!begun_ || stopping_ || waits_for_room_ || !failure_.empty() || seats_.empty()) return;
  while (stream_.wants_slot()) {
    batch::Slot* const slot = ring_.take_free();
    if (!slot) return;
    if (begin_fill(*slot)) continue;
    ring_.given_back(*slot);
    return;
  }
}

bool Feed::begin_fill(batch::Slot& slot) {
  const auto begun = slot.memory->begin_fill([&context = context_, weak = weak_from_this()] {
    boost::asio::post(context, [weak] {
      const auto self = weak.lock();
      if (!self) return;
      self->waits_for_room_ = false;
      self->fill_free_slots();
    });
  });
  if (!begun) {
    give_up(begun.error());
    return false;
  }
  waits_for_room_ = !*begun;
  if (waits_for_room_) return false;
  if (stream_.fill(slot)) return true;
  slot.memory->abandon();
  return false;
}

void Feed::on_batch(const batch::Batch& batch) {
  batch.slot->memory->publish([self = shared_from_this(), batch](const Status& published) {
    boost::asio::post(self->context_, [self, batch, published] {
      if (!published) self->give_up(published.error());
      if (!self->failure_.empty()) return self->ring_.given_back(*batch.slot);  // those behind a lost one as well
      self->ring_.filled(batch);
      self->fill_free_slots();  // where nobody wanted the batch any more
    });
  });
}

void Feed::on_abandoned(batch::Slot& slot) {
  slot.memory->abandon();
  boost::asio::post(context_, [self = shared_from_this(), &slot] {
    self->ring_.given_back(slot);
    self->fill_free_slots();
  });
}

void Feed::on_failed(const Error& error) {
  boost::asio::post(context_, [self = shared_from_this(), error] { self->give_up(error); });
}

void Feed::give_up(const Error& error) {
  if (!failure_.empty()) return;
  spdlog::error("pipeline {}, group {}, rank {} failed: {}", pipeline_->spec().name, setting_.key.group,
                setting_.key.rank, error.message);
  failure_ = error.message;
  const auto seats = seats_;  // what they are told may end them
  for (const auto& [reader, seat] : seats) seat.reply->failed(error);
}

void Feed::on_quiet() {
  boost::asio::post(context_, [self = shared_from_this()] {
    if (self->quiet_) std::exchange(self->quiet_, nullptr)();
  });
}

void Feed::on_wanting() {
  boost::asio::post(context_, [self = shared_from_this()] { self->fill_free_slots(); });
}

std::string Feed::gpu() const {
  if (!memory::on_gpu(kind())) return {};
  cuda::abi::Uuid uuid;
  std::copy(setting_.gpu.begin(), setting_.gpu.end(), uuid.bytes.begin());
  return cuda::to_text(uuid);
}

// Of a reader that joins now.
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
  info.ready_early = setting_.ready_early;
  info.slot_bytes = layout_.slot_bytes();
  info.layout = &layout_;
  info.global_size = sharding_.global_size();
  info.samples = pipeline_->samples();
  info.steps_per_epoch = sharding_.steps();
  if (pipeline_->spec().order.shuffle == config::Shuffle::kClient) {
    info.push_steps_max = sampler::Pushed::kStepsMax;
    info.push_ids_max = sampler::Pushed::kIdsMax;
  }
  info.epochs = pipeline_->spec().order.epochs;
  info.seed = pipeline_->spec().seed;
  info.position = position;
  if (setting_.sharing) info.shared = true, info.leases_max = setting_.sharing->ring.credit;
  info.fingerprint = pipeline_->fingerprint(sharding_.global_size());
  if (pipeline_->spec().is_mix())
    for (const auto& source : pipeline_->spec().sources) info.sources.push_back(source.name);
  return info;
}

}  // namespace spdld::node
