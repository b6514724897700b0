// One rank of a bench: the body of a forked process, and the records that it writes for the process that watches.
#pragma once

#include <array>
#include <chrono>

#include "client/cli/bench/bench.h"

namespace spdld::cli {

// The events that a record tells, each with the fields that are set.
enum class BenchEvent : uint32_t {
  kListing,   // text, done, total: the work before the rank is attached, as spdld_progress tells it
  kAttached,  // total: batches that will come; done: the number of their epochs
  kBatch,     // batch; done: its epoch
  kDone,      // cpu_s: user and system time of this rank
  kFailed     // exit_code, text: one sentence
};

// A rank writes each record whole (a pipe keeps up to 4096 bytes together), so that all ranks can share one pipe.
struct BenchRecord {
  BenchEvent event = BenchEvent::kListing;
  uint32_t rank = 0;
  uint64_t done = 0, total = 0;
  BenchBatch batch;
  double cpu_s = 0;
  int32_t exit_code = 0;
  std::array<char, 1024> text{};
};

// Attaches, takes all batches of the plan, and writes a record of each to `pipe_fd` (borrowed). Returns the process's
// exit code.
int run_rank(const BenchPlan& plan, uint32_t rank, int pipe_fd, std::chrono::steady_clock::time_point began);

}  // namespace spdld::cli
