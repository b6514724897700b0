// A ring of one pipeline, its filler, and the readers that empty it: one rank of one group, or the same rank of all
// groups that share the stream (share = "stream").
//
//   stream --on_batch--> publish --> ring --READY--> readers --RELEASE--> ring --free slot--> begin_fill --> stream
//
// Between stream and ring a batch is published: at once in host memory, by a copy on a GPU. Where jobs that share a
// stream want other batch sizes, the jobs of one size have a ring of their own, which a Tap fills from the stream's
// ring. When the Tap ends, a stream replaces it and goes on with the next batch.
//
// A job that holds the other jobs back for longer than the operator allows is cut loose: it is told so, keeps the
// batches that it holds, and attaches anew. It then gets a ring of its own, which goes on exactly where the job was.
//
// Replicas seek together, as Seeks knows. While a replica waits for the others, they go on. When all have sought a
// position, the stream seeks once; where all replicas stand there already, it goes on with the filled batches. Replicas
// that have parted are told so, and may seek anew.
//
// Control thread, but for the news of streams and slots, which come on other threads and are posted. The time is given
// to tick().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/system/event_loop.h"
#include "daemon/control/service.h"
#include "daemon/delivery/ring.h"
#include "daemon/memory/host/host_memory.h"
#include "daemon/node/seats/feed_reader.h"
#include "daemon/node/seats/fillers.h"
#include "daemon/node/seats/ring_filler.h"
#include "daemon/node/seats/seeks.h"
#include "daemon/node/seats/sheet.h"
#include "daemon/node/seats/tap.h"
#include "daemon/pipeline/order/bad_limit.h"
#include "proto/guarded_state.h"

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
    // The cut of the ring that a Tap copies from, until it ends; none: a stream fills this ring from the start.
    std::optional<Tap::Cut> tapped = {};
  };
  struct Setting {
    FeedKey key;
    uint32_t readers = 1;
    memory::Access access = memory::Access::kWritable;  // of the slots
    sampler::Position start;
    memory::GpuUuid gpu = {};  // of slots on a GPU
    bool ready_early = false;  // was asked for; Feed::ready_early() tells what it got
    std::optional<Sharing> sharing = {};
  };

  enum class State : uint8_t {
    kGathering,       // waits until every replica has its seat
    kFilling,         // fills every slot that is free
    kWaitingForRoom,  // of staging memory
    kFailed,          // its readers were told so, and it gives no further batch
    kStopping,        // was stopped, and its slots may still be touched
    kQuiet            // nothing touches its slots any more
  };

  // `memories`: one for each slot, at least one, all of one kind; host memory goes back to `host_memory` in the end.
  Feed(EventLoop& loop, std::shared_ptr<pipeline::Pipeline> pipeline, const sampler::Sharding& sharding,
       const batch::Layout& layout, const Setting& setting, memory::SlotMemories memories,
       memory::HostMemory& host_memory, const Fillers& fillers);
  ~Feed();

  // While the feed gathers its replicas: it begins at `position` at the latest. After a restart of the daemon, replicas
  // may come back at positions some steps apart; a replica that is ahead passes over batches that it has had.
  void begin_by(sampler::Position position);
  // The position where a job begins that asks for `wanted` in this way; none: this shared ring can't serve it. For a
  // ring that is not shared: the ring's position. `reach`: how many steps the job may stand ahead of other jobs that
  // come back with it after a restart.
  std::optional<sampler::Position> entry(control::Join join, sampler::Position wanted, uint64_t reach = 0) const;
  // A reader's seat in a feed, from join() to leave().
  struct Seat {
    std::string group;     // empty: the reader is a Tap
    uint32_t replica = 0;  // the reader's number among the replicas of its rank
    control::Client client;
    FeedReader* reader = nullptr;  // never none; borrowed until the seat is left
    uint64_t lag_ns = 0;           // how long it has held the others back, since it was last abreast of them
  };
  // A reader takes its seat, and is sent batches from `from` on. `followed`: as Seeks::join() takes it. The feed fills
  // slots once all seats are taken (at once where groups share the stream).
  delivery::ReaderId join(const Seat& seat, sampler::Position from, std::optional<sampler::Position> followed);
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
  std::optional<uint32_t> take_ready_low() { return ring_.take_ready_low(); }
  // Called some times a second.
  void tick(uint64_t now_ns);
  // Tells every reader that the feed has failed, and fills nothing any more.
  void give_up(const Error& error);

  using Seats = std::map<delivery::ReaderId, Seat>;
  const Setting& setting() const { return setting_; }
  State state() const { return state_; }
  bool is_open() const { return state_ < State::kFailed; }  // its readers get batches
  const Seats& seats() const { return seats_; }
  // Whether a trainer of this group has a seat, or the feed is that group's alone.
  bool has_job(const std::string& group) const;
  uint64_t cut_loose() const { return cut_loose_; }  // jobs that were cut loose so far
  Tap* tap() const { return filler_.tap(); }         // its filler, where that is a Tap; else none
  const delivery::Ring& ring() const { return ring_; }
  SheetTaker& sheets() { return sheets_; }
  const batch::Layout& layout() const { return layout_; }
  const sampler::Sharding& sharding() const { return sharding_; }
  const pipeline::Pipeline& pipeline() const { return *pipeline_; }
  const std::shared_ptr<pipeline::Pipeline>& shared_pipeline() const { return pipeline_; }
  memory::MemoryKind kind() const { return ring_.slots().front().memory->kind(); }
  std::string gpu() const;  // its UUID as text; empty for host memory
  bool ready_early() const { return !ring_.slots().front().memory->shared().copied.empty(); }
  uint64_t host_bytes() const { return memory::on_gpu(kind()) ? 0 : touched_bytes(); }
  uint64_t device_bytes() const;
  bool has_failed() const { return state_ == State::kFailed; }
  const std::string& failure() const { return failure_; }  // for people; empty: it has not failed
  control::AttachedInfo describe_to_client(sampler::Position position) const;

 private:
  static constexpr bool may(State from, State to) {
    switch (from) {
      case State::kGathering:
      case State::kWaitingForRoom:
        return to == State::kFilling || to == State::kFailed || to == State::kStopping;
      case State::kFilling:
        return to == State::kWaitingForRoom || to == State::kFailed || to == State::kStopping;
      case State::kFailed:
        return to == State::kStopping;
      case State::kStopping:
        return to == State::kQuiet;
      case State::kQuiet:
        return false;
    }
    return false;
  }
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
  RingFiller::StreamOwner make_stream(sampler::Position start);
  RingFiller first_filler();
  delivery::Ring make_ring(memory::SlotMemories memories) const;
  // Host memory is touched only as it is needed; for a shared ring these are the bytes that its jobs may hold.
  uint64_t touched_bytes() const;
  size_t jobs() const { return seats_.size() + ring_.departed(); }
  sampler::Position next_to_come() const;
  void go_where_all_want();
  void go_to(sampler::Position to);
  void tell_of_parting();
  // Calls `tell` for each reader that has its seat when its turn comes: a reader that is told may leave.
  void tell_all(const std::function<void(delivery::ReaderId, const Seat&)>& tell);
  void watch_lag(uint64_t now_ns);
  void cut_loose(delivery::ReaderId id);

  EventLoop& loop_;
  memory::HostMemory& host_memory_;
  const std::shared_ptr<pipeline::Pipeline> pipeline_;
  const sampler::Sharding sharding_;
  const batch::Layout layout_;
  const Setting setting_;
  SheetTaker sheets_;
  const uint32_t depth_max_;
  pipeline::BadLimit bad_limit_;
  delivery::Ring ring_;
  const Fillers fillers_;
  Seats seats_;
  Seeks seeks_;  // of the readers in seats_
  GuardedState<State, may> state_{State::kGathering};
  uint64_t cut_loose_ = 0;
  std::optional<uint64_t> looked_ns_;  // when lag was last looked at
  sampler::Position start_;
  bool closed_ = true;  // all readers that have gone have closed the slots
  std::string failure_;
  std::function<void()> quiet_;
  RingFiller filler_;  // last: it is made when all else is there, and ends first
};

}  // namespace spdld::node
