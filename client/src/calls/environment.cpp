#include "client/src/calls/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace spdld::client {

namespace {

constexpr const char* kGiveRanks = "correct it, or give rank and world_size yourself";

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

CallOutcome read_number(const char* name, uint32_t& number, const char* remedy = kGiveRanks) {
  const std::string_view text = variable(name);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return {};
  return failure(SPDLD_INVALID, "the environment variable " + std::string(name) + " is \"" + std::string(text) +
                                    "\", not a number: " + remedy);
}

// The variables of one launcher; the local rank may be absent.
struct Variables {
  const char* rank;
  const char* world_size;
  const char* local_rank;
};

CallOutcome read_ranks(const Variables& names, Launch& launch) {
  CallOutcome outcome = read_number(names.rank, launch.rank);
  if (outcome.ok()) outcome = read_number(names.world_size, launch.world_size);
  if (outcome.ok() && !variable(names.local_rank).empty()) outcome = read_number(names.local_rank, launch.local_rank);
  if (outcome.ok() && launch.rank >= launch.world_size) {
    outcome = failure(SPDLD_INVALID, std::string(names.rank) + "=" + std::to_string(launch.rank) + " is not below " +
                                         names.world_size + "=" + std::to_string(launch.world_size));
  }
  return outcome;
}

bool both_set(const Variables& names) { return !variable(names.rank).empty() && !variable(names.world_size).empty(); }

// Static rendezvous calls every run "none": there the address of its store tells jobs of one node apart.
std::string torchrun_group() {
  const std::string_view run = variable("TORCHELASTIC_RUN_ID");
  std::string group = "torchrun:" + std::string(run);
  if (run == "none") {
    group += ":" + std::string(variable("MASTER_ADDR")) + ":" + std::string(variable("MASTER_PORT"));
  }
  return group;
}

std::string mpi_group() {
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
    if (!variable(name).empty()) return "mpi:" + std::string(variable(name));
  }
  return "mpi:" + std::to_string(::getppid());  // the launcher of all the node's ranks
}

}  // namespace

std::string process_group() {
  struct stat space = {};
  const bool known = ::stat("/proc/self/ns/pid", &space) == 0;
  return "pid:" + std::to_string(::getpid()) + (known ? "@" + std::to_string(space.st_ino) : "");
}

CallOutcome read_launch(Launch& launch) {
  const Variables torchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK"};
  // A batch script has Slurm's job variables too, but only a step's tasks are ranks.
  const bool counted = !variable("SLURM_STEP_NUM_TASKS").empty();
  const Variables slurm{"SLURM_PROCID", counted ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS", "SLURM_LOCALID"};
  const Variables mpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"};
  const bool in_slurm_step = !variable("SLURM_JOB_ID").empty() && !variable("SLURM_STEP_ID").empty();

  launch = {};
  launch.group = process_group();
  if (!variable("TORCHELASTIC_RUN_ID").empty()) {
    launch.group = torchrun_group();
  } else if (in_slurm_step) {
    launch.group = "slurm:" + std::string(variable("SLURM_JOB_ID")) + "." + std::string(variable("SLURM_STEP_ID"));
  } else if (both_set(mpi)) {
    launch.group = mpi_group();
  }
  launch.is_alone = launch.group == process_group();
  if (both_set(torchrun)) return read_ranks(torchrun, launch);
  if (in_slurm_step && both_set(slurm)) return read_ranks(slurm, launch);
  if (both_set(mpi)) return read_ranks(mpi, launch);
  return {};
}

CallOutcome read_replay(uint32_t& batches) {
  batches = 0;
  constexpr const char* kName = "SPDLD_REPLAY";
  return variable(kName).empty() ? CallOutcome{} : read_number(kName, batches, "give the number of batches to replay");
}

}  // namespace spdld::client
