#include "tests/integration/gpu_case.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <sstream>

namespace spdld::test {

using Clock = std::chrono::steady_clock;

GpuCase::Environment::Environment(const FakeCuda& fake) {
  for (const auto& [name, value] : fake.environment()) setenv(name.c_str(), value.c_str(), 1);
}

GpuCase::Environment::~Environment() { unsetenv("SPDLD_FAKE_CUDA"); }

GpuCase::GpuCase(const FakeCudaOptions& options, int photos, const std::string& settings)
    : fake_(options), environment_(fake_), daemon_(std::make_unique<DaemonProcess>(settings)) {
  make_photos(daemon_->dir() / "photos", photos, 2);
}

Job GpuCase::job(const std::string& device, const std::string& transport, int epochs) const {
  PhotoSpec spec;
  spec.epochs = epochs;
  Job job;
  job.socket = daemon_->socket();
  job.spec = spec.toml(daemon_->dir() / "photos");
  job.device = device, job.transport = transport;
  return job;
}

nlohmann::json GpuCase::status() const {
  return nlohmann::json::parse(query("status", nullptr, daemon_->socket().c_str()));
}

nlohmann::json GpuCase::ring(size_t index) const {
  const auto rings = nlohmann::json::parse(query("describe", "photos", daemon_->socket().c_str()))["rings"];
  return index < rings.size() ? rings[index] : nlohmann::json::object();
}

TrainerRun run_trainer(const Job& job, size_t batches_max) {
  Pipe told;
  const auto start = Clock::now();
  const pid_t trainer = in_child([&] {
    try {
      Loader loader = attach(job);
      for (const Seen& seen : take_all(loader, batches_max)) told.write(std::to_string(seen.digest) + "\n");
    } catch (const Exception& e) {
      told.write(std::string("!") + e.what() + "\n");
    }
    return 0;
  });
  told.close_writer();
  std::istringstream lines(told.read_all());
  TrainerRun run;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("!"))
      run.error = line.substr(1);
    else
      run.digests.push_back(std::stoull(line));
  }
  CHECK(wait_for(trainer) == 0);
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return run;
}

void kill_trainer(pid_t trainer) {
  kill(trainer, SIGKILL);
  REQUIRE(wait_for(trainer) == -SIGKILL);
}

}  // namespace spdld::test
