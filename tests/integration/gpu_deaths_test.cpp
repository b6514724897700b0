// Memory of trainers that die, or lose their sessions, while the GPU may still work on it.
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/integration/gpu_case.h"

namespace spdld::gpu_deaths_test {

using namespace spdld;
using namespace spdld::test;

namespace {

// A reader that holds two batches, and a forked child of it that lives on with the same memory. The child tells, once
// asked, whether that memory has changed.
struct Survived {
  Pipe told, go;
  pid_t reader = -1;

  explicit Survived(const Job& job) {
    reader = in_child([&] {
      Loader loader = attach(job);
      std::vector<Batch> held;
      while (held.size() < 2) held.push_back(loader.next(20'000).batch);
      std::vector<std::pair<const char*, std::string>> seen;
      for (const Batch& batch : held) {
        look(batch);  // waits for the copy
        const auto* const bytes = static_cast<const char*>(batch["image"].address);
        seen.emplace_back(bytes, std::string(bytes, 4096));
      }
      if (fork() != 0) return pause();
      go.close_writer();
      told.write("holds\n");
      go.read_line();
      for (const auto& [bytes, before] : seen)
        if (before != std::string(bytes, 4096)) told.write("changed\n");
      told.write("end\n");
      _exit(0);
      return 0;
    });
    told.close_writer();
  }
  void kill_reader() {
    CHECK(told.read_line() == "holds");
    kill_trainer(reader);
  }
  std::string ask() {
    go.write("on\n");
    return told.read_line();
  }
};

}  // namespace

TEST_CASE("slots of a reader that died are not filled again: its forked child has them open") {
  for (const char* transport : {"fd", "handle"}) {
    GpuCase gpu;
    Job job = gpu.job("cuda", transport, 0);
    job.readers = 2;
    Survived survived(job);
    Pipe steps;
    const pid_t steady = in_child([&] {
      try {
        Job second = job;
        second.reader = 1;
        Loader loader = attach(second);
        for (uint64_t step = 0; step < 40;) {
          const auto next = loader.next(20'000);
          if (next.result == SPDLD_END_OF_EPOCH) continue;
          if (next.result != SPDLD_OK) throw Exception(next.result, "no batch in time");
          const spdld_batch_info info = next.batch.info();
          if (info.epoch * 6 + info.step != step++) steps.write("another batch than number " + std::to_string(step));
          if (step == 1) steps.write("begun\n");
        }
      } catch (const Exception& e) {
        steps.write(e.what());
      }
      return 0;
    });
    steps.close_writer();
    CHECK(steps.read_line() == "begun");
    survived.kill_reader();
    // In the place of the dead one, for as long as the other reader needs it: a new ring begins with both.
    const pid_t again = in_child([&] {
      Loader loader = attach(job);
      for (;;) loader.next(20'000);
      return 0;
    });
    INFO(transport);
    CHECK(wait_for(steady) == 0);
    CHECK(steps.read_all() == "");
    kill_trainer(again);
    CHECK(survived.ask() == "end");
    CHECK(soon([&] { return gpu.gpu()["slots"] == 0; }));
    CHECK(gpu.fake().violations() == std::vector<std::string>{});
  }
}

TEST_CASE("a job that dies on a shared stream leaves slots that nobody fills, and the others go on") {
  GpuCase gpu({}, 24, "limits.share_jobs_max = 3");
  const TrainerRun host = run_trainer(gpu.job("cpu", "", 0), 36);
  REQUIRE(host.digests.size() == 36);
  const auto line = [&](size_t from) {
    std::string text;
    for (size_t step = from; step < from + 12; step++) text += std::to_string(host.digests[step]) + " ";
    return text + "shared";
  };
  const auto sharing = [&](const std::string& group) {
    Job job = gpu.job("cuda", "fd", 0);
    job.spec.replace(job.spec.find("share = \"cache\""), 15, "share = \"stream\"");
    job.group = group;
    return job;
  };
  Pipe told, go;
  const pid_t steady = in_child([&] {
    try {
      Loader loader = attach(sharing("steady"));
      for (int step = 0; step < 3; step++) {
        for (const Seen& seen : take_all(loader, 12)) told.write(std::to_string(seen.digest) + " ");
        told.write(loader.info().shared ? "shared\n" : "alone\n");
        go.read_line();
      }
    } catch (const Exception& e) {
      told.write(std::string(e.what()) + "\n");
    }
    return 0;
  });
  told.close_writer();
  CHECK(told.read_line() == line(0));
  const uint64_t slots = gpu.gpu()["slots"];
  Survived first(sharing("first"));
  first.kill_reader();
  go.write("on\n");
  CHECK(told.read_line() == line(12));
  CHECK(first.ask() == "end");
  CHECK(gpu.gpu()["slots"] == slots);  // still the same ring: it has enough
  Survived second(sharing("second"));
  second.kill_reader();
  go.write("on\n");
  CHECK(told.read_line() == line(24));  // from a ring that another job can join
  CHECK(second.ask() == "end");
  CHECK(run_trainer(sharing("third"), 6).digests.size() == 6);
  go.write("on\n");
  CHECK(wait_for(steady) == 0);
  CHECK(soon([&] { return gpu.gpu()["slots"] == 0; }));
  CHECK(gpu.fake().violations() == std::vector<std::string>{});
}

TEST_CASE("pinned memory of a trainer that lost its session stays as it was while the trainer lives") {
  GpuCase gpu;
  Pipe told, go;
  const pid_t wild = in_child([&] {
    Loader loader = attach(gpu.job("pinned", "", 0));
    const Batch batch = loader.next(20'000).batch;
    const auto* const bytes = static_cast<const char*>(batch["image"].address);
    const std::string before(bytes, 4096);
    shutdown(spdld_poll_fd(loader.get()), SHUT_RDWR);
    told.write("lost\n");
    go.read_line();
    told.write(before == std::string(bytes, 4096) ? "same\n" : "changed\n");
    pause();
    return 0;
  });
  told.close_writer();
  CHECK(told.read_line() == "lost");
  CHECK(soon([&] { return gpu.ring().empty(); }));
  CHECK(run_trainer(gpu.job("pinned", "", 0), 20).digests.size() == 20);
  go.write("on\n");
  CHECK(told.read_line() == "same");
  kill_trainer(wild);
}

}  // namespace spdld::gpu_deaths_test
