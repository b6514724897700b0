// Batches on the GPU of the fake driver: a real daemon, real trainers, every transport.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/integration/gpu_case.h"

namespace spdld::gpu_test {

using namespace spdld;
using namespace spdld::test;

namespace {

// A trainer that attaches, takes a batch, says so, does `then`, says so again, and waits to be killed.
pid_t holding_trainer(const Job& job, Pipe& told, const std::function<void(Loader&, Batch&)>& then = {}) {
  const pid_t trainer = in_child([&] {
    Loader loader = attach(job);
    Batch batch = loader.next(20'000).batch;
    told.write(std::to_string(look(batch).digest) + "\n");
    if (then) then(loader, batch);
    told.write("done\n");
    pause();
    return 0;
  });
  told.close_writer();
  return trainer;
}

}  // namespace

TEST_CASE("on each way to the GPU the pixels are the host's, bit for bit") {
  GpuCase gpu;
  const TrainerRun host = run_trainer(gpu.job("cpu"));
  REQUIRE(host.error.empty());
  REQUIRE(host.digests.size() == 6);
  for (const char* transport : {"fd", "handle", "auto"}) {
    for (const bool ready_early : {false, true}) {
      Job job = gpu.job("cuda", transport);
      job.ready_early = ready_early;
      const TrainerRun run = run_trainer(job);
      INFO(transport << (ready_early ? ", ready early: " : ": ") << run.error);
      CHECK(run.digests == host.digests);
    }
  }
  CHECK(run_trainer(gpu.job("pinned")).digests == host.digests);
  CHECK(run_trainer(gpu.job("auto")).digests == host.digests);
  CHECK(gpu.gpu()["copies"].get<int>() >= 7 * 6);
  CHECK(gpu.fake().violations() == std::vector<std::string>{});
  CHECK(soon([&] { return gpu.fake().live(gpu.daemon().pid()).allocations == 0; }));
}

TEST_CASE("describe and status tell where a ring lies and what the GPU does") {
  GpuCase gpu;
  for (const auto& [transport, memory] : {std::pair("fd", "cuda_vmm"), std::pair("handle", "cuda_ipc")}) {
    Pipe told;
    const pid_t trainer = holding_trainer(gpu.job("cuda:0", transport, 0), told);
    told.read_line();
    told.read_line();
    const auto ring = gpu.ring();
    CHECK(ring["memory"] == memory);
    CHECK_THAT(ring["gpu"].get<std::string>(), Catch::StartsWith("GPU-"));
    const auto device = gpu.gpu();
    CHECK(device["uuid"] == ring["gpu"]);
    CHECK(device["state"] == "open");
    CHECK(device["slots"] == 5);
    CHECK(device["slot_bytes"] == 5 * (2 << 20));
    CHECK(device["context_bytes"].get<uint64_t>() > 0);
    CHECK(device["copied_bytes"].get<uint64_t>() >= device["copies"].get<uint64_t>() * 4 * 3 * 32 * 32);
    CHECK(gpu.status()["memory"]["slot_bytes"] == 0);
    kill_trainer(trainer);
    CHECK(soon([&] { return gpu.gpu()["slots"] == 0; }));
  }
}

TEST_CASE("auto without a GPU is host memory, and says why there is none") {
  FakeCudaOptions options;
  options.devices = 0;
  GpuCase gpu(options);
  CHECK(run_trainer(gpu.job("auto")).digests.size() == 6);
  CHECK_THAT(run_trainer(gpu.job("cuda")).error, Catch::Contains("no-gpu: "));
  CHECK_THAT(run_trainer(gpu.job("pinned")).error, Catch::Contains("no-gpu: "));
}

TEST_CASE("what can't be had is refused by name, and host pipelines go on") {
  const auto refusal = [](const FakeCudaOptions& options, const char* transport, const std::string& settings = "") {
    GpuCase gpu(options, 24, settings);
    const TrainerRun run = run_trainer(gpu.job("cuda", transport));
    CHECK(run_trainer(gpu.job("cpu")).digests.size() == 6);
    CHECK(gpu.fake().violations() == std::vector<std::string>{});
    CHECK(run.digests.empty());
    return run.error;
  };
  FakeCudaOptions exclusive, slice, without_fds, old;
  exclusive.exclusive_process = true;
  slice.mig = true;
  without_fds.shares_fds = false;
  old.old_driver = true;
  CHECK_THAT(refusal(exclusive, "auto"), Catch::Contains("exclusive-process: "));
  CHECK_THAT(refusal(slice, "auto"), Catch::Contains("mig: "));
  CHECK_THAT(refusal(without_fds, "fd"), Catch::Contains("unsupported: "));
  CHECK_THAT(refusal(old, "auto"), Catch::Contains("driver-too-old: "));
  CHECK_THAT(refusal({}, "auto", "gpu.enabled = false"), Catch::Contains("gpu.enabled"));
  CHECK_THAT(refusal({}, "auto", "gpu.slot_bytes_max = \"4 MiB\""), Catch::Contains("gpu.slot_bytes_max"));
  GpuCase gpu(without_fds);
  CHECK(run_trainer(gpu.job("cuda", "auto")).digests.size() == 6);  // by handles
}

TEST_CASE("pinned batches need no context of the daemon's: the GPU may be the trainer's alone") {
  FakeCudaOptions options;
  options.exclusive_process = true;
  GpuCase gpu(options);
  const TrainerRun host = run_trainer(gpu.job("cpu"));
  REQUIRE(host.digests.size() == 6);
  Job shared = gpu.job("pinned");
  shared.spec.replace(shared.spec.find("share = \"cache\""), 15, "share = \"stream\"");
  for (const Job& job : {gpu.job("pinned"), shared}) {
    const TrainerRun run = run_trainer(job);
    INFO(run.error);
    CHECK(run.digests == host.digests);
  }
  CHECK(gpu.gpu()["state"] == "closed");
  CHECK(gpu.fake().violations() == std::vector<std::string>{});
}

TEST_CASE("a slice whose memory can be shared is used as a GPU is") {
  FakeCudaOptions options;
  options.mig = true;
  options.mig_shares = FakeCudaOptions::MigShares::kHandles;
  GpuCase gpu(options);
  const TrainerRun run = run_trainer(gpu.job("cuda"));
  INFO(run.error);
  CHECK(run.digests.size() == 6);
  CHECK_THAT(gpu.gpu()["uuid"].get<std::string>(), Catch::StartsWith("MIG-"));
  CHECK(gpu.fake().violations() == std::vector<std::string>{});
}

TEST_CASE("the cache of a pipeline stays open while its first ring is made on the GPU") {
  FakeCudaOptions options;
  options.copy_us = 300'000;  // a slot is cleared by a copy, so that a ring takes several ticks of the daemon
  GpuCase gpu(options);
  Job job = gpu.job("cuda", "fd", 0);
  job.spec.replace(job.spec.find("cache = \"auto\""), 14, "cache = \"encoded\"");
  Pipe told;
  const pid_t trainer = holding_trainer(job, told);
  told.read_line();
  told.read_line();
  const auto cache =
      nlohmann::json::parse(query("describe", "photos", gpu.daemon().socket().c_str()))["cache"]["fields"];
  CHECK(cache.size() == 1);
  kill_trainer(trainer);
}

TEST_CASE("a trainer that hides its GPUs is told so") {
  FakeCudaOptions options;
  options.devices = 2;
  GpuCase gpu(options);
  CHECK_THAT(run_trainer(gpu.job("cuda:2")).error, Catch::Contains("gpu-not-visible: "));
  Job job = gpu.job("cuda:1");
  CHECK(run_trainer(job).digests.size() == 6);
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);  // the trainer's, not the daemon's, which runs
  const TrainerRun one = run_trainer(gpu.job("cuda:0"));
  CHECK_THAT(run_trainer(job).error, Catch::Contains("gpu-not-visible: "));
  unsetenv("CUDA_VISIBLE_DEVICES");
  CHECK(one.digests.size() == 6);
  CHECK(gpu.status()["gpus"]["devices"].at(1)["copies"] == 12);
}

TEST_CASE("a session that ends while its process lives leaves its slots in quarantine until that has ended") {
  GpuCase gpu;
  for (const char* transport : {"fd", "handle"}) {
    Pipe told;
    const pid_t trainer = holding_trainer(gpu.job("cuda", transport, 0), told, [](Loader& loader, Batch&) {
      shutdown(spdld_poll_fd(loader.get()), SHUT_RDWR);  // as a trainer that has run wild would
    });
    told.read_line();
    told.read_line();
    CHECK(soon([&] { return gpu.gpu()["quarantined_bytes"].get<uint64_t>() > 0; }));
    CHECK(gpu.fake().live(gpu.daemon().pid()).allocations == 5);
    CHECK(run_trainer(gpu.job("cuda", transport)).digests.size() == 6);  // the rank is free, on other slots
    kill_trainer(trainer);
    CHECK(soon([&] { return gpu.gpu()["slots"] == 0; }));
    CHECK(gpu.gpu()["quarantined_bytes"] == 0);
    CHECK(gpu.fake().violations() == std::vector<std::string>{});
  }
}

TEST_CASE("jobs that share a stream on a GPU get the host's pixels, and what one leaves open is counted whole") {
  GpuCase gpu;
  const TrainerRun host = run_trainer(gpu.job("cpu"));
  REQUIRE(host.digests.size() == 6);
  for (const char* transport : {"fd", "handle"}) {
    const auto sharing = [&](const std::string& group) {
      Job job = gpu.job("cuda", transport, 0);
      job.spec.replace(job.spec.find("share = \"cache\""), 15, "share = \"stream\"");
      job.group = group;
      return job;
    };
    Pipe told;
    const pid_t wild = holding_trainer(sharing("wild"), told, [&](Loader& loader, Batch&) {
      told.write(loader.info().shared ? "shares\n" : "is alone\n");
      shutdown(spdld_poll_fd(loader.get()), SHUT_RDWR);
    });
    CHECK(told.read_line() == std::to_string(host.digests[0]));
    CHECK(told.read_line() == "shares");
    CHECK(told.read_line() == "done");
    const uint64_t slots = gpu.gpu()["slots"];
    CHECK(slots > 5);
    CHECK(soon([&] { return gpu.gpu()["quarantined_bytes"].get<uint64_t>() > 0; }));
    CHECK(gpu.gpu()["quarantined_bytes"] == slots * (2 << 20));
    const TrainerRun other = run_trainer(sharing("other"), 6);
    INFO(other.error);
    CHECK(other.digests == host.digests);
    kill_trainer(wild);
    CHECK(soon([&] { return gpu.gpu()["slots"] == 0; }));
    CHECK(gpu.fake().violations() == std::vector<std::string>{});
  }
}

TEST_CASE("where a reader keeps slots open for long, its replicas get a ring of other slots") {
  GpuCase gpu;
  Job job = gpu.job("cuda", "fd", 0);
  job.readers = 2;
  const pid_t wild = in_child([&] {
    Loader loader = attach(job);
    std::vector<Batch> held;
    while (held.size() < 5) held.push_back(loader.next(20'000).batch);
    shutdown(spdld_poll_fd(loader.get()), SHUT_RDWR);
    pause();
    return 0;
  });
  Pipe told;
  const pid_t steady = in_child([&] {
    try {
      Job second = job;
      second.reader = 1;
      Loader loader = attach(second);
      for (uint64_t step = 0; step < 30;) {
        const auto next = loader.next(30'000);
        if (next.result == SPDLD_END_OF_EPOCH) continue;
        if (next.result != SPDLD_OK) throw Exception(next.result, "no batch in time");
        const spdld_batch_info info = next.batch.info();
        if (info.epoch * 6 + info.step != step++) told.write("another batch than number " + std::to_string(step));
      }
    } catch (const Exception& e) {
      told.write(e.what());
    }
    return 0;
  });
  told.close_writer();
  CHECK(soon([&] { return gpu.gpu()["quarantined_bytes"].get<uint64_t>() > 0; }));
  // Its ring ends, and it attaches to one that waits for the other reader.
  CHECK(soon([&] { return gpu.gpu()["slots"] == 10 && gpu.ring()["batches"] == 0; }));
  const TrainerRun again = run_trainer(job, 3);
  CHECK(again.error == "");
  CHECK(again.digests.size() == 3);
  CHECK(told.read_all() == "");
  CHECK(wait_for(steady) == 0);
  kill_trainer(wild);
  CHECK(soon([&] { return gpu.gpu()["slots"] == 0; }));
  CHECK(gpu.fake().violations() == std::vector<std::string>{});
}

TEST_CASE("readers of a rank come and go beside one that stays") {
  GpuCase gpu;
  Job job = gpu.job("cuda", "fd", 0);
  job.readers = 2;
  Pipe told;
  const pid_t steady = in_child([&] {
    try {
      Job second = job;
      second.reader = 1;
      Loader loader = attach(second);
      for (;;) {
        const auto next = loader.next(5'000);
        if (next.result == SPDLD_TIMEOUT) throw Exception(next.result, "no batch in time");
      }
    } catch (const Exception& e) {
      told.write(e.what());
    }
    return 0;
  });
  told.close_writer();
  for (int i = 0; i < 100; i++) {
    const TrainerRun again = run_trainer(job, 3);
    REQUIRE(again.error == "");
    CHECK(again.digests.size() == 3);
  }
  kill_trainer(steady);
  CHECK(told.read_all() == "");
  CHECK(gpu.fake().violations() == std::vector<std::string>{});
}

TEST_CASE("a trainer outlives its daemon: by descriptors its batch stays, and the next call attaches anew") {
  for (const char* transport : {"fd", "handle"}) {
    GpuCase gpu;
    Pipe told, go;
    const Job job = gpu.job("cuda", transport, 0);
    const pid_t trainer = in_child([&] {
      Loader loader = attach(job);
      const Batch held = loader.next(20'000).batch;
      const uint64_t before = look(held).digest;
      told.write("holds\n");
      go.read_line();
      if (std::string(transport) == "fd" && look(held).digest != before) return 1;
      for (uint64_t step = 1; step < 6; step++) {
        const auto next = loader.next(20'000);
        if (next.result != SPDLD_OK || next.batch.info().step != step) return 2;
      }
      return 0;
    });
    told.close_writer();
    CHECK(told.read_line() == "holds");
    gpu.daemon().stop(SIGKILL);
    gpu.daemon().start();
    go.write("on\n");
    INFO(transport);
    CHECK(wait_for(trainer) == 0);
    CHECK(gpu.fake().violations() == std::vector<std::string>{});
  }
}

// Two jobs of one process, abreast of each other: a line each batch, the first job's and then the second's.
std::vector<std::string> run_two(const Job& first, const Job& second) {
  Pipe told;
  const pid_t trainer = in_child([&] {
    std::array<Loader, 2> loaders = {attach(first), attach(second)};
    std::array<uint64_t, 2> samples{};
    std::array<std::string, 2> lines;
    for (;;) {
      const size_t which = samples[0] <= samples[1] ? 0 : 1;
      const std::vector<Seen> one = take_all(loaders[which], 1);
      if (one.empty()) break;
      samples[which] += one[0].valid;
      lines[which] += std::to_string(one[0].digest) + "\n";
    }
    told.write(lines[0] + lines[1] + (loaders[0].info().shared && loaders[1].info().shared ? "shared\n" : "alone\n"));
    return 0;
  });
  told.close_writer();
  std::istringstream text(told.read_all());
  CHECK(wait_for(trainer) == 0);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("jobs with batches of other sizes share a stream on a GPU, by copies from slot to slot") {
  FakeCudaOptions slow;
  slow.copy_us = 2000;
  for (const char* transport : {"fd", "handle"}) {
    for (const bool early : {false, true}) {
      GpuCase gpu(slow);
      const auto job = [&](const std::string& group, uint64_t size) {
        Job made = gpu.job("cuda", transport);
        made.spec.replace(made.spec.find("share = \"cache\""), 15, "share = \"stream\"");
        made.group = group, made.batch_size = size, made.ready_early = early;
        return made;
      };
      const std::vector<std::string> seen = run_two(job("a", 0), job("b", 5));
      const auto described = nlohmann::json::parse(query("describe", "photos", gpu.daemon().socket().c_str()));
      CHECK(described["stages"][1]["samples"] == described["samples"]);
      Job host = gpu.job("cpu");
      std::vector<std::string> expected;
      for (const uint64_t size : {4u, 5u}) {
        host.group = "host" + std::to_string(size), host.batch_size = size;
        for (const uint64_t digest : run_trainer(host).digests) expected.push_back(std::to_string(digest));
      }
      expected.push_back("shared");
      CHECK(seen == expected);
      CHECK(expected.size() == 6 + 5 + 1);
      CHECK(gpu.fake().violations() == std::vector<std::string>{});
    }
  }
}

}  // namespace spdld::gpu_test
