// How the node seats a trainer: the ring that it needs, found or made, and a place in it until it leaves.

#include <algorithm>

#include "daemon/base/log.h"
#include "daemon/node/access.h"
#include "daemon/node/node.h"

namespace spdld::node {
namespace {

// A trainer's hold on its seat.
class Hold final : public control::Attachment {
 public:
  Hold(Node& node, std::shared_ptr<Feed> feed, delivery::ReaderId id, const control::Client& client)
      : node_(node), feed_(std::move(feed)), id_(id), client_(client) {}
  ~Hold() override { node_.leave(feed_, id_, closed_ ? nullptr : &client_); }

  bool release(const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us) override {
    if (!feed_->release(id_, lease, taken, waited_us)) return false;
    closed_ = dismissed_ && !holds_leases();
    return true;
  }
  void dismiss(std::span<const delivery::LeaseId> keeps) override {
    dismissed_ = true;
    node_.dismiss(feed_, id_, keeps);
    closed_ = !holds_leases();
  }
  bool holds_leases() const override { return feed_->ring().leases(id_) > 0; }
  Status seek(const control::SeekRequest& seek) override { return feed_->seek(id_, seek); }
  Status push(const sampler::PushedSteps& steps) override { return feed_->push(steps); }

 private:
  Node& node_;
  const std::shared_ptr<Feed> feed_;
  const delivery::ReaderId id_;
  const control::Client client_;
  bool dismissed_ = false;
  bool closed_ = false;  // the client has said itself that nothing of the ring is open there
};

sampler::Sharding sharding_for(const pipeline::Pipeline& pipeline, const control::AttachRequest& request,
                               const control::Client& client) {
  const config::PipelineSpec& spec = pipeline.spec();
  config::BatchSpec batch = spec.batch;
  for (const auto& tensor : pipeline.plan().tensors())
    if (tensor.dtype == config::DType::kFloat64 && !client.knows_float64)
      throw SetupError(Trouble::kUnsupported, "output '" + tensor.name +
                                                  "' is of float64, which this client does not know: install this "
                                                  "spdld's release, or write dtype = \"float32\"");
  if (request.batch_size) batch.size = request.batch_size, batch.global_size = 0;
  const sampler::Sharding sharding(pipeline.samples(), batch, request.rank, request.world_size);
  if (spec.order.shuffle != config::Shuffle::kClient) return sharding;
  const auto refuse = [](Trouble trouble, const std::string& what) {
    throw SetupError(trouble, "order.shuffle is \"client\", and " + what);
  };
  if (!client.pushes)
    refuse(Trouble::kUnsupported, "this client cannot push the samples of its steps: install this spdld's release");
  if (request.readers > 1)
    refuse(Trouble::kUsage, "each rank's samples are pushed by its one reader, not by " +
                                std::to_string(request.readers) + ": attach the replicas as ranks of their own");
  if (sharding.batch_size() > sampler::Pushed::kBatchSizeMax)
    refuse(Trouble::kUsage, "a step of a rank may then have " + std::to_string(sampler::Pushed::kBatchSizeMax) +
                                " samples, not " + std::to_string(sharding.batch_size()) + ": make the batch smaller");
  return sharding.without_steps();
}

std::string holder_of(const Feed::Seat& seat) {
  const auto& client = seat.client;
  if (!is_same_user(client, client.uid)) return "another client";  // perhaps another user with the overflow uid
  return client.name + ", pid " + std::to_string(client.pid) + " of user " + user_name(client.uid);
}

[[noreturn]] void refuse_seat(const control::AttachRequest& request, const std::string& what) {
  throw SetupError(Trouble::kConflict,
                   "rank " + std::to_string(request.rank) + " of group '" + request.group + "' " + what);
}

// Why slots of this kind, on this GPU, are not what the newcomer can take; empty: they are.
std::string misplaced(const Feed& feed, const Placement& wanted) {
  if (!wanted.is_at(feed.kind(), feed.setting().gpu))
    return "has replicas elsewhere: all replicas of a rank share the memory of one device: give them all device = "
           "\"cpu\"";
  if (memory::on_gpu(feed.kind()) && wanted.ring.ready_early != feed.setting().ready_early)
    return "has replicas that disagree on ready_early";
  if (feed.kind() == memory::Kind::kCudaVmm && !wanted.ring.client_shares_fds)
    return "has its batches on the GPU by file descriptors, which this replica can't take: use transport \"handle\"";
  return "";
}

std::string replicas(uint32_t count) { return std::to_string(count) + (count == 1 ? " replica" : " replicas"); }

// A seat that is taken, or one of another number of replicas.
void check_seat(const Feed& feed, const Feed::Seat& seat, const control::AttachRequest& request,
                const control::Client& client) {
  if (feed.setting().readers != request.readers)
    refuse_seat(request, "has " + replicas(feed.setting().readers) + " on this node, as " + holder_of(seat) +
                             " said, and not " + std::to_string(request.readers) +
                             ": give the same number of replicas in every process of this rank, and another group to "
                             "another job");
  if (seat.reader != request.reader) return;
  if (request.readers == 1 && seat.client.pid == client.pid && client.pid != 0)
    refuse_seat(request, "is held by another loader of this same process (pid " + std::to_string(client.pid) +
                             "): close that loader, or name no group, since loaders without one are jobs of their own");
  if (request.readers == 1)
    refuse_seat(request, "is held by " + holder_of(seat) +
                             ": give this job another group, or end that process; processes that must see the same "
                             "batches attach as replicas of the rank");
  refuse_seat(request, "has a replica " + std::to_string(request.reader) + " of " + std::to_string(request.readers) +
                           " already: it is held by " + holder_of(seat) +
                           ": give every replica a number of its own, or end that process");
}

// The place that it asks for. Throws where the run has none such.
sampler::Position start_of(const Newcomer& newcomer) {
  const sampler::Sharding& sharding = newcomer.sharding;
  const uint64_t epochs = newcomer.pipeline->spec().order.epochs;
  const sampler::Position start = sharding.by_one_name(newcomer.request.position);
  if (!sharding.has(start) || (epochs && start.epoch > epochs))
    throw SetupError(Trouble::kUsage, "epoch " + std::to_string(start.epoch) + ", step " + std::to_string(start.step) +
                                          " is past the end: an epoch has " + std::to_string(sharding.steps()) +
                                          " steps" + (epochs ? ", the run " + std::to_string(epochs) + " epochs" : ""));
  return start;
}

}  // namespace

void Node::take_seat(const control::Client& client, const control::AttachRequest& request,
                     const std::shared_ptr<control::AttachReply>& reply,
                     const std::shared_ptr<pipeline::Pipeline>& pipeline) {
  const sampler::Sharding sharding = sharding_for(*pipeline, request, client);
  const std::string fingerprint = pipeline->fingerprint(sharding.global_size());
  if (!request.fingerprint.empty() && request.fingerprint != fingerprint)
    throw SetupError(Trouble::kChanged, "the position belongs to another run: " +
                                            pipeline::Pipeline::differs(fingerprint, request.fingerprint));
  auto placement = place(pipeline->spec().batch.device, request);
  if (!placement) throw SetupError(placement.error().trouble, placement.error().message);
  evict_gone(*pipeline, client.uid, request.group);
  check_group(*pipeline, request, client, sharding);
  Newcomer newcomer{client, request, reply, pipeline, sharding, *placement};
  newcomer.key = key_of(newcomer);
  if (const auto feed = find_feed(*pipeline, newcomer.key)) {
    if (feed->setting().sharing)
      make_room(client.uid, feed->layout().slot_bytes() * feed->setting().sharing->ring.credit);
    return join(newcomer, feed);
  }
  const RingPlan plan = plan_ring(newcomer);
  check_quota(client.uid, plan.slots);
  if (placement->place == Placement::Place::kGpu) return make_device_slots(newcomer, plan);
  const size_t touched = plan.sharing ? plan.sharing->ring.slots(1) : plan.slots;
  uint64_t bytes = plan.layout.slot_bytes() * touched;
  if (const auto tap = find_tap(newcomer, plan.start))
    bytes += tap->feed->layout().slot_bytes() * tap->feed->setting().sharing->ring.credit;
  make_room(client.uid, bytes);
  const auto kind = placement->place == Placement::Place::kPinned ? memory::Kind::kPinned : memory::Kind::kHost;
  const memory::HostMemory::Use use{client.uid, plan.layout.slot_bytes(), plan.access, kind};
  join(newcomer, open_feed(newcomer, plan, host_memory_.make_slots(use, plan.slots)));
}

// Device memory takes its time, on the set-up thread of the GPUs; the seat is looked at anew when it is there.
void Node::make_device_slots(const Newcomer& newcomer, const RingPlan& plan) {
  memory::DeviceRing ring = newcomer.placement.ring;
  ring.owner = newcomer.client.uid;
  ring.slots = plan.slots;
  ring.slot_bytes = plan.layout.slot_bytes();
  making_.emplace(newcomer.client.uid, plan.slots);
  awaited_[newcomer.pipeline.get()]++;  // its cache stays open meanwhile
  note_use(*newcomer.pipeline);
  gpus_.make_slots(ring, [this, newcomer, plan](Result<memory::SlotMemories> made) {
    // Shared, because a posted handler must be copyable.
    auto memories = std::make_shared<Result<memory::SlotMemories>>(std::move(made));
    loop_.post([this, newcomer, plan, memories = std::move(memories)] {
      making_.erase(making_.find({newcomer.client.uid, plan.slots}));
      const auto awaited = awaited_.find(newcomer.pipeline.get());
      if (--awaited->second == 0) awaited_.erase(awaited);
      try {
        if (!*memories) throw SetupError(memories->error().trouble, memories->error().message);
        if (draining_) throw SetupError(Trouble::kStopping, "this spdld is stopping");
        const auto& request = newcomer.request;
        check_group(*newcomer.pipeline, request, newcomer.client, newcomer.sharding);
        auto feed = find_feed(*newcomer.pipeline, newcomer.key);
        join(newcomer, feed ? feed : open_feed(newcomer, plan, std::move(**memories)));
      } catch (const SetupError& e) {
        newcomer.reply->refused(e.error());
        note_use(*newcomer.pipeline);
      } catch (const std::bad_alloc&) {
        newcomer.reply->refused({Trouble::kMemory, "spdld is short of memory: try again later"});
        note_use(*newcomer.pipeline);
      }
    });
  });
}

void Node::note_use(const pipeline::Pipeline& pipeline) {
  pipelines_.set_in_use(pipeline, feeds_.contains(&pipeline) || awaited_.contains(&pipeline));
}

void Node::join(const Newcomer& newcomer, const std::shared_ptr<Feed>& feed) {
  const auto& request = newcomer.request;
  if (const std::string why = misplaced(*feed, newcomer.placement); !why.empty()) refuse_seat(request, why);
  if (!feed->setting().sharing) feed->begin_by(start_of(newcomer));
  const auto position = feed->entry(request.join, request.position);
  if (!position) refuse_seat(request, "finds that the stream to share has gone on meanwhile: attach again");
  seat(newcomer, feed, *position);
}

void Node::seat(const Newcomer& newcomer, const std::shared_ptr<Feed>& feed, sampler::Position from) {
  const auto& request = newcomer.request;
  const control::AttachedInfo info = feed->describe_to_client(from);
  const delivery::ReaderId id = feed->join(request, from, newcomer.client, newcomer.reply);
  newcomer.reply->attached(std::make_unique<Hold>(*this, feed, id, newcomer.client), info);
  feed->begin(id);
  log::debug("rank {} of {} of group {} attached to pipeline {} at epoch {}, step {}{}", request.rank,
             request.world_size, request.group, newcomer.pipeline->spec().name, info.position.epoch, info.position.step,
             info.shared ? ", sharing its stream" : "");
}

std::shared_ptr<Feed> Node::find_feed(const pipeline::Pipeline& pipeline, const FeedKey& key) const {
  const auto feeds = feeds_.find(&pipeline);
  if (feeds == feeds_.end()) return nullptr;
  const auto at = feeds->second.find(key);
  return at == feeds->second.end() ? nullptr : at->second;
}

void Node::check_group(const pipeline::Pipeline& pipeline, const control::AttachRequest& request,
                       const control::Client& client, const sampler::Sharding& sharding) const {
  const auto feeds = feeds_.find(&pipeline);
  if (feeds == feeds_.end()) return;
  for (const auto& [key, feed] : feeds->second) {
    if (key.uid != client.uid) continue;
    for (const auto& [id, seat] : feed->seats()) {
      if (seat.group != request.group) continue;
      if (key.world_size != request.world_size)
        throw SetupError(Trouble::kConflict, "rank " + std::to_string(key.rank) + " of group '" + request.group +
                                                 "' is here with world_size " + std::to_string(key.world_size) +
                                                 ", not " + std::to_string(request.world_size));
      if (feed->sharding().global_size() != sharding.global_size())
        throw SetupError(Trouble::kConflict,
                         "rank " + std::to_string(key.rank) + " of group '" + request.group +
                             "' is here with a global batch of " + std::to_string(feed->sharding().global_size()) +
                             " samples, not " + std::to_string(sharding.global_size()) +
                             ": give all ranks of a job the same batch_size, and another group to another job");
      if (key.rank != request.rank) continue;
      check_seat(*feed, seat, request, client);
    }
  }
}

FeedKey Node::key_of(const Newcomer& newcomer) const {
  const auto& request = newcomer.request;
  const FeedKey own{newcomer.client.uid, request.group, request.rank, request.world_size};
  // The driver pins the memory itself, and not a reader's own copies of sealed pages.
  const bool is_pinned = newcomer.placement.place == Placement::Place::kPinned;
  if (newcomer.pipeline->spec().share != config::Share::kStream || request.readers > 1 || is_pinned ||
      request.join == control::Join::kAlone)
    return own;
  FeedKey shared = own;
  shared.group.clear();
  shared.batch_size = newcomer.sharding.batch_size();
  const auto feed = find_feed(*newcomer.pipeline, shared);
  const bool fits =
      !feed || (feed->entry(request.join, request.position) && misplaced(*feed, newcomer.placement).empty());
  return fits ? shared : own;
}

RingPlan Node::plan_ring(const Newcomer& newcomer) const {
  const auto& [client, request, reply, pipeline, sharding, placement, key] = newcomer;
  const config::BatchSpec& batch = pipeline->spec().batch;
  const size_t slots = std::min<size_t>(size_t{batch.prefetch_depth} + newcomer.held_max(), kSlotsMax);
  const uint64_t bytes_max = placement.place == Placement::Place::kGpu ? options_.settings.gpu_slot_bytes_max
                                                                       : options_.settings.slot_bytes_max;
  RingPlan plan{start_of(newcomer), slots, batch::Layout(pipeline->plan().tensors(), sharding.batch_size(), bytes_max)};
  if (request.readers > 1) plan.access = memory::Access::kCopyOnWrite;
  if (newcomer.key.batch_size == 0) return plan;
  plan.sharing = plan_sharing(newcomer);
  plan.slots = plan.sharing->ring.slots(plan.sharing->jobs_max);
  plan.access = memory::Access::kCopyOnWrite;
  // Jobs that come back with this job after a restart were not all at the same step.
  plan.start.step -= std::min<uint64_t>(plan.start.step, plan.sharing->ring.depth);
  return plan;
}

std::shared_ptr<Feed> Node::open_feed(const Newcomer& newcomer, const RingPlan& plan, memory::SlotMemories memories) {
  const auto& [client, request, reply, pipeline, sharding, placement, key] = newcomer;
  Feed::Setting setting{
      key, request.readers, plan.access, plan.start, placement.ring.gpu, placement.ring.ready_early, plan.sharing};
  const auto tap = find_tap(newcomer, plan.start);
  if (tap) {
    setting.start = tap->start;
    setting.tapped = {tap->feed->sharding(), tap->feed->layout()};
  }
  auto feed =
      std::make_shared<Feed>(loop_, pipeline, sharding, plan.layout, setting, std::move(memories), host_memory_);
  feeds_[pipeline.get()][key] = feed;
  note_use(*pipeline);
  if (tap) begin_tap(newcomer, feed, *tap);
  return feed;
}

// A job that was killed and started again at once, perhaps with other ranks, may ask for its seats before the news of
// its death has come.
void Node::evict_gone(const pipeline::Pipeline& pipeline, uid_t uid, const std::string& group) {
  const auto at = feeds_.find(&pipeline);
  if (at == feeds_.end()) return;
  const Feeds feeds = at->second;  // a copy: feeds that are left empty go
  for (const auto& [key, feed] : feeds) {
    if (key.uid != uid) continue;
    const auto seats = feed->seats();
    for (const auto& [id, seat] : seats)
      if (seat.group == group && seat.reply->client_gone() && feed->seats().contains(id)) leave(feed, id, &seat.client);
  }
}

void Node::dismiss(const std::shared_ptr<Feed>& feed, delivery::ReaderId id, std::span<const delivery::LeaseId> keeps) {
  feed->leave(id, keeps);
  close_if_empty(feed);
}

// Slots on a GPU outlive the process that has them open: its forked children keep its work on the GPU alive.
void Node::leave(const std::shared_ptr<Feed>& feed, delivery::ReaderId id, const control::Client* unclosed) {
  if (quarantine_.holds(*feed, id)) return;
  if (unclosed) feed->note_unclosed();
  if (!unclosed || !memory::on_gpu(feed->kind()) || !unclosed->process || !*unclosed->process) {
    feed->leave(id);
  } else if (proto::process_has_ended(unclosed->process->get())) {
    lose(feed, id);
  } else {
    feed->vacate(id);
    quarantine_.hold(*unclosed, feed, id, [this, feed, id] { lose(feed, id); });
  }
  close_if_empty(feed);
}

void Node::lose(const std::shared_ptr<Feed>& feed, delivery::ReaderId id) {
  if (feed->lose(id)) close(feed);  // so that its readers attach to another ring, and not to this one
}

void Node::close_if_empty(const std::shared_ptr<Feed>& feed) {
  if (feed->seats().empty()) close(feed);
}

void Node::close(const std::shared_ptr<Feed>& feed) {
  const auto feeds = feeds_.find(&feed->pipeline());
  if (feeds == feeds_.end()) return;
  const auto at = feeds->second.find(feed->setting().key);
  if (at == feeds->second.end() || at->second != feed) return;
  feeds->second.erase(at);
  if (feeds->second.empty()) {
    feeds_.erase(feeds);
    note_use(feed->pipeline());
  }
  retire(feed);
}

void Node::retire(std::shared_ptr<Feed> feed) {
  closing_.insert(feed);
  Feed& stopped = *feed;
  stopped.stop([this, feed = std::move(feed)] {
    closing_.erase(feed);
    if (draining_ && at_rest()) loop_.stop();
  });
}

}  // namespace spdld::node
