// Death and failure on the GPU of the fake driver: killed trainers, every entry of the driver failing, a GPU that is
// lost.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "proto/cuda/abi.h"
#include "proto/cuda/fault.h"
#include "tests/integration/gpu_case.h"

namespace spdld::gpu_faults_test {

using namespace spdld;
using namespace spdld::test;

namespace {

std::vector<std::string> entries() {
  std::vector<std::string> names;
#define SPDLD_NAME(symbol, version, parameters) names.emplace_back(#symbol);
  SPDLD_CUDA_ENTRIES(SPDLD_NAME)
#undef SPDLD_NAME
  return names;
}

bool names_a_cause(const std::string& sentence) {
  for (int cause = 0; cause <= static_cast<int>(cuda::Cause::kFailed); cause++)
    if (sentence.find(std::string(cuda::name_of(static_cast<cuda::Cause>(cause))) + ": ") != std::string::npos)
      return true;
  return false;
}

std::string end_of(const std::string& log) {
  constexpr size_t kMost = 6'000;
  return log.size() <= kMost ? log : log.substr(log.size() - kMost);
}

// A sanitizer makes a process's start many times slower.
constexpr int kKills = SPDLD_SANITIZED ? 60 : 1000;
constexpr double kHangs_s = 15;

}  // namespace

TEST_CASE("trainers are killed at any moment, by the thousand: nothing leaks, and another never stops") {
  for (const char* transport : {"fd", "handle"}) {
    GpuCase gpu;
    Pipe steps, go;
    const Job steady_job = gpu.job("cuda", transport, 0);
    const pid_t steady = in_child([&] {
      Loader loader = attach(steady_job);
      go.close_writer();
      steps.write("begun\n");
      uint64_t count = 0;
      for (bool on = true; on; count++) {
        const auto next = loader.next(20'000);
        if (next.result == SPDLD_END_OF_EPOCH) continue;
        if (next.result != SPDLD_OK) return 1;
        pollfd ended{go.reader(), POLLIN, 0};
        on = poll(&ended, 1, 0) == 0;
      }
      steps.write(std::to_string(count) + "\n");
      return 0;
    });
    steps.close_writer();
    CHECK(steps.read_line() == "begun");
    const uint64_t used_bytes = gpu.fake().used_bytes();
    const auto before = gpu.fake().live(gpu.daemon().pid());
    const size_t fds = gpu.daemon().open_fds();

    Job job = gpu.job("cuda", transport, 0);
    job.group = "victims";
    for (int i = 0; i < kKills; i++) {
      Pipe told;
      const pid_t victim = in_child([&] {
        Loader loader = attach(job);
        told.write(".");
        for (std::vector<Batch> held;;) {
          const auto next = loader.next(20'000);
          if (next.result == SPDLD_OK) held.push_back(next.batch);
          if (held.size() > 2) held.erase(held.begin());
          told.write(".");
        }
        return 0;
      });
      told.close_writer();
      for (int step = 0; step < i % 5; step++) told.read_byte();  // from before it attaches to its third batch or so
      kill(victim, SIGKILL);
      REQUIRE(wait_for(victim) == -SIGKILL);
    }
    INFO(transport);
    CHECK(soon([&] { return gpu.fake().live(gpu.daemon().pid()).allocations == before.allocations; }));
    CHECK(soon([&] { return gpu.fake().used_bytes() == used_bytes; }));
    // What the first trainer sent may have been closed only after `fds` was taken.
    CHECK(soon([&] { return gpu.daemon().open_fds() <= fds; }));
    const auto after = gpu.fake().live(gpu.daemon().pid());
    CHECK(after.events == before.events);
    CHECK(after.streams == before.streams);
    CHECK(after.contexts == before.contexts);
    go.write("end\n");
    go.close_writer();
    CHECK(std::stoi(steps.read_line()) > 10);
    CHECK(wait_for(steady) == 0);
    CHECK(gpu.fake().violations() == std::vector<std::string>{});
  }
}

TEST_CASE("each entry of the driver fails in turn: a named error or none, and never a hang") {
  std::vector<uint64_t> host;
  for (const char* transport : {"fd", "handle"}) {
    for (const bool ever_after : {false, true}) {
      GpuCase gpu;
      if (host.empty()) host = run_trainer(gpu.job("cpu")).digests;
      REQUIRE(host.size() == 6);
      for (const std::string& entry : entries()) {
        gpu.fake().inject(entry, cuda::abi::kUnknown, 1, ever_after);
        Job job = gpu.job("cuda", transport);
        job.ready_early = true;  // by handles: uses events of both sides
        job.timeout_ms = 5'000;
        const TrainerRun run = run_trainer(job);
        INFO(entry << " by " << transport << (ever_after ? ", ever after" : ", once") << ": " << run.error);
        // Printed where a check fails: why the daemon gave no batch, or is gone.
        INFO("the end of the daemon's log:\n" << end_of(gpu.daemon().log()));
        CHECK(run.seconds < kHangs_s);
        if (run.error.empty())
          CHECK(run.digests == host);  // not called, or made good
        else
          CHECK(names_a_cause(run.error));
        gpu.fake().clear_faults();
        CHECK(run_trainer(gpu.job("cpu")).digests == host);
      }
      // The daemon itself has come through: the next ring works.
      CHECK(run_trainer(gpu.job("cuda", transport)).digests == host);
      CHECK(soon([&] { return gpu.gpu()["slots"] == 0; }));
      CHECK(gpu.fake().violations() == std::vector<std::string>{});
    }
  }
}

TEST_CASE("a GPU that is lost ends its rings with a sentence; host rings go on, and the next ring opens it afresh") {
  GpuCase gpu;
  Pipe told, go, host_told, host_go;
  const Job job = gpu.job("cuda", "fd", 0);
  Job host_job = gpu.job("cpu", "", 0);
  host_job.group = "host";
  const pid_t host = in_child([&] {
    Loader loader = attach(host_job);
    host_told.write(std::to_string(take_all(loader, 3).size()) + "\n");
    host_go.read_line();
    return take_all(loader, 12).size() == 12 ? 0 : 1;
  });
  host_told.close_writer();
  CHECK(host_told.read_line() == "3");
  const pid_t trainer = in_child([&] {
    try {
      Loader loader = attach(job);
      take_all(loader, 2);
      told.write("two\n");
      go.read_line();
      take_all(loader);
    } catch (const Exception& e) {
      told.write(std::string(e.what()) + "\n");
    }
    return 0;
  });
  told.close_writer();
  CHECK(told.read_line() == "two");
  gpu.fake().inject("cuMemcpyHtoDAsync", cuda::abi::kIllegalAddress, 1, false, gpu.daemon().pid());
  go.write("on\n");
  const std::string sentence = told.read_line();
  CHECK_THAT(sentence, Catch::Contains("context-lost: "));
  CHECK_THAT(sentence, Catch::Contains("attach again"));
  CHECK(wait_for(trainer) == 0);
  host_go.write("on\n");
  CHECK(wait_for(host) == 0);
  CHECK(run_trainer(gpu.job("cuda", "fd")).digests.size() == 6);
  CHECK(gpu.gpu()["resets"] == 1);
  CHECK(gpu.gpu()["state"] == "open");
  CHECK(gpu.fake().violations() == std::vector<std::string>{});
}

TEST_CASE("where a process can't open its GPU afresh, spdld ends for its supervisor, and jobs outlive that") {
  GpuCase gpu;
  Pipe host_told, host_go;
  Job host_job = gpu.job("cpu", "", 0);
  host_job.group = "host";
  const pid_t host = in_child([&] {
    Loader loader = attach(host_job);
    host_told.write(std::to_string(take_all(loader, 3).size()) + "\n");
    host_go.read_line();
    return take_all(loader, 12).size() == 12 ? 0 : 1;
  });
  host_told.close_writer();
  CHECK(host_told.read_line() == "3");
  gpu.fake().inject("cuMemcpyHtoDAsync", cuda::abi::kMpsClientTerminated, 7, false, gpu.daemon().pid());
  const TrainerRun lost = run_trainer(gpu.job("cuda", "fd", 0));
  CHECK_THAT(lost.error, Catch::Contains("context-lost: ") && Catch::Contains("CUDA_ERROR_MPS_CLIENT_TERMINATED"));

  Pipe told;
  const Job job = gpu.job("cuda", "fd");
  const pid_t trainer = in_child([&] {
    try {
      Loader loader = attach(job);
      told.write(std::to_string(take_all(loader).size()) + "\n");
    } catch (const Exception& e) {
      told.write(std::string(e.what()) + "\n");
    }
    return 0;
  });
  told.close_writer();
  const int status = gpu.daemon().stop(0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 1));
  CHECK_THAT(gpu.daemon().log(), Catch::Contains("this process can't open it afresh"));
  gpu.daemon().start();
  CHECK(told.read_line() == "6");
  CHECK(wait_for(trainer) == 0);
  host_go.write("on\n");
  CHECK(wait_for(host) == 0);
  CHECK(gpu.fake().violations() == std::vector<std::string>{});
}

}  // namespace spdld::gpu_faults_test
