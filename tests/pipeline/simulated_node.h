// A node in small, for the tuner: reads with a latency, decode threads, a ring, and a trainer with a period. Time goes
// in ticks; within a tick every thread does its share of work, so that nothing depends on this machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "daemon/pipeline/tuner.h"

namespace spdld::test {

struct Load {
  double decode_ms = 1;         // a sample
  double fetch_ms = 0.02;       // a sample
  double train_ms = 100;        // a batch
  double straggler_share = 0;   // of the samples, which take
  double straggler_factor = 1;  // times as long to decode
  double spread = 0.5;          // decoding takes (1 - spread) .. (1 + spread) of decode_ms
};

class SimulatedNode {
 public:
  static constexpr double kTickMs = 0.5;
  static constexpr uint32_t kBatch = 32;

  explicit SimulatedNode(const Load& at_first) : load(at_first) {}

  Load load;  // may change between runs

  // Runs for `ms` under a decision, and says what happened.
  pipeline::TunerInput run(double ms, const pipeline::TunerDecision& decision) {
    pipeline::TunerInput input;
    input.seconds = ms / 1000;
    input.stages.resize(2);
    ready_low_ = UINT32_MAX;
    const auto ticks = static_cast<uint64_t>(ms / kTickMs);
    for (uint64_t i = 0; i < ticks; i++) tick(decision, input);
    input.ready_low = ready_low_ == UINT32_MAX ? 0 : ready_low_;
    input.stages[kDecode].waiting =
        static_cast<uint32_t>(queue_.size() - std::min<size_t>(queue_.size(), decision.stages[kDecode]));
    return input;
  }

 private:
  enum Stage : size_t { kFetch, kDecode };

  struct Sample {
    uint64_t batch = 0;
    double left_ms = 0;
  };

  void tick(const pipeline::TunerDecision& decision, pipeline::TunerInput& input) {
    assign(decision);
    fetch(decision, input);
    decode(decision, input);
    finish(input);
    train(input);
  }

  // Samples are taken on in order, as long as their batch has a slot and a task is free.
  void assign(const pipeline::TunerDecision& decision) {
    const size_t window = 16 + 4 * decision.stages[kDecode] + decision.stages[kFetch];
    while (fetching_.size() + queue_.size() < window) {
      const uint64_t batch = next_sample_ / kBatch;
      if (batch >= taken_ + decision.depth) return;
      if (batch - first_ >= remaining_.size()) remaining_.push_back(kBatch);
      fetching_.push_back({batch, load.fetch_ms});
      next_sample_++;
    }
  }

  // The first `fetch` are under way; in a tick a thread may end one and begin the next.
  void fetch(const pipeline::TunerDecision& decision, pipeline::TunerInput& input) {
    input.stages[kFetch].busy_s += work_on(fetching_, decision.stages[kFetch], [this](const Sample& sample) {
      std::uniform_real_distribution<> spread(1 - load.spread, 1 + load.spread), any(0, 1);
      const double factor = any(random_) < load.straggler_share ? load.straggler_factor : 1;
      queue_.push_back({sample.batch, load.decode_ms * spread(random_) * factor});
    });
  }

  void decode(const pipeline::TunerDecision& decision, pipeline::TunerInput& input) {
    input.stages[kDecode].busy_s += work_on(queue_, decision.stages[kDecode],
                                            [this](const Sample& sample) { remaining_[sample.batch - first_]--; });
  }

  // Lets `threads` threads each work for a tick on what comes first; the time they were busy, in seconds.
  template <typename Then>
  static double work_on(std::deque<Sample>& samples, uint32_t threads, const Then& then) {
    double busy_ms = 0;
    std::vector<double> left_ms(threads, kTickMs);
    size_t thread = 0;
    for (size_t i = 0; i < samples.size() && thread < threads;) {
      const double done_ms = std::min(left_ms[thread], samples[i].left_ms);
      samples[i].left_ms -= done_ms;
      left_ms[thread] -= done_ms;
      busy_ms += done_ms;
      if (samples[i].left_ms > 1e-9) {
        i++, thread++;  // it goes on in the next tick
        continue;
      }
      then(samples[i]);
      samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(i));
      if (left_ms[thread] <= 1e-9) thread++;
    }
    return busy_ms / 1000;
  }

  void finish(pipeline::TunerInput& input) {
    while (!remaining_.empty() && remaining_.front() == 0) {
      remaining_.pop_front();
      ready_low_ = std::min(ready_low_, static_cast<uint32_t>(first_ - taken_));
      first_++;
      input.batches++;
    }
  }

  void train(pipeline::TunerInput& input) {
    if (training_ms_ > 0) training_ms_ -= kTickMs;
    if (training_ms_ > 0) return;
    if (first_ > taken_) {
      taken_++;
      training_ms_ += load.train_ms;
    } else {
      training_ms_ = 0;
      input.starved_s += kTickMs / 1000;
    }
  }

  std::mt19937 random_{1};
  std::deque<Sample> fetching_, queue_;
  std::deque<uint32_t> remaining_;                    // samples to be done, of the batches from first_ on
  uint64_t next_sample_ = 0, first_ = 0, taken_ = 0;  // first_: batches finished, all of them in order
  double training_ms_ = 0;
  uint32_t ready_low_ = 0;
};

}  // namespace spdld::test
