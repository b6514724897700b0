// A real daemon with the fake driver, for tests whose own process never loads it: trainers are forked from here, and
// CUDA does not work in the child of a process that uses it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/makers/photos.h"

namespace spdld::test {

class GpuCase {
 public:
  explicit GpuCase(const FakeCudaOptions& options = {}, int photos = 24, const std::string& settings = "");

  FakeCuda& fake() { return fake_; }
  DaemonProcess& daemon() { return *daemon_; }
  // A job over the pictures; `epochs` 0: endless.
  Job job(const std::string& device, const std::string& transport = "", int epochs = 1) const;
  nlohmann::json status() const;
  nlohmann::json gpu() const { return status()["gpus"]["devices"].at(0); }
  nlohmann::json ring(size_t index = 0) const;  // of the one pipeline that is open; empty: none

 private:
  // Sets what processes that are started from here inherit, before the daemon is.
  struct Environment {
    explicit Environment(const FakeCuda& fake);
    ~Environment();
  };
  FakeCuda fake_;
  Environment environment_;
  std::unique_ptr<DaemonProcess> daemon_;
};

// How a forked trainer's run ended: the digests of its batches, or the sentence of its error.
struct TrainerRun {
  std::vector<uint64_t> digests;
  std::string error;
  double seconds = 0;
};
TrainerRun run_trainer(const Job& job, size_t batches_max = SIZE_MAX);

// SIGKILL, and waits for its end.
void kill_trainer(pid_t trainer);

}  // namespace spdld::test
