// A pipeline in simulated time: requests of fetch, decode threads, a ring with a bounded depth, and a trainer. It gives
// the figures that a real pipeline with these costs would give. Discrete events; the same seed gives the same run.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/metrics/history.h"

namespace spdld::test {

struct SimulatedPipeline {
  unsigned fetch_lanes = 4, fetch_lanes_max = 16;
  unsigned decode_lanes = 2, decode_lanes_max = 2;
  unsigned batch_size = 32, slots = 4;
  double fetch_ms = 0.1, decode_ms = 1, trainer_ms = 10;  // of a sample, a sample, a batch
  // One sample in so many takes `slow_factor` times as long to fetch; 0: none.
  unsigned slow_one_in = 0;
  double slow_factor = 1;
  double copy_ms = 0;  // of a batch, to a GPU, one after another; 0: none
  double sample_bytes = 100'000;
  double in_flight_bytes_max = 1e12;  // of samples that are fetched or being fetched, and not decoded
  double core_part = 1;               // of a core that a decode thread gets: below 1, others have the rest
  double other_pipelines_part = 0;    // of the decode threads' time
  bool is_remote = false;
  uint64_t seed = 1;
};

struct SimulatedRun {
  double samples_per_s = 0;
  metrics::Window window;  // of the second half of the run; its one pipeline is "train"
  const metrics::PipelineFigures& pipeline() const { return window.figures.pipelines.front(); }
};

SimulatedRun simulate(const SimulatedPipeline& pipeline, double seconds = 20);

}  // namespace spdld::test
