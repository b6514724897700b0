// The node owns everything, in the order in which data flows, and answers the control room's requests. It lives on the
// control thread, the thread that calls run().
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "config/daemon_settings.h"
#include "daemon/base/cpu.h"
#include "daemon/base/event_loop.h"
#include "daemon/cache/cache.h"
#include "daemon/control/server.h"
#include "daemon/control/service.h"
#include "daemon/memory/cuda/gpus.h"
#include "daemon/memory/host/host_memory.h"
#include "daemon/node/answers.h"
#include "daemon/node/feed.h"
#include "daemon/node/last_errors.h"
#include "daemon/node/pipelines.h"
#include "daemon/node/placement.h"
#include "daemon/node/quarantine.h"
#include "daemon/node/service_supervisor.h"
#include "daemon/node/tuning.h"

namespace spdld::node {

struct Options {
  config::DaemonSettings settings;      // the settings in force
  config::DaemonSettings of_file = {};  // as the file was at the start, before the command line's words
  std::string log_level = {};           // the command line's level, which overrides the file's; empty: none
  std::filesystem::path config_file;    // read again on SIGHUP; empty: there is none
  bool is_private = false;              // ends itself `linger_ms` after its last trainer: queries alone don't keep it
  uint32_t linger_ms = 10'000;
};

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

// The sum of one user's rings, with rings that are being made and rings that end.
struct RingUse {
  size_t rings = 0, slots = 0;
  uint64_t host_bytes = 0;
};
// The most slots of all rings: each is an open file, and the other half of the limit is for clients and data.
uint64_t slot_files_max();
// As the settings say, with no more sessions than the limit of open files has room for.
control::UserLimits user_limits(const config::DaemonSettings& settings);

class Node final : public control::Service {
 public:
  // Takes the socket (systemd's, or its own) and starts the threads. Throws SetupError.
  explicit Node(Options options);
  ~Node();

  // Serves until SIGTERM, SIGINT, or a private daemon's linger. Everything is given back when it returns.
  void run();
  // 0: it ended in good order. 1: a GPU needs a new process; its supervisor starts another daemon.
  int exit_code() const { return exit_code_; }

  void attach(const control::Client& client, control::AttachRequest request,
              std::shared_ptr<control::AttachReply> reply) override;
  Result<std::string> query(const control::Client& client, std::string_view topic, std::string_view argument) override;
  std::string_view daemon_id() const override { return daemon_id_; }

  // For a feed's reader, called by its Attachment. The seat is free; the leases in `keeps` go on.
  void dismiss(const std::shared_ptr<Feed>& feed, delivery::ReaderId id, std::span<const delivery::LeaseId> keeps);
  // All leases of the reader end, on device memory only when the client has none of it open any more. `unclosed`: the
  // client, where it has not said that it closed the memory.
  void leave(const std::shared_ptr<Feed>& feed, delivery::ReaderId id, const control::Client* unclosed);

  using Feeds = std::map<FeedKey, std::shared_ptr<Feed>>;

  // The node's state for the reports.
  struct View {
    const Options& options;
    const CpuLimit& cpu_limit;
    const FairPool& pool;
    const Pipelines& pipelines;
    const std::map<const pipeline::Pipeline*, Feeds>& feeds;
    const control::Server& server;
    const std::string& daemon_id;
    double uptime_s;
    bool draining;
    uint64_t slot_bytes;        // host memory of rings
    uint64_t spare_slot_bytes;  // kept for later rings
    const memory::Gpus& gpus;
    const Quarantine& quarantine;
    const cache::Cache& cache;
    const Tuning& tuning;
    std::map<uid_t, RingUse> ring_use;
  };
  View view() const;

 private:
  // A pipeline, and where its files must lie (empty: anywhere).
  struct Resolved {
    config::PipelineSpec spec;
    std::vector<source::Bounds::Folder> within = {};
  };
  Result<Resolved> resolve_spec(const control::Client& client, const control::AttachRequest& request) const;
  Result<Resolved> resolve_sent(const control::Client& client, const control::AttachRequest& request) const;
  Result<Resolved> resolve_named(const control::Client& client, const std::string& name) const;
  void take_seat(const control::Client& client, const control::AttachRequest& request,
                 const std::shared_ptr<control::AttachReply>& reply,
                 const std::shared_ptr<pipeline::Pipeline>& pipeline);
  std::shared_ptr<Feed> find_feed(const pipeline::Pipeline& pipeline, const FeedKey& key) const;
  // The key of the ring that this job shares with others, or else of its own ring.
  FeedKey key_of(const Newcomer& newcomer) const;
  static constexpr size_t kSlotsMax = 64;  // of a ring
  RingPlan plan_ring(const Newcomer& newcomer) const;
  Feed::Sharing plan_sharing(const Newcomer& newcomer) const;
  // The shared ring from which a new ring can be filled, the place to join it, and the first step to fill.
  struct TapPlan {
    std::shared_ptr<Feed> feed;
    sampler::Position from, start;
  };
  std::optional<TapPlan> find_tap(const Newcomer& newcomer, sampler::Position start) const;
  void begin_tap(const Newcomer& newcomer, const std::shared_ptr<Feed>& feed, const TapPlan& plan);
  void make_device_slots(const Newcomer& newcomer, const RingPlan& plan);
  void note_use(const pipeline::Pipeline& pipeline);  // whether it has rings, or has rings made for it
  std::shared_ptr<Feed> open_feed(const Newcomer& newcomer, const RingPlan& plan, memory::SlotMemories memories);
  void join(const Newcomer& newcomer, const std::shared_ptr<Feed>& feed);
  void seat(const Newcomer& newcomer, const std::shared_ptr<Feed>& feed, sampler::Position from);
  void check_group(const pipeline::Pipeline& pipeline, const control::AttachRequest& request,
                   const control::Client& client, const sampler::Sharding& sharding) const;
  std::map<uid_t, RingUse> ring_use() const;
  void check_quota(uid_t uid, size_t slots) const;  // for a new ring; throws where the limits leave no room
  void make_room(uid_t uid, uint64_t bytes);        // for a ring in host memory; throws where the limits leave no room
  void evict_gone(const pipeline::Pipeline& pipeline, uid_t uid, const std::string& group);
  // For a reader that died with leases on a GPU.
  void lose(const std::shared_ptr<Feed>& feed, delivery::ReaderId id);
  void close_if_empty(const std::shared_ptr<Feed>& feed);
  void close(const std::shared_ptr<Feed>& feed);
  void retire(std::shared_ptr<Feed> feed);
  uint64_t slot_bytes() const;

  void on_emptied();
  void on_signal(int signal);
  void tick();
  void look_after_all();
  void tell_short_memory();  // in the log, at most every kShortMemoryNs
  void tune();
  void tell_disk_trouble();  // in the log, once
  void leave_errors(bool last);
  void reload();
  void take_settings(const config::DaemonSettings& read);
  void drain(std::string_view why);
  void give_up(const std::string& why);  // in good order, for another daemon to take over
  bool at_rest() const { return closing_.empty() && server_->sessions().empty(); }

  Options options_;
  const std::string daemon_id_;
  const uint64_t started_ns_;
  const CpuLimit cpu_limit_;
  std::unique_ptr<source::LocalFetcher> fetcher_;
  std::unique_ptr<cache::Cache> cache_;
  FairPool pool_;
  std::vector<pipeline::DecodeContext> contexts_;
  Tuning tuning_;
  memory::HostMemory host_memory_;  // outlives every slot, as gpus_ does
  memory::Gpus gpus_;
  EventLoop loop_;  // below the pool: tasks that are left in the loop hold feeds, which need the pool to end
  Pipelines pipelines_;
  std::map<const pipeline::Pipeline*, Feeds> feeds_;
  std::map<const pipeline::Pipeline*, size_t> awaited_;  // rings that are being made on GPUs
  std::multiset<std::pair<uid_t, size_t>> making_;       // their users and numbers of slots
  std::set<std::shared_ptr<Feed>> closing_;              // stopped feeds whose slots are still touched
  Quarantine quarantine_;
  ServiceSupervisor supervisor_;
  bool socket_is_own_ = false;  // not the service manager's
  Signals signals_;             // taken up before the socket is there: who can connect may also send a signal
  std::unique_ptr<control::Server> server_;
  Timer tick_, linger_, drain_limit_;
  bool draining_ = false;
  int exit_code_ = 0;
  std::chrono::steady_clock::time_point linger_end_;
  bool has_served_ = true;  // somebody attached, or wanted to, since the daemon was last empty
  bool disk_trouble_told_ = false;
  uint64_t memory_waits_told_ = 0, shortages_told_ = 0, short_memory_told_ns_ = 0;
  LastErrors last_errors_;
  Answers answers_;  // to users with limits
};

}  // namespace spdld::node
