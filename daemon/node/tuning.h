// Measures what the rings, the pool and the fetcher did since the last look, asks the tuner, and applies its decision.
// Control thread; the
// time is given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/base/cpu.h"
#include "daemon/base/fair_pool.h"
#include "daemon/node/feed.h"
#include "daemon/pipeline/tuner.h"
#include "daemon/source/fetcher.h"

namespace spdld::node {

class Tuning {
 public:
  // `cores`: how many cores this process may use now, which may change. Other answers are for tests.
  Tuning(
      const config::DaemonSettings& settings, FairPool& pool, source::LocalFetcher& fetcher, uint64_t now_ns,
      std::function<unsigned()> cores = [] { return usable_cores().cores; });

  // Takes new settings, whose pinned numbers may have changed.
  void set_settings(const config::DaemonSettings& settings);
  // Called some times a second with every ring that is in use.
  void look(const std::vector<Feed*>& feeds, uint64_t now_ns);

  const pipeline::TunerLimits& limits() const { return tuner_.limits(); }
  const pipeline::TunerDecision& decision() const { return tuner_.decision(); }

 private:
  // A ring's counts at the last look.
  struct Seen {
    uint64_t batches = 0, starved_ns = 0;
  };
  pipeline::TunerInput measure(const std::vector<Feed*>& feeds);
  pipeline::TunerLimits limits_now(const std::vector<Feed*>& feeds);
  void apply(const std::vector<Feed*>& feeds);

  config::DaemonSettings settings_;
  FairPool& pool_;
  source::LocalFetcher& fetcher_;
  pipeline::Tuner tuner_;
  uint64_t looked_ns_, limit_looked_ns_;
  const std::function<unsigned()> cores_now_;
  unsigned cores_;
  uint64_t decode_busy_ns_ = 0, fetch_busy_ns_ = 0;
  std::map<const Feed*, Seen> seen_;
};

}  // namespace spdld::node
