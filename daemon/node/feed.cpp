#include "daemon/node/feed.h"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>

#include "daemon/memory/host/host_slot.h"

namespace spdld::node {
namespace {

memory::Access access_for(uint32_t readers) {
  return readers == 1 ? memory::Access::kWritable : memory::Access::kCopyOnWrite;
}

std::vector<batch::Slot> make_slots(size_t count, uint64_t bytes, uint32_t readers) {
  std::vector<batch::Slot> slots;
  for (uint32_t i = 0; i < count; i++)
    slots.push_back({i, std::make_unique<memory::HostSlot>(bytes, access_for(readers))});
  return slots;
}

}  // namespace

Feed::Feed(boost::asio::io_context& context, std::shared_ptr<pipeline::Pipeline> pipeline,
           const sampler::Sharding& sharding, const batch::Layout& layout, const Setting& setting)
    : context_(context),
      pipeline_(std::move(pipeline)),
      sharding_(sharding),
      layout_(layout),
      setting_(setting),
      ring_(make_slots(setting.slots, layout.slot_bytes(), setting.readers), access_for(setting.readers),
            setting.readers),
      stream_(pipeline_, sharding_, layout_, setting.slots, setting.start, *this) {}

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
  if (to.step > sharding_.steps())
    return Error{Trouble::kUsage, "SEEK to step " + std::to_string(to.step) + " of an epoch of " +
                                      std::to_string(sharding_.steps()) + " steps"};
  if (to.step == sharding_.steps()) to = {to.epoch + 1, 0};
  ring_.set_run(run);
  stream_.seek(run, to);
  fill_free_slots();
  return Done{};
}

void Feed::stop(std::function<void()> quiet) {
  stopping_ = true;
  quiet_ = std::move(quiet);
  stream_.stop();
}

void Feed::fill_free_slots() {
  if (!begun_ || stopping_ || seats_.empty()) return;
  while (batch::Slot* slot = ring_.take_free()) {
    if (stream_.fill(*slot)) continue;
    ring_.given_back(*slot);
    return;
  }
}

void Feed::on_batch(const batch::Batch& batch) {
  boost::asio::post(context_, [self = shared_from_this(), batch] {
    self->ring_.filled(batch);
    self->fill_free_slots();  // where nobody wanted the batch any more
  });
}

void Feed::on_abandoned(batch::Slot& slot) {
  boost::asio::post(context_, [self = shared_from_this(), &slot] {
    self->ring_.given_back(slot);
    self->fill_free_slots();
  });
}

void Feed::on_failed(const Error& error) {
  boost::asio::post(context_, [self = shared_from_this(), error] {
    spdlog::error("pipeline {}, group {}, rank {} failed: {}", self->pipeline_->spec().name, self->setting_.key.group,
                  self->setting_.key.rank, error.message);
    self->failure_ = error.message;
    for (const auto& [reader, seat] : self->seats_) seat.reply->failed(error);
  });
}

void Feed::on_quiet() {
  boost::asio::post(context_, [self = shared_from_this()] {
    if (self->quiet_) std::exchange(self->quiet_, nullptr)();
  });
}

// Of a reader that joins now.
sampler::Position Feed::next_to_come() const {
  if (!ring_.statistics().batches) return setting_.start;
  const sampler::Position last = ring_.last();
  return last.step + 1 < sharding_.steps() ? sampler::Position{last.epoch, last.step + 1}
                                           : sampler::Position{last.epoch + 1, 0};
}

control::AttachedInfo Feed::describe_to_client() const {
  control::AttachedInfo info;
  info.pipeline = pipeline_->spec().name;
  info.memory = memory::Kind::kHost;
  info.access = ring_.access();
  for (const auto& slot : ring_.slots()) info.slot_fds.push_back(slot.memory->shared_fd());
  info.slot_bytes = layout_.slot_bytes();
  info.layout = &layout_;
  info.global_size = sharding_.global_size();
  info.samples = pipeline_->listing().size();
  info.steps_per_epoch = sharding_.steps();
  info.epochs = pipeline_->spec().order.epochs;
  info.seed = pipeline_->spec().seed;
  info.position = next_to_come();
  info.fingerprint = pipeline_->fingerprint(sharding_.global_size());
  return info;
}

}  // namespace spdld::node
