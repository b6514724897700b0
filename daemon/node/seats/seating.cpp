#include "daemon/node/seats/seating.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "daemon/base/system/log.h"
#include "daemon/node/seats/seat_rules.h"
#include "proto/fingerprint.h"
#include "proto/seqpacket.h"

namespace spdld::node {
namespace {

// A trainer as a feed's reader: what it is told goes to its session. A call may end the trainer's hold on its seat, and
// this object with it; so each call holds the reply.
class Trainer final : public FeedReader {
 public:
  explicit Trainer(std::shared_ptr<control::AttachReply> reply) : reply_(std::move(reply)) {}

  void on_ready(const batch::Batch& batch, uint64_t generation, uint32_t run) override {
    reply_->reader().on_ready(batch, generation, run);
  }
  void on_failed(const Error& error) override { held()->failed(error); }
  void on_seek_refused(uint32_t request, const Error& error) override { held()->seek_refused(request, error); }
  bool has_gone() const override { return held()->client_gone(); }

 private:
  std::shared_ptr<control::AttachReply> held() const { return reply_; }

  const std::shared_ptr<control::AttachReply> reply_;
};

// A reader's hold on its seat.
class Hold final : public control::Attachment {
 public:
  // Takes the seat. `trainer`: the seat's reader, which lives as long as the hold; none: the reader is a Tap.
  Hold(Seating& seating, std::shared_ptr<Feed> feed, const Feed::Seat& seat, std::unique_ptr<Trainer> trainer,
       sampler::Position from, std::optional<sampler::Position> followed)
      : seating_(seating),
        feed_(std::move(feed)),
        client_(seat.client),
        trainer_(std::move(trainer)),
        id_(feed_->join(seat, from, followed)) {}
  ~Hold() override { seating_.leave(feed_, id_, closed_ ? nullptr : &client_); }

  delivery::ReaderId id() const { return id_; }
  bool release(const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us) override {
    if (!feed_->release(id_, lease, taken, waited_us)) return false;
    closed_ = dismissed_ && !holds_leases();
    return true;
  }
  void dismiss(std::span<const delivery::LeaseId> keeps) override {
    dismissed_ = true;
    seating_.dismiss(feed_, id_, keeps);
    closed_ = !holds_leases();
  }
  bool holds_leases() const override { return feed_->ring().leases(id_) > 0; }
  Status seek(const control::SeekRequest& seek) override { return feed_->seek(id_, seek); }
  Status push(const sampler::PushedSteps& steps) override { return feed_->push(steps); }

 private:
  Seating& seating_;
  const std::shared_ptr<Feed> feed_;
  const control::Client client_;
  const std::unique_ptr<Trainer> trainer_;
  const delivery::ReaderId id_;
  bool dismissed_ = false;
  bool closed_ = false;  // the client has said itself that nothing of the ring is open there
};

// The key of the ring that this rank of this job has alone.
FeedKey own_key(const Newcomer& newcomer) {
  const auto& request = newcomer.request;
  return {newcomer.client.uid, request.group, request.rank, request.world_size};
}

// The key of the ring that this rank shares with other jobs of the user, where the pipeline shares its stream.
FeedKey shared_key(const Newcomer& newcomer) {
  FeedKey key = own_key(newcomer);
  key.group.clear();
  key.batch_size = newcomer.sharding.batch_size();
  return key;
}

bool may_share(const Newcomer& newcomer) {
  // The driver pins the memory itself, and not a reader's own copies of sealed pages.
  const bool is_pinned = newcomer.placement.where == Placement::Where::kPinned;
  return newcomer.pipeline->spec().share == config::Share::kStream && newcomer.request.readers == 1 && !is_pinned &&
         newcomer.request.join != control::Join::kAlone;
}

// Whether the position that a client comes with is one of this run.
bool is_of_run(const control::AttachRequest& request, const std::string& fingerprint,
               const sampler::Sharding& sharding) {
  if (request.fingerprint.empty() || request.fingerprint == fingerprint) return true;
  // Another number of ranks may divide the last two steps otherwise. All steps but the last begin at the same sample.
  return request.position.step + 1 < sharding.steps() &&
         proto::differ_in_last_step_alone(request.fingerprint, fingerprint);
}

}  // namespace

Seating::Seating(Lent lent, Events events)
    : lent_(std::move(lent)), events_(std::move(events)), quarantine_(lent_.loop) {}

void Seating::seat(const control::Client& client, const control::AttachRequest& request,
                   const std::shared_ptr<control::AttachReply>& reply,
                   const std::shared_ptr<pipeline::Pipeline>& pipeline) {
  const sampler::Sharding sharding = sharding_for(*pipeline, request);
  const std::string fingerprint = pipeline->fingerprint(sharding);
  if (!is_of_run(request, fingerprint, sharding))
    throw SetupError(Trouble::kChanged, "the position belongs to another run: " +
                                            pipeline::Pipeline::differs(fingerprint, request.fingerprint,
                                                                        pipeline->key_digests(), request.key_digests));
  auto placement = placement_for(pipeline->spec().batch.device, request);
  if (!placement) throw SetupError(placement.error().trouble, placement.error().message);
  evict_gone(*pipeline, client.uid, request.group);
  check_group(*pipeline, request, client, sharding);
  Newcomer newcomer{client, request, reply, pipeline, sharding, *placement};
  close_failed(*pipeline, {own_key(newcomer), shared_key(newcomer)});
  newcomer.key = key_of(newcomer);
  if (const auto feed = find_feed(*pipeline, newcomer.key)) {
    if (feed->setting().sharing)
      make_room(client.uid, feed->layout().slot_bytes() * feed->setting().sharing->ring.credit);
    return join(newcomer, feed);
  }
  const RingPlan plan = plan_ring(newcomer);
  check_quota(client.uid, plan.slots);
  if (placement->where == Placement::Where::kGpu) return make_device_slots(newcomer, plan);
  const size_t touched = plan.sharing ? plan.sharing->ring.slots(1) : plan.slots;
  uint64_t bytes = plan.layout.slot_bytes() * touched;
  if (const auto tap = find_tap(newcomer, plan.start))
    bytes += tap->feed->layout().slot_bytes() * tap->feed->setting().sharing->ring.credit;
  make_room(client.uid, bytes);
  const auto kind =
      placement->where == Placement::Where::kPinned ? memory::MemoryKind::kPinned : memory::MemoryKind::kHost;
  const memory::HostMemory::Use use{client.uid, plan.layout.slot_bytes(), plan.access, kind, pipeline->has_delegates()};
  join(newcomer, open_feed(newcomer, plan, lent_.host_memory.make_slots(use, plan.slots)));
}

// Device memory takes its time, on the set-up thread of the GPUs; the seat is looked at anew when it is there.
void Seating::make_device_slots(const Newcomer& newcomer, const RingPlan& plan) {
  memory::DeviceRing ring = newcomer.placement.ring;
  ring.owner = newcomer.client.uid;
  ring.slots = plan.slots;
  ring.slot_bytes = plan.layout.slot_bytes();
  making_.emplace(newcomer.client.uid, plan.slots);
  awaited_[newcomer.pipeline.get()]++;  // its cache stays open meanwhile
  note_use(*newcomer.pipeline);
  lent_.make_device_slots(ring, [this, newcomer, plan](Result<memory::SlotMemories> made) {
    // Shared, because a posted handler must be copyable.
    auto memories = std::make_shared<Result<memory::SlotMemories>>(std::move(made));
    lent_.loop.post(
        [this, newcomer, plan, memories = std::move(memories)] { on_device_slots(newcomer, plan, *memories); });
  });
}

void Seating::on_device_slots(const Newcomer& newcomer, const RingPlan& plan, Result<memory::SlotMemories>& made) {
  making_.erase(making_.find({newcomer.client.uid, plan.slots}));
  const auto awaited = awaited_.find(newcomer.pipeline.get());
  if (--awaited->second == 0) awaited_.erase(awaited);
  const auto refuse = [&](const Error& error) {
    newcomer.reply->refused(error);
    note_use(*newcomer.pipeline);
  };
  try {
    if (!made) throw SetupError(made.error().trouble, made.error().message);
    if (draining_) throw SetupError(Trouble::kStopping, "this spdld is stopping");
    check_group(*newcomer.pipeline, newcomer.request, newcomer.client, newcomer.sharding);
    close_failed(*newcomer.pipeline, {newcomer.key});
    const auto feed = find_feed(*newcomer.pipeline, newcomer.key);
    join(newcomer, feed ? feed : open_feed(newcomer, plan, std::move(*made)));
  } catch (const SetupError& e) {
    refuse(e.error());
  } catch (const std::bad_alloc&) {
    refuse({Trouble::kMemory, "spdld is short of memory: try again later"});
  }
}

void Seating::note_use(const pipeline::Pipeline& pipeline) {
  events_.on_use(pipeline, feeds_.contains(&pipeline) || awaited_.contains(&pipeline));
}

void Seating::join(const Newcomer& newcomer, const std::shared_ptr<Feed>& feed) {
  const auto& request = newcomer.request;
  if (const std::string why = misplaced(*feed, newcomer.placement); !why.empty()) refuse_seat(request, why);
  if (!feed->setting().sharing) feed->begin_by(start_of(*newcomer.pipeline, newcomer.sharding, request));
  const auto position = feed->entry(request.join, request.position);
  if (!position) refuse_seat(request, "finds that the stream to share has gone on meanwhile: attach again");
  const control::AttachedInfo info = feed->describe_to_client(*position);
  auto trainer = std::make_unique<Trainer>(newcomer.reply);
  const Feed::Seat seat{request.group, request.reader, newcomer.client, trainer.get()};
  auto hold = std::make_unique<Hold>(*this, feed, seat, std::move(trainer), *position, request.sought);
  const delivery::ReaderId id = hold->id();
  newcomer.reply->attached(std::move(hold), info);
  feed->begin(id);
  log::debug("rank {} of {} of group {} attached to pipeline {} at epoch {}, step {}{}", request.rank,
             request.world_size, request.group, newcomer.pipeline->spec().name, info.position.epoch, info.position.step,
             info.shared ? ", sharing its stream" : "");
}

void Seating::seat_tap(const Newcomer& newcomer, Feed& feed, const TapPlan& plan) {
  control::Client client;
  client.uid = newcomer.client.uid;
  client.pid = getpid();
  client.name = "batches of " + std::to_string(newcomer.key.batch_size);
  const Feed::Seat seat{{}, 0, client, feed.tap()};
  auto hold = std::make_unique<Hold>(*this, plan.feed, seat, nullptr, plan.from, std::nullopt);
  const delivery::ReaderId id = hold->id();
  feed.tap()->take_seat(std::move(hold));
  plan.feed->begin(id);
}

std::shared_ptr<Feed> Seating::find_feed(const pipeline::Pipeline& pipeline, const FeedKey& key) const {
  const auto feeds = feeds_.find(&pipeline);
  if (feeds == feeds_.end()) return nullptr;
  const auto at = feeds->second.find(key);
  return at == feeds->second.end() ? nullptr : at->second;
}

void Seating::check_group(const pipeline::Pipeline& pipeline, const control::AttachRequest& request,
                          const control::Client& client, const sampler::Sharding& sharding) const {
  const auto feeds = feeds_.find(&pipeline);
  if (feeds == feeds_.end()) return;
  for (const auto& [key, feed] : feeds->second) {
    if (key.uid != client.uid) continue;
    for (const auto& [id, seat] : feed->seats())
      if (seat.group == request.group) check_beside(*feed, seat, request, client, sharding);
  }
}

FeedKey Seating::key_of(const Newcomer& newcomer) const {
  if (!may_share(newcomer)) return own_key(newcomer);
  const FeedKey shared = shared_key(newcomer);
  const auto feed = find_feed(*newcomer.pipeline, shared);
  const auto& request = newcomer.request;
  const bool fits =
      !feed || (feed->entry(request.join, request.position) && misplaced(*feed, newcomer.placement).empty());
  return fits ? shared : own_key(newcomer);
}

RingPlan Seating::plan_ring(const Newcomer& newcomer) const {
  const auto& [client, request, reply, pipeline, sharding, placement, key] = newcomer;
  const config::BatchSpec& batch = pipeline->spec().batch;
  const size_t slots = std::min<size_t>(size_t{batch.prefetch_depth} + newcomer.held_max(), kSlotsMax);
  const uint64_t bytes_max =
      placement.where == Placement::Where::kGpu ? lent_.settings.gpu_slot_bytes_max : lent_.settings.slot_bytes_max;
  RingPlan plan{start_of(*pipeline, sharding, request), slots,
                batch::Layout(pipeline->plan().tensors(), sharding.batch_size(), bytes_max)};
  if (request.readers > 1) plan.access = memory::Access::kCopyOnWrite;
  if (newcomer.key.batch_size == 0) return plan;
  plan.sharing = plan_sharing(newcomer);
  plan.slots = plan.sharing->ring.slots(plan.sharing->jobs_max);
  plan.access = memory::Access::kCopyOnWrite;
  // Jobs that come back with this job after a restart were not all at the same step.
  plan.start.step -= std::min<uint64_t>(plan.start.step, plan.sharing->ring.depth);
  return plan;
}

std::shared_ptr<Feed> Seating::open_feed(const Newcomer& newcomer, const RingPlan& plan,
                                         memory::SlotMemories memories) {
  const auto& [client, request, reply, pipeline, sharding, placement, key] = newcomer;
  Feed::Setting setting{
      key, request.readers, plan.access, plan.start, placement.ring.gpu, placement.ring.ready_early, plan.sharing};
  const auto tap = find_tap(newcomer, plan.start);
  if (tap) {
    setting.start = tap->start;
    setting.sharing->tapped = {tap->feed->sharding(), tap->feed->layout()};
  }
  auto feed = std::make_shared<Feed>(lent_.loop, pipeline, sharding, plan.layout, setting, std::move(memories),
                                     lent_.host_memory, lent_.fillers);
  feeds_[pipeline.get()][key] = feed;
  note_use(*pipeline);
  if (tap) seat_tap(newcomer, *feed, *tap);
  return feed;
}

// A job that was killed and started again at once, perhaps with other ranks, may ask for its seats before the news of
// its death has come.
void Seating::evict_gone(const pipeline::Pipeline& pipeline, uid_t uid, const std::string& group) {
  const auto at = feeds_.find(&pipeline);
  if (at == feeds_.end()) return;
  const Feeds feeds = at->second;  // a copy: feeds that are left empty go
  for (const auto& [key, feed] : feeds) {
    if (key.uid != uid) continue;
    const auto seats = feed->seats();  // a copy: a reader may leave when it is asked
    for (const auto& [id, seat] : seats) {
      const auto sits = [&feed = feed, id = id] { return feed->seats().contains(id); };
      if (seat.group == group && sits() && seat.reader->has_gone() && sits()) leave(feed, id, &seat.client);
    }
  }
}

// The readers of a failed feed were told. A newcomer would be told nothing, and would wait for ever.
void Seating::close_failed(const pipeline::Pipeline& pipeline, std::initializer_list<FeedKey> keys) {
  for (const FeedKey& key : keys)
    if (const auto feed = find_feed(pipeline, key); feed && feed->has_failed()) close(feed);
}

void Seating::tick(uint64_t now_ns) {
  std::vector<std::shared_ptr<Feed>> open;  // a copy: a feed that fails may go
  for (const auto& [pipeline, feeds] : feeds_)
    for (const auto& [key, feed] : feeds) open.push_back(feed);
  for (const auto& feed : open) feed->tick(now_ns);
  for (const auto& feed : quarantine_.stuck(now_ns)) {
    feed->give_up({Trouble::kStopping,
                   "another reader of this rank left batches on the GPU open and lives on: this ring ends, and "
                   "attaching anew gives one with other memory"});
    close(feed);  // so that its readers attach to another ring, and not to this one
  }
}

std::vector<Feed*> Seating::all_feeds() const {
  std::vector<Feed*> all;
  for (const auto& [pipeline, feeds] : feeds_)
    for (const auto& [key, feed] : feeds) all.push_back(feed.get());
  return all;
}

bool Seating::is_stopping(const pipeline::Pipeline& pipeline) const {
  return std::any_of(closing_.begin(), closing_.end(),
                     [&](const auto& feed) { return &feed->pipeline() == &pipeline; });
}

void Seating::dismiss(const std::shared_ptr<Feed>& feed, delivery::ReaderId id,
                      std::span<const delivery::LeaseId> keeps) {
  feed->leave(id, keeps);
  close_if_empty(feed);
}

// Slots on a GPU outlive the process that has them open: its forked children keep its work on the GPU alive.
void Seating::leave(const std::shared_ptr<Feed>& feed, delivery::ReaderId id, const control::Client* unclosed) {
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

void Seating::lose(const std::shared_ptr<Feed>& feed, delivery::ReaderId id) {
  if (feed->lose(id)) close(feed);  // so that its readers attach to another ring, and not to this one
}

void Seating::close_if_empty(const std::shared_ptr<Feed>& feed) {
  if (feed->seats().empty()) close(feed);
}

void Seating::close(const std::shared_ptr<Feed>& feed) {
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

void Seating::retire(std::shared_ptr<Feed> feed) {
  closing_.insert(feed);
  Feed& stopped = *feed;
  stopped.stop([this, feed = std::move(feed)] {
    closing_.erase(feed);
    events_.on_rest();
  });
}

}  // namespace spdld::node
