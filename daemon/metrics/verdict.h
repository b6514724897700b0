// Says in words what limits a pipeline, and what a change would bring, from what happened in a window of some seconds.
//
// The model: a pipeline is a closed loop of its stages and its trainer over a bounded number of batches. Its rate is
// the least of the rates that its parts allow. A stage allows its lanes by the mean time of a sample; a stage on the
// pool the cores by a sample's CPU time; a trainer allows the rate that it would have if it never waited, which is the
// rate now by the share of time in which it did not wait. So the part that limits is the part that is busy nearly all
// of the time while trainers wait, and a forecast is the least of these rates after a change, by the rate now. Where no
// part is busy and trainers wait, batches come in bursts: some samples take much longer than others.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/metrics/figures.h"
#include "daemon/metrics/history.h"

namespace spdld::metrics {

// A change, and what it is expected to bring.
struct Remedy {
  std::string change;    // one sentence: what to do
  double speedup = 0;    // the samples a second then, by now; 0: there is no forecast
  bool is_done = false;  // the daemon is about to do it by itself
};

// The names of things that limit a pipeline. A stage limits by its own name.
namespace limiter {
inline constexpr std::string_view kUnknown = "unknown",  // nobody reads, or too little has happened
    kTrainer = "trainer",                                // trainers find a batch whenever they want one
    kStore = "store",                                    // a stage that reads, from a remote store
    kCpu = "cpu",                // its share of the cores: other pipelines, other programs, or a quota have the rest
    kMemory = "memory",          // the bound of bytes in flight, or memory that is short
    kCopy = "copy",              // copies to a GPU
    kStragglers = "stragglers",  // few samples that take long
    kSource = "source";          // what fails, and is asked again and again
}  // namespace limiter

struct Verdict {
  std::string limiter = std::string(limiter::kUnknown);  // of the list above, or a stage's name
  std::string sentence;                                  // what limits, with its figures
  double confidence = 0;     // 0 to 1: how clearly the limiting part stands out, and how much has been seen
  double waiting = 0;        // the share of time that trainers waited; of several ranks, the longest
  double samples_per_s = 0;  // of the pipeline now
  double trainer_per_s = 0;  // of its trainers, if they never waited; 0: not known
  std::vector<Remedy> remedies;
};

// `pipeline` is one of window.figures.pipelines.
Verdict judge(const Window& window, const PipelineFigures& pipeline);

}  // namespace spdld::metrics
