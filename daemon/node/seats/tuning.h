// Measures what the rings and the executors did since the last look, asks the tuner, and applies its decision. Control
// thread; the time is given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/base/system/cpu.h"
#include "daemon/node/seats/feed.h"
#include "daemon/pipeline/executor.h"
#include "daemon/pipeline/tuner.h"

namespace spdld::node {

class Tuning {
 public:
  // `cores`: that this process may use now, and how many it may use later. Other answers are for tests.
  Tuning(
      const config::DaemonSettings& settings, std::vector<pipeline::Executor> executors, unsigned cores,
      uint64_t now_ns, std::function<unsigned()> cores_later = [] { return usable_cores().cores; });

  // Takes new settings, whose pinned numbers may have changed.
  void set_settings(const config::DaemonSettings& settings);
  // Called some times a second with every ring that is in use.
  void look(const std::vector<Feed*>& feeds, uint64_t now_ns);

  const pipeline::TunerLimits& limits() const { return tuner_.limits(); }
  const pipeline::TunerDecision& decision() const { return tuner_.decision(); }
  // In the order of the limits' and the decision's stages.
  const std::vector<pipeline::Executor>& executors() const { return executors_; }
  // As it is decided, and the most; 0: there is no executor of this name.
  uint32_t lanes(std::string_view executor) const;
  uint32_t lanes_max(std::string_view executor) const;

 private:
  // A ring's counts at the last look.
  struct Seen {
    uint64_t batches = 0, starved_ns = 0;
    uint64_t batch_ns = 0;  // when a batch was last seen to have come; 0: the ring was not seen yet
    double between_s = 0;   // the latest batches; 0: none came yet
  };
  size_t place_of(std::string_view executor) const;  // as many as there are: there is none
  pipeline::TunerInput measure(const std::vector<Feed*>& feeds, uint64_t now_ns);
  static bool is_dry(const Feed& feed, Seen& seen, uint64_t batches, uint64_t now_ns);
  pipeline::TunerLimits limits_now(const std::vector<Feed*>& feeds);
  void apply(const std::vector<Feed*>& feeds);

  config::DaemonSettings settings_;
  uint64_t looked_ns_, limit_looked_ns_;
  const std::function<unsigned()> cores_now_;
  unsigned cores_;
  const std::vector<pipeline::Executor> executors_;
  std::vector<uint64_t> busy_seen_ns_;  // of each executor, at the last look
  pipeline::Tuner tuner_;
  std::map<const Feed*, Seen> seen_;
};

}  // namespace spdld::node
