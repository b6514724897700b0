// Measures what the rings, the pool and the fetcher did since the last look, asks the tuner, and applies its decision.
// Control thread; the
// time is given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/base/fair_pool.h"
#include "daemon/base/system/cpu.h"
#include "daemon/node/seats/feed.h"
#include "daemon/pipeline/tuner.h"
#include "daemon/source/fetching/fetcher.h"

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
  // The names of the stages, in the order of the limits' and the decision's: "fetch", "decode".
  std::vector<std::string_view> stages() const;
  uint32_t concurrency(std::string_view stage) const;  // as it is decided; 0: there is no such stage

 private:
  // A ring's counts at the last look.
  struct Seen {
    uint64_t batches = 0, starved_ns = 0;
    uint64_t batch_ns = 0;  // when a batch was last seen to have come; 0: the ring was not seen yet
    double between_s = 0;   // the latest batches; 0: none came yet
  };
  // A stage of samples' ways. All pipelines share its threads or its reads.
  struct NodeStage {
    std::string_view name;  // pipeline::Stage::name()
    pipeline::TunedStage words;
    std::function<pipeline::TunerLimits::Limit()> limit;
    std::function<uint64_t()> busy_ns;
    std::function<size_t()> waiting;
    std::function<void(uint32_t)> set_concurrency;
    uint64_t busy_seen_ns = 0;  // at the last look
  };
  std::vector<NodeStage> make_stages();
  static std::vector<pipeline::TunedStage> words_of(const std::vector<NodeStage>& stages);
  pipeline::TunerInput measure(const std::vector<Feed*>& feeds, uint64_t now_ns);
  static bool is_dry(const Feed& feed, Seen& seen, uint64_t batches, uint64_t now_ns);
  pipeline::TunerLimits limits_now(const std::vector<Feed*>& feeds);
  void apply(const std::vector<Feed*>& feeds);

  config::DaemonSettings settings_;
  FairPool& pool_;
  source::LocalFetcher& fetcher_;
  uint64_t looked_ns_, limit_looked_ns_;
  const std::function<unsigned()> cores_now_;
  unsigned cores_;
  std::vector<NodeStage> stages_;
  pipeline::Tuner tuner_;
  std::map<const Feed*, Seen> seen_;
};

}  // namespace spdld::node
