// The node owns everything, in the order in which data flows, and answers the control room's requests. It lives on the
// control thread, the thread that calls run().
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "config/daemon_settings.h"
#include "daemon/base/system/cpu.h"
#include "daemon/base/system/event_loop.h"
#include "daemon/cache/cache.h"
#include "daemon/control/server.h"
#include "daemon/control/service.h"
#include "daemon/memory/cuda/gpus.h"
#include "daemon/memory/host/host_memory.h"
#include "daemon/metrics/history.h"
#include "daemon/node/monitoring.h"
#include "daemon/node/pipelines/pipelines.h"
#include "daemon/node/recorder.h"
#include "daemon/node/reports/answers.h"
#include "daemon/node/reports/last_errors.h"
#include "daemon/node/reports/state.h"
#include "daemon/node/seats/ring_use.h"
#include "daemon/node/seats/seating.h"
#include "daemon/node/seats/tuning.h"
#include "daemon/node/service_supervisor.h"
#include "daemon/node/settings/options.h"
#include "daemon/source/fetching/fetch_router.h"
#include "daemon/store/remote/remote_stores.h"
#include "daemon/user/crews.h"

namespace spdld::node {

class Measuring;

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
  Result<std::unique_ptr<control::CrewSeat>> join_crew(const control::Client& client, std::string_view token,
                                                       std::shared_ptr<control::CrewReply> reply) override {
    return crews_.join(client, token, reply);
  }

  // The state that reports tell, as it is at this moment.
  State state() const;

 private:
  // A pipeline, and where its files must lie (empty: anywhere).
  struct Resolved {
    config::PipelineSpec spec;
    std::vector<source::Bounds::Folder> within = {};
    AllowedUris stores = {};  // its remote sources
  };
  Result<Resolved> resolve_spec(const control::Client& client, const control::AttachRequest& request) const;
  Result<std::string> page_document(const control::Client& client);
  Result<Resolved> resolve_sent(const control::Client& client, const control::AttachRequest& request) const;
  Result<Resolved> resolve_named(const control::Client& client, const std::string& name) const;
  void on_emptied();
  void on_signal(int signal);
  void tick();
  void look_after_all();
  void tell_short_memory();  // in the log, at most every kShortMemoryNs
  void tell_disk_trouble();  // in the log, once
  void leave_errors(bool last);
  void reload();
  void take_settings(const config::DaemonSettings& read);
  void drain(std::string_view why);
  void give_up(const std::string& why);  // in good order, for another daemon to take over
  bool at_rest() const { return seating_.at_rest() && server_->sessions().empty(); }

  Options options_;
  const std::string daemon_id_;
  const uint64_t started_ns_;
  const CpuLimit cpu_limit_;
  store::remote::RemoteStores stores_;
  std::unique_ptr<source::LocalFetcher> fetcher_;
  std::unique_ptr<source::FetchRouter> router_;  // to both
  std::unique_ptr<cache::Cache> cache_;
  FairPool pool_;
  const DecodeMemory decode_memory_;  // as when the daemon started
  std::vector<pipeline::DecodeContext> contexts_;
  Tuning tuning_;
  const std::unique_ptr<Measuring> measuring_;
  memory::HostMemory host_memory_;  // outlives every slot, as gpus_ does
  memory::Gpus gpus_;
  EventLoop loop_;  // below the pool: tasks that are left in the loop hold feeds, which need the pool to end
  user::Crews crews_;
  Pipelines pipelines_;
  Seating seating_;
  Recorder recorder_;
  ServiceSupervisor supervisor_;
  ServiceSupervisor::Sockets passed_;
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
  Monitoring monitoring_;
};

}  // namespace spdld::node
