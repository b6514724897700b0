// bench --headspace: how fast a pipeline's parts are, each alone, beside the whole, and what follows from that. Plain
// values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/bench/bench.h"
#include "client/cli/format.h"
#include "config/spec.h"

namespace spdld::cli {

// The subject of a row of the table.
enum class HeadspaceSubject : uint8_t {
  kHandOver,  // batches that were made before: the most that any trainer can take
  kFetch,     // bytes are read and dropped
  kFetchAll,  // bytes of all samples are read and dropped; most were not read just before
  kOutputs,   // the first operations of the outputs
  kWhole,
  kCache,   // the whole, from the node's cache
  kThreads  // the whole, with fewer decode threads
};

// The pipeline that a row of the table runs.
struct HeadspacePart {
  HeadspaceSubject subject = HeadspaceSubject::kWhole;
  std::string name;
  std::string what;  // the operations that run
  config::PipelineSpec spec;
  uint32_t threads = 0;    // of kThreads
  std::string fault = {};  // why it cannot run; empty: it can
};

// One run of a part.
struct HeadspaceRound {
  double images_per_s = 0;
  double cpu_ms = 0;  // for an image: of the daemon and the trainer
  double cores = 0;   // of CPU time in a second
  double busy = 0;    // part of the decode threads' time in which they ran or waited for a core
};

struct HeadspaceRow {
  HeadspaceSubject subject = HeadspaceSubject::kWhole;
  std::string name, what;
  uint32_t threads = 0;
  std::string form = {};  // of kCache
  std::vector<HeadspaceRound> rounds = {};
  // Of kCache: how many samples the cache has, how many it should have, and their bytes.
  uint64_t kept = 0, to_keep = 0;
  double kept_bytes = 0;
  std::string fault = {};  // why it could not run; empty: it ran

  bool ran() const { return fault.empty() && !rounds.empty(); }
  // Medians over the rounds; 0 of a row that did not run.
  double images_per_s() const;
  double cpu_ms() const;
  double cores() const;
  double busy() const;
  double slowest() const;
  double fastest() const;
};

struct Headspace {
  std::string pipeline;
  uint32_t threads = 0;       // decode threads, unless a row says otherwise
  uint64_t samples = 0;       // that the pipeline takes
  uint64_t measured = 0;      // how many of `samples` were used
  uint64_t step_samples = 0;  // of all ranks, in a step
  double trainer_ms = 0;      // for a step; 0: not known
  double memory_bytes = 0;    // of this machine
  std::vector<HeadspaceRow> rows;

  // Samples that the trainer takes in a second; 0: not known.
  double demand() const { return trainer_ms > 0 ? static_cast<double>(step_samples) * 1e3 / trainer_ms : 0; }
  // The row of the whole pipeline; nullptr: it did not run.
  const HeadspaceRow* whole() const;
  // The loader's rate over all samples: the whole's, or the rate of fetching all samples if it is lower.
  double loader_images_per_s() const;
};

// Sentences about the rows: what limits, what would help and what it costs, how sure that is.
std::vector<std::string> recommendation(const Headspace& headspace);

std::string headspace_text(const Headspace& headspace, const Page& page);
std::string headspace_json(const Headspace& headspace);

// The parts of a pipeline, in the table's order. A chain that is cut where it gives no batch, or the batches of another
// part, is left out, and so is a form of the cache that an operation hinders. `threads`: decode threads of the node.
std::vector<HeadspacePart> headspace_parts(const config::PipelineSpec& spec, uint32_t threads);
// The spec with at most `samples` of its samples.
config::PipelineSpec with_first(config::PipelineSpec spec, uint64_t samples);

struct HeadspaceWishes {
  double trainer_ms = 0;  // 0: not known
  double seconds = 0;     // of each row, over all rounds
};
// Measures in daemons of its own, which end with the call (throws Failure). `plan`: of a file, or of a name that the
// daemon at the plan's socket knows.
Headspace run_headspace(const Globals& globals, const BenchPlan& plan, const HeadspaceWishes& wishes);

}  // namespace spdld::cli
