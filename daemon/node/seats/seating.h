// The feeds of all pipelines, and the seats of trainers and Taps in them. A trainer that attaches gets
// a seat in the feed that it needs, which is made where there is none; a feed whose last reader has left is stopped.
//
//   seat() -> the rules of the group -> feed found, or its slots made and the feed opened -> a seat in it -> attached()
//
// A feed that has failed takes no newcomer: it leaves the feeds, and the newcomer gets another feed. The memory of
// slots on a GPU that a trainer has left open goes into quarantine until its process has ended.
//
// Control thread only. The time is given to tick().
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/base/system/event_loop.h"
#include "daemon/base/system/memory_limit.h"
#include "daemon/control/service.h"
#include "daemon/memory/cuda/gpus.h"
#include "daemon/memory/host/host_memory.h"
#include "daemon/node/seats/feed.h"
#include "daemon/node/seats/fillers.h"
#include "daemon/node/seats/placement.h"
#include "daemon/node/seats/quarantine.h"
#include "daemon/node/seats/ring_use.h"

namespace spdld::node {

// A client that wants a seat, and the ring where it wants it.
struct Newcomer {
  control::Client client;
  control::AttachRequest request;
  std::shared_ptr<control::AttachReply> reply;
  std::shared_ptr<pipeline::Pipeline> pipeline;
  sampler::Sharding sharding;
  Placement placement;
  FeedKey key = {};  // of the ring where it takes its seat

  // The most batches that the client may hold at once.
  uint32_t held_max() const { return request.held_max ? request.held_max : pipeline->spec().batch.held_max; }
};

// The plan of a ring that a newcomer needs, where there is none.
struct RingPlan {
  sampler::Position start;
  size_t slots = 0;
  batch::Layout layout;
  memory::Access access = memory::Access::kWritable;
  std::optional<Feed::Sharing> sharing = {};
};

class Seating final {
 public:
  // The node lends these; all of them outlive the seating.
  struct Lent {
    EventLoop& loop;
    const config::DaemonSettings& settings;  // in force; they may change between calls
    memory::HostMemory& host_memory;
    // As memory::Gpus::make_slots().
    std::function<void(const memory::DeviceRing&, memory::Gpus::Done)> make_device_slots;
    Fillers fillers = {};
    // The limits of memory that hold for the daemon, and how many bytes its cache may still grow by and may still be
    // lent to samples. Without them, the settings alone bound the slots.
    std::function<std::vector<MemoryLimit>()> memory_limits = {};
    std::function<uint64_t()> cache_to_come = {}, decoding_to_come = {};
  };
  struct Events {
    // Feeds of the pipeline have come or gone: whether it has any, or has slots made for one.
    std::function<void(const pipeline::Pipeline&, bool in_use)> on_use;
    std::function<void()> on_rest;  // the last feed that was stopping is quiet: at_rest() may be true now
  };
  using Feeds = std::map<FeedKey, std::shared_ptr<Feed>>;

  Seating(Lent lent, Events events);
  Seating(const Seating&) = delete;
  Seating& operator=(const Seating&) = delete;

  // Gives the client a seat, and tells `reply`; at once, or later where slots are made on a GPU. Throws SetupError
  // where the seat can't be had: then `reply` was not told.
  void seat(const control::Client& client, const control::AttachRequest& request,
            const std::shared_ptr<control::AttachReply>& reply, const std::shared_ptr<pipeline::Pipeline>& pipeline);
  // For a feed's reader, called by the hold on its seat. The seat is free; the leases in `keeps` go on.
  void dismiss(const std::shared_ptr<Feed>& feed, delivery::ReaderId id, std::span<const delivery::LeaseId> keeps);
  // All leases of the reader end, on device memory only when the client has none of it open any more. `unclosed`: the
  // client, where it has not said that it closed the memory.
  void leave(const std::shared_ptr<Feed>& feed, delivery::ReaderId id, const control::Client* unclosed);
  // Called some times a second: looks after the feeds, and gives up feeds that wait for memory in quarantine too long.
  void tick(uint64_t now_ns);
  // The node stops: slots that are still being made are refused when they come.
  void drain() { draining_ = true; }
  bool at_rest() const { return closing_.empty(); }  // no feed is stopping

  const std::map<const pipeline::Pipeline*, Feeds>& feeds() const { return feeds_; }
  std::vector<Feed*> all_feeds() const;
  // Whether a feed of the pipeline is stopping, and may still be filled.
  bool is_stopping(const pipeline::Pipeline& pipeline) const;
  const Quarantine& quarantine() const { return quarantine_; }
  uint64_t slot_bytes() const;  // host memory of rings
  std::map<uid_t, RingUse> ring_use() const;

 private:
  static constexpr size_t kSlotsMax = 64;  // of a ring

  void check_group(const pipeline::Pipeline& pipeline, const control::AttachRequest& request,
                   const control::Client& client, const sampler::Sharding& sharding) const;
  void evict_gone(const pipeline::Pipeline& pipeline, uid_t uid, const std::string& group);
  void close_failed(const pipeline::Pipeline& pipeline, std::initializer_list<FeedKey> keys);
  std::shared_ptr<Feed> find_feed(const pipeline::Pipeline& pipeline, const FeedKey& key) const;
  // The key of the ring that this job shares with others, or else of its own ring.
  FeedKey key_of(const Newcomer& newcomer) const;
  RingPlan plan_ring(const Newcomer& newcomer) const;
  Feed::Sharing plan_sharing(const Newcomer& newcomer) const;
  // The shared ring from which a new ring can be filled, the position to join it, and the first step to fill.
  struct TapPlan {
    std::shared_ptr<Feed> feed;
    sampler::Position from, start;
  };
  std::optional<TapPlan> find_tap(const Newcomer& newcomer, sampler::Position start) const;
  void seat_tap(const Newcomer& newcomer, Feed& feed, const TapPlan& plan);
  void make_device_slots(const Newcomer& newcomer, const RingPlan& plan);
  void on_device_slots(const Newcomer& newcomer, const RingPlan& plan, Result<memory::SlotMemories>& made);
  std::shared_ptr<Feed> open_feed(const Newcomer& newcomer, const RingPlan& plan, memory::SlotMemories memories);
  void join(const Newcomer& newcomer, const std::shared_ptr<Feed>& feed);
  void note_use(const pipeline::Pipeline& pipeline);
  void check_quota(uid_t uid, size_t slots) const;  // for a new ring; throws where the limits leave no room
  void make_room(uid_t uid, uint64_t bytes);        // for a ring in host memory; throws where the limits leave no room
  uint64_t promised_bytes() const;                  // of rings, where nothing was written yet
  // For a reader that died with leases on a GPU.
  void lose(const std::shared_ptr<Feed>& feed, delivery::ReaderId id);
  void close_if_empty(const std::shared_ptr<Feed>& feed);
  void close(const std::shared_ptr<Feed>& feed);
  void retire(std::shared_ptr<Feed> feed);

  const Lent lent_;
  const Events events_;
  std::map<const pipeline::Pipeline*, Feeds> feeds_;
  std::map<const pipeline::Pipeline*, size_t> awaited_;  // rings that are being made on GPUs
  std::multiset<std::pair<uid_t, size_t>> making_;       // their users and numbers of slots
  std::set<std::shared_ptr<Feed>> closing_;              // stopped feeds whose slots are still touched
  Quarantine quarantine_;
  bool draining_ = false;
};

}  // namespace spdld::node
