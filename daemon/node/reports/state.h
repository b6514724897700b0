// The node's state at one moment, for its reports and for the rules that read it: they stand below the node, which
// fills this in for each of them. Control thread only; it is not kept, since what it refers to changes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "daemon/base/fair_pool.h"
#include "daemon/base/system/cpu.h"
#include "daemon/cache/cache.h"
#include "daemon/control/server.h"
#include "daemon/memory/cuda/gpus.h"
#include "daemon/metrics/history.h"
#include "daemon/node/pipelines/pipelines.h"
#include "daemon/node/seats/quarantine.h"
#include "daemon/node/seats/ring_use.h"
#include "daemon/node/seats/seating.h"
#include "daemon/node/seats/tuning.h"
#include "daemon/node/settings/options.h"
#include "daemon/source/fetching/fetch_router.h"
#include "daemon/store/remote/remote_stores.h"

namespace spdld::node {

struct State {
  const Options& options;
  const CpuLimit& cpu_limit;
  const FairPool& pool;
  const Pipelines& pipelines;
  const std::map<const pipeline::Pipeline*, Seating::Feeds>& feeds;
  const control::Server& server;
  const std::string& daemon_id;
  double uptime_s;
  bool draining;
  uint64_t slot_bytes;        // host memory of rings
  uint64_t spare_slot_bytes;  // kept for later rings
  const memory::Gpus& gpus;
  const Quarantine& quarantine;
  const cache::Cache& cache;
  const store::remote::RemoteStores& stores;
  const source::FetchRouter& router;
  const Tuning& tuning;
  std::map<uid_t, RingUse> ring_use;
  const metrics::History& history;  // the figures of the last minute
  uint64_t pss_bytes;               // as it was some seconds ago
  const DecodeMemory& decode_memory;
};

}  // namespace spdld::node
