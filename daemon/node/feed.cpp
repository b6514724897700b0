#include "daemon/node/feed.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "proto/cuda/driver.h"

namespace spdld::node {
namespace {

memory::Access access_for(uint32_t readers) {
  return readers == 1 ? memory::Access::kWritable : memory::Access::kCopyOnWrite;
}

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
      depth_max_(depth_of(memories.size(), pipeline_->spec().batch.prefetch_depth)),
      held_max_(static_cast<uint32_t>(memories.size()) - std::min<uint32_t>(depth_max_, memories.size())),
      ring_(slots_of(std::move(memories)), access_for(setting.readers), setting.readers, held_max_),
      stream_(pipeline_, sharding_, layout_, ring_.slots().size(), setting.start, *this) {
  ring_.set_depth(depth_max_);
}

Feed::~Feed() {
  if (memory::on_gpu(kind())) return;
  const memory::HostMemory::Use use{setting_.key.uid, layout_.slot_bytes(), ring_.access(), kind()};
  host_memory_.give_back(use, ring_.take_memories(), closed_);
}

void Feed::set_depth(uint32_t depth) {
  if (depth == ring_.depth()) return;
  ring_.set_depth(depth);
  fill_free_slots();
}

delivery::ReaderId Feed::join(uint32_t reader, const control::Client& client,
                              std::shared_ptr<control::AttachReply> reply) {
  const delivery::ReaderId id = ring_.join(reply->reader());
  seats_[reader] = {client, std::move(reply), id};
  if (seats_.size() == setting_.readers) begun_ = true;
  fill_free_slots();
  return id;
}

void Feed::leave(delivery::ReaderId id, std::span<const delivery::LeaseId> keeps) {
  std::erase_if(seats_, [&](const auto& seat) { return seat.second.id == id; });
  if (keeps.empty())
    ring_.leave(id);
  else
    ring_.dismiss(id, keeps);
  fill_free_slots();
}

void Feed::vacate(delivery::ReaderId id) {
  std::erase_if(seats_, [&](const auto& seat) { return seat.second.id == id; });
  ring_.dismiss(id, ring_.leases_of(id));
  fill_free_slots();
}

bool Feed::release(delivery::ReaderId id, const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us) {
  ring_.note_progress(id, taken, waited_us);
  if (!ring_.release(id, lease)) return false;
  fill_free_slots();
  return true;
}

Status Feed::seek(uint32_t run, sampler::Position to) {
  if (setting_.readers > 1)
    return Error{Trouble::kUsage, "a rank with several readers can't seek: its readers must all see the same batches"};
  if (run <= ring_.run()) return Error{Trouble::kUsage, "SEEK's run must be larger than any before"};
  if (!sharding_.has(to))
    return Error{Trouble::kUsage, "SEEK to step " + std::to_string(to.step) + " of an epoch of " +
                                      std::to_string(sharding_.steps()) + " steps"};
  ring_.set_run(run);
  stream_.seek(run, sharding_.by_one_name(to));
  fill_free_slots();
  return Done{};
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
  if (!ring_.statistics().batches) return setting_.start;
  const sampler::Position last = ring_.last();
  return sharding_.by_one_name({last.epoch, last.step + 1});
}

control::AttachedInfo Feed::describe_to_client() const {
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
  info.position = next_to_come();
  info.fingerprint = pipeline_->fingerprint(sharding_.global_size());
  return info;
}

}  // namespace spdld::node
