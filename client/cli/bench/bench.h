// bench: several ranks, each a process, take batches, and their records become one report. Plain values; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/cli.h"
#include "client/cli/format.h"

namespace spdld::cli {

struct BenchPlan {
  std::string pipeline;  // a name; empty: `spec` is given instead
  std::string spec;      // a spec's text
  bool spec_is_json = false;
  std::string spec_folder;  // folder that relative uris are taken from
  std::string socket;       // empty: the library looks for it
  std::string group;
  std::string device;  // empty: as the pipeline says
  uint32_t world_size = 1;
  uint64_t epochs = 1;
  uint64_t batches_max = 0;  // of each rank; 0: all batches to the end of the epochs
  int64_t timeout_ms = 0;    // of one batch
};

struct BenchBatch {
  double at_s = 0;    // when the batch arrived, since the bench began
  double wait_s = 0;  // how long next() took
  uint32_t rank = 0;
  uint32_t images = 0;
  uint32_t substituted = 0, masked = 0, absent = 0, dropped = 0;
};

struct BenchReport {
  std::string pipeline;
  uint32_t world_size = 0;
  uint64_t images = 0, batches = 0;
  uint64_t substituted = 0, masked = 0, absent = 0, dropped = 0;
  double seconds = 0;       // from before attach to the last batch
  double images_per_s = 0;  // after the first batch; over all where there was only one
  double cpu_s = 0, daemon_cpu_s = 0, client_cpu_s = 0;
  double cpu_ms_per_image = 0;
  double first_batch_s = 0;                                // of the slowest rank
  double wait_s = 0, wait_median_us = 0, wait_p99_us = 0;  // next(), without each rank's first
  double peak_pss_bytes = 0, daemon_peak_pss_bytes = 0, clients_peak_pss_bytes = 0;
};

// Whether a command's PIPELINE is a file; else it is the name of a pipeline.
bool is_file_name(const std::string& target);

// The plan for a pipeline file, or for the pipeline of a name: one rank, one epoch, a job of its own. A file's errors
// are told here (throws Failure), so that they need no daemon.
BenchPlan plan_for(const Globals& globals, const std::string& target);

// Runs the plan's ranks, a forked process each, and watches them to the end (throws Failure). Precondition: this
// process has no other thread.
BenchReport run_bench(const BenchPlan& plan);

// Makes the report from the batches of all ranks, in the order of their arrival. CPU time and memory are added later.
BenchReport summarise(const BenchPlan& plan, const std::vector<BenchBatch>& batches);
void add_cpu(BenchReport& report, double daemon_s, double clients_s);

std::string report_text(const BenchReport& report, const Page& page);
std::string report_json(const BenchReport& report);

}  // namespace spdld::cli
