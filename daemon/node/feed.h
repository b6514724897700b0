// A ring of one pipeline, what fills it, and the readers that empty it: one rank of one group, or the same rank of all
// groups that share the stream (share = "stream").
//
//   stream --on_batch--> publish --> ring --READY--> readers --RELEASE--> ring --free slot--> begin_fill --> stream
//
// Between stream and ring a batch is published: at once in host memory, by a copy on a GPU. Where jobs share a stream
// that want other batch sizes, those of one size have a ring of their own, which a Tap fills from the stream's; when it
// ends, a stream of their own takes its place, and goes on with the next batch.
//
// A job that holds those it shares with back for longer than the operator allows, is cut loose: it is told, keeps the
// batches that it holds, and attaches anew, which gives it a ring of its own that goes on exactly where it was.
//
// Replicas seek together: one that has sought waits, and the others go on, until all that are there have sought that
// place; then the stream seeks, once, or where all of them stand there already goes on with what is filled. Each may be
// some seeks ahead of another, so that what they ask for is kept in order and met in order. Once all of them say that
// they wait for a batch only the last of each counts, and if these differ each is told, and may seek anew. One that
// goes is not waited for. Control thread, but for the news of streams and slots, which come on other threads and are
// posted.
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
  uint64_t batch_size = 0;  // of a shared one: those of another size share another
  friend auto operator<=>(const FeedKey&, const FeedKey&) = default;
};

class Feed final : public pipeline::FillObserver, public std::enable_shared_from_this<Feed> {
 public:
  struct Sharing {
    delivery::Ring::Shared ring;
    uint32_t jobs_max = 1;    // that hold batches of it at once
    uint64_t lag_ns_max = 0;  // how long a job may hold the others back
  };
  struct Setting {
    FeedKey key;
    uint32_t readers = 1;
    memory::Access access = memory::Access::kWritable;  // of the slots
    sampler::Position start;
    memory::GpuUuid gpu = {};  // of slots on a GPU
    bool ready_early = false;
    std::optional<Sharing> sharing = {};
    std::optional<Tap::Cut> tapped = {};  // of the ring that it is filled from; none: by a stream
  };

  // `memories`: one a slot, at least one, all of a kind; those of the host go back to where they came from.
  Feed(EventLoop& loop, std::shared_ptr<pipeline::Pipeline> pipeline, const sampler::Sharding& sharding,
       const batch::Layout& layout, const Setting& setting, memory::SlotMemories memories,
       memory::HostMemory& host_memory);
  ~Feed();

  // Before it has begun: it begins there at the latest. Replicas that come back to a daemon may stand some steps apart;
  // those ahead pass over what they have had.
  void begin_by(sampler::Position place);
  // Where a job begins that asks for `wanted` in this way; none: this shared ring can't serve it. A ring that is not
  // shared: where it is. `reach`: steps that it may stand ahead of the others that come back with it after a restart.
  std::optional<sampler::Position> entry(control::Join join, sampler::Position wanted, uint64_t reach = 0) const;
  // A reader takes its seat, and is sent batches from `from` on; once all seats are taken (where groups share it: at
  // once), the stream begins.
  delivery::ReaderId join(const control::AttachRequest& request, sampler::Position from, const control::Client& client,
                          std::shared_ptr<control::AttachReply> reply);
  // Once it has been told: it is sent what is there for it already.
  void begin(delivery::ReaderId id) { ring_.begin(id); }
  // Its seat is free, and all its leases end but those named.
  void leave(delivery::ReaderId id, std::span<const delivery::LeaseId> keeps = {});
  // Its seat is free, and all its leases stay until leave().
  void vacate(delivery::ReaderId id);
  bool release(delivery::ReaderId id, const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us);
  Status seek(delivery::ReaderId id, const control::SeekRequest& seek);
  Status push(const sampler::PushedSteps& steps);
  // A reader has gone without saying that nothing of the slots is open there any more.
  void note_unclosed() { closed_ = false; }
  // Ends it; `quiet` is called on the control thread when nothing touches the slots any more.
  void stop(std::function<void()> quiet);
  // At most this many batches are being filled or lie ready; Ring::set_depth() says it exactly. At first: depth_max().
  void set_depth(uint32_t depth);
  uint32_t depth() const { return ring_.depth(); }
  uint32_t depth_max() const { return depth_max_; }
  uint32_t take_ready_low() { return ring_.take_ready_low(); }
  void tick();
  // Tells every reader, and fills nothing any more.
  void give_up(const Error& error);

  struct Seat {
    std::string group;
    uint32_t reader = 0;
    control::Client client;
    std::shared_ptr<control::AttachReply> reply;
    uint64_t lag_ns = 0;                           // that it has held the others back, since it was abreast of them
    uint32_t run = 0;                              // of its last seek
    std::deque<control::SeekRequest> sought = {};  // where not all have sought as well: the last is where it goes
    bool waits = false;                            // for a batch from there
  };
  using Seats = std::map<delivery::ReaderId, Seat>;
  const Setting& setting() const { return setting_; }
  const Seats& seats() const { return seats_; }
  uint64_t cut_loose() const { return cut_loose_; }  // jobs, so far
  const Tap* tap() const { return tap_.get(); }      // what fills it, where that is one
  const delivery::Ring& ring() const { return ring_; }
  const batch::Layout& layout() const { return layout_; }
  const sampler::Sharding& sharding() const { return sharding_; }
  const pipeline::Pipeline& pipeline() const { return *pipeline_; }
  const std::shared_ptr<pipeline::Pipeline>& shared_pipeline() const { return pipeline_; }
  memory::Kind kind() const { return ring_.slots().front().memory->kind(); }
  std::string gpu() const;  // its UUID as text; empty for host memory
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
  void fill_free_slots();
  void note_bad(const batch::Batch& batch);
  bool begin_fill(batch::Slot& slot);
  bool fill(batch::Slot& slot);
  pipeline::Filler& filler();
  void begin_stream(sampler::Position start);
  delivery::Ring make_ring(memory::SlotMemories memories) const;
  // Host memory is touched as it is needed: of a shared ring, what its jobs may hold.
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
  std::unique_ptr<pipeline::Stream> stream_;  // one of the two
  std::unique_ptr<Tap> tap_;
  Seats seats_;
  uint64_t cut_loose_ = 0, looked_ns_;
  sampler::Position start_;
  bool begun_ = false, stopping_ = false;
  bool waits_for_room_ = false;  // of staging memory
  bool closed_ = true;           // the slots, by all readers that have gone
  std::string failure_;
  std::function<void()> quiet_;
};

}  // namespace spdld::node
