// A ring of one pipeline, its filler, and the readers that empty it: one rank of one group, or the same rank of all
// groups that share the stream (share = "stream").
//
//   stream --on_batch--> publish --> ring --READY--> readers --RELEASE--> ring --free slot--> begin_fill --> stream
//
// Between stream and ring a batch is published: at once in host memory, by a copy on a GPU. Where jobs that share a
// stream want other batch sizes, the jobs of one size have a ring of their own, which a Tap fills from the stream's
// ring. When the Tap ends, a stream takes its place and goes on with the next batch.
//
// A job that holds the other jobs back for longer than the operator allows is cut loose: it is told so, keeps the
// batches that it holds, and attaches anew. It then gets a ring of its own, which goes on exactly where the job was.
//
// Replicas seek together. A replica that has sought waits, and the others go on, until all present replicas have sought
// that place. Then the stream seeks once; where all replicas stand there already, it goes on with the filled batches. A
// replica may be some seeks ahead of another, so their seeks are kept in order and met in order. Once all replicas say
// that they wait for a batch, only the last seek of each counts; if these differ, each replica is told, and may seek
// anew. Nobody waits for a replica that leaves. Control thread, but for the news of streams and slots, which come on
// other threads and are posted.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/event_loop.h"
#include "daemon/control/service.h"
#include "daemon/delivery/ring.h"
#include "daemon/memory/host/host_memory.h"
#include "daemon/node/tap.h"
#include "daemon/pipeline/bad_limit.h"
#include "daemon/pipeline/stream.h"

namespace spdld::node {

struct FeedKey {
  uid_t uid = 0;
  std::string group;  // empty: shared by all groups of this user
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint64_t batch_size = 0;  // of a shared feed: jobs of another size share another feed
  friend auto operator<=>(const FeedKey&, const FeedKey&) = default;
};

class Feed final : public pipeline::FillObserver, public std::enable_shared_from_this<Feed> {
 public:
  struct Sharing {
    delivery::Ring::Shared ring;
    uint32_t jobs_max = 1;    // that may hold its batches at once
    uint64_t lag_ns_max = 0;  // how long a job may hold the others back
  };
  struct Setting {
    FeedKey key;
    uint32_t readers = 1;
    memory::Access access = memory::Access::kWritable;  // of the slots
    sampler::Position start;
    memory::GpuUuid gpu = {};  // of slots on a GPU
    bool ready_early = false;  // was asked for; Feed::ready_early() tells what it got
    std::optional<Sharing> sharing = {};
    std::optional<Tap::Cut> tapped = {};  // cut of the ring that a Tap fills it from; none: a stream fills it
  };

  // `memories`: one for each slot, at least one, all of one kind; host memory goes back to `host_memory` in the end.
  Feed(EventLoop& loop, std::shared_ptr<pipeline::Pipeline> pipeline, const sampler::Sharding& sharding,
       const batch::Layout& layout, const Setting& setting, memory::SlotMemories memories,
       memory::HostMemory& host_memory);
  ~Feed();

  // Called before the feed has begun: it begins at `place` at the latest. Replicas that come back to a daemon may stand
  // some steps apart; a replica that is ahead passes over batches that it has had.
  void begin_by(sampler::Position place);
  // The place where a job begins that asks for `wanted` in this way; none: this shared ring can't serve it. For a ring
  // that is not shared: the ring's place. `reach`: how many steps the job may stand ahead of other jobs that come back
  // with it after a restart.
  std::optional<sampler::Position> entry(control::Join join, sampler::Position wanted, uint64_t reach = 0) const;
  // A reader takes its seat, and is sent batches from `from` on. The stream begins once all seats are taken (at once
  // where groups share the stream).
  delivery::ReaderId join(const control::AttachRequest& request, sampler::Position from, const control::Client& client,
                          std::shared_ptr<control::AttachReply> reply);
  // Called once the reader has been told: sends it the batches that are there for it already.
  void begin(delivery::ReaderId id) { ring_.begin(id); }
  // The reader's seat is free, and all its leases end but the leases in `keeps`.
  void leave(delivery::ReaderId id, std::span<const delivery::LeaseId> keeps = {});
  // The reader's seat is free, and all its leases stay until leave().
  void vacate(delivery::ReaderId id);
  // The reader's process has ended with device memory open. Its children and its queued kernels may still write there,
  // so that its leases stay as long as the ring. true: the ring has too few slots without them. The ring has then
  // failed with kStopping, and its readers attach to another ring, with other memory.
  [[nodiscard]] bool lose(delivery::ReaderId id);
  bool release(delivery::ReaderId id, const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us);
  Status seek(delivery::ReaderId id, const control::SeekRequest& seek);
  Status push(const sampler::PushedSteps& steps);
  // Notes that a reader has gone without saying that it has closed all slots.
  void note_unclosed() { closed_ = false; }
  // Ends the feed; `quiet` is called on the control thread when nothing touches the slots any more.
  void stop(std::function<void()> quiet);
  // At most this many batches are being filled or lie ready; Ring::set_depth() gives the exact rule. At first:
  // depth_max().
  void set_depth(uint32_t depth);
  uint32_t depth() const { return ring_.depth(); }
  uint32_t depth_max() const { return depth_max_; }
  uint32_t take_ready_low() { return ring_.take_ready_low(); }
  void tick();
  // Tells every reader that the feed has failed, and fills nothing any more.
  void give_up(const Error& error);

  struct Seat {
    std::string group;
    uint32_t reader = 0;
    control::Client client;
    std::shared_ptr<control::AttachReply> reply;
    uint64_t lag_ns = 0;                           // how long it has held the others back, since it was abreast of them
    uint32_t run = 0;                              // of its last seek
    std::deque<control::SeekRequest> sought = {};  // seeks that not all replicas have made; the last is its goal
    bool waits = false;                            // for a batch from its goal
    // Where it went before it came back, if it has had one batch since: another replica may have had none.
    std::optional<sampler::Position> had_sought = {};

    bool has_sought(sampler::Position to) const;
    // A seek that it need not make itself, since it made it before it came back.
    bool has_followed(const control::SeekRequest& seek) const { return seek.again && had_sought == seek.to; }
  };
  using Seats = std::map<delivery::ReaderId, Seat>;
  const Setting& setting() const { return setting_; }
  const Seats& seats() const { return seats_; }
  uint64_t cut_loose() const { return cut_loose_; }  // jobs that were cut loose so far
  const Tap* tap() const { return tap_.get(); }      // its filler, where that is a Tap
  const delivery::Ring& ring() const { return ring_; }
  const batch::Layout& layout() const { return layout_; }
  const sampler::Sharding& sharding() const { return sharding_; }
  const pipeline::Pipeline& pipeline() const { return *pipeline_; }
  const std::shared_ptr<pipeline::Pipeline>& shared_pipeline() const { return pipeline_; }
  memory::Kind kind() const { return ring_.slots().front().memory->kind(); }
  std::string gpu() const;  // its UUID as text; empty for host memory
  bool ready_early() const { return !ring_.slots().front().memory->shared().copied.empty(); }
  uint64_t host_bytes() const { return memory::on_gpu(kind()) ? 0 : touched_bytes(); }
  uint64_t device_bytes() const;
  const std::string& failure() const { return failure_; }
  control::AttachedInfo describe_to_client(sampler::Position position) const;

 private:
  void on_batch(const batch::Batch& batch) override;
  void on_abandoned(batch::Slot& slot) override;
  void on_failed(const Error& error) override;
  void on_quiet() override;
  void on_wanting() override;
  // Runs `task` on the control thread. Where there is no memory for it, the feed fails: a batch that is lost in silence
  // would be waited for in vain.
  void post(std::function<void(Feed&)> task);
  void fill_free_slots();
  void note_bad(const batch::Batch& batch);
  bool begin_fill(batch::Slot& slot);
  bool fill(batch::Slot& slot);
  pipeline::Filler& filler();
  void begin_stream(sampler::Position start);
  delivery::Ring make_ring(memory::SlotMemories memories) const;
  // Host memory is touched only as it is needed; for a shared ring these are the bytes that its jobs may hold.
  uint64_t touched_bytes() const;
  size_t jobs() const { return seats_.size() + ring_.departed(); }
  sampler::Position next_to_come() const;
  void go_where_all_want();
  std::optional<sampler::Position> meeting_place() const;
  void go_to(sampler::Position to);
  void tell_of_other_places();
  void watch_lag();
  void cut_loose(delivery::ReaderId id);

  EventLoop& loop_;
  memory::HostMemory& host_memory_;
  const std::shared_ptr<pipeline::Pipeline> pipeline_;
  const sampler::Sharding sharding_;
  const batch::Layout layout_;
  const Setting setting_;
  const uint32_t depth_max_;
  pipeline::BadLimit bad_limit_;
  delivery::Ring ring_;
  std::unique_ptr<pipeline::Stream> stream_;  // either this or tap_ fills the ring
  std::unique_ptr<Tap> tap_;
  Seats seats_;
  uint64_t cut_loose_ = 0, looked_ns_;
  sampler::Position start_;
  bool begun_ = false, stopping_ = false;
  bool waits_for_room_ = false;  // of staging memory
  bool closed_ = true;           // all readers that have gone have closed the slots
  std::string failure_;
  std::function<void()> quiet_;
};

}  // namespace spdld::node
