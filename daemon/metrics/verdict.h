// Says in words what limits a pipeline, and what a change would bring, from what happened in a window of some seconds.
//
// The model: a pipeline is a closed loop of fetch, decode and trainer over a bounded number of batches. Its rate is the
// least of the rates that its parts allow. A stage allows its lanes by the mean time of a sample; decoding also the
// cores by a sample's CPU time; a trainer allows the rate that it would have if it never waited, which is the rate now
// by the share of time in which it did not wait. So the part that limits is the part that is busy nearly all of the
// time while trainers wait, and a forecast is the least of these rates after a change, by the rate now. Where no part
// is busy and trainers wait, batches come in bursts: some samples take much longer than others.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/metrics/figures.h"
#include "daemon/metrics/history.h"

namespace spdld::metrics {

enum class Limiter : uint8_t {
  kUnknown,     // nobody reads, or too little has happened
  kTrainer,     // trainers find a batch whenever they want one
  kFetch,       // reading from a local disk
  kStore,       // reading from a remote store
  kDecode,      // the operations, on all threads that decode
  kCpu,         // the pipeline's share of the cores: other pipelines, other programs, or a quota have the rest
  kMemory,      // the bound of bytes in flight, or memory that is short
  kCopy,        // copies to a GPU
  kStragglers,  // few samples that take long
  kSource       // a source that fails is asked again and again
};
// "trainer", "fetch", ...
std::string_view limiter_name(Limiter limiter);

// A change, and what it is expected to bring.
struct Remedy {
  std::string change;    // one sentence: what to do
  double speedup = 0;    // the samples a second then, by now; 0: there is no forecast
  bool is_done = false;  // the daemon is about to do it by itself
};

struct Verdict {
  Limiter limiter = Limiter::kUnknown;
  std::string sentence;      // what limits, with its figures
  double confidence = 0;     // 0 to 1: how clearly the limiting part stands out, and how much has been seen
  double waiting = 0;        // the share of time that trainers waited; of several ranks, the longest
  double samples_per_s = 0;  // of the pipeline now
  double trainer_per_s = 0;  // of its trainers, if they never waited; 0: not known
  std::vector<Remedy> remedies;
};

// `pipeline` is one of window.figures.pipelines.
Verdict judge(const Window& window, const PipelineFigures& pipeline);

}  // namespace spdld::metrics
