// How GPU batches end: detach with work under way, batches that outlive loader and daemon, daemons that come back,
// forks, and errors on the GPU itself.
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/client/gpu_session.h"

namespace spdld::gpu_end_test {

using namespace spdld;
using namespace spdld::test;

namespace {

constexpr int kIllegalAddress = 700;

bool is_released(const Bench& bench, uint64_t wanted) {
  return bench.daemon.wait_until([wanted](const GpuCounts& counts) { return counts.releases == wanted; });
}

// A process of the trainer's own; whether it ended well.
bool forked(const std::function<void()>& body) {
  const pid_t child = ::fork();
  MUST(child >= 0);
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& fault) {
      std::fprintf(stderr, "grandchild: %s\n", fault.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

spdld_result attach_result(spdld_attach_options options, const char* device) {
  options.device = device;
  spdld_loader* loader = nullptr;
  const spdld_result result = spdld_attach(&options, &loader);
  spdld_detach(loader);
  return result;
}

}  // namespace

TEST_CASE("detach waits for work under way, and a batch that stays has its memory until its own work is done") {
  for (const proto::MemoryKind kind : kGpuKinds) {
    FakeScript script = script_of(kind);
    script.epochs = 1, script.steps_per_epoch = 2;
    Bench bench(script);
    CHECK(bench.trains([&](const Loaded& driver) {
      Loader loader = attach_in_child(bench.options());
      const abi::Stream stream = make_stream(driver);
      Gate first_gate, second_gate;
      Batch gone = next_in_child(loader), kept = next_in_child(loader);
      RESULT(SPDLD_OK, spdld_batch_use(gone.get(), stream));
      first_gate.close(driver, stream);
      gone.reset();
      std::atomic<bool> opened{false};
      std::thread opener([&] {
        opened = true;
        first_gate.open();
      });
      loader.reset();
      MUST(opened);
      opener.join();
      MUST(bench.daemon.wait_until([](const GpuCounts& counts) { return counts.detaches == 1; }));
      MUST(bench.daemon.counts().kept_leases == 1 && bench.daemon.counts().releases == 1);
      MUST(kind == proto::MemoryKind::pinned || bench.cuda.live(::getpid()).imports == 1);
      MUST(is_intact(kept.get()) && first_id(kept) == 4);

      RESULT(SPDLD_OK, spdld_batch_use(kept.get(), stream));
      second_gate.close(driver, stream);
      opened = false;
      std::thread second_opener([&] {
        opened = true;
        second_gate.open();
      });
      kept.reset();
      MUST(opened);
      second_opener.join();
      MUST(bench.cuda.live(::getpid()).imports == 0);
      MUST(is_released(bench, 2));
      MUST(bench.daemon.wait_until([](const GpuCounts& counts) { return counts.open_sessions == 0; }));
      GOOD(driver.cuStreamDestroy(stream));
    }));
    CHECK(bench.breaches() == "");
  }
}

TEST_CASE("detach goes on as soon as the work is done, and not at its next look at it") {
  using Clock = std::chrono::steady_clock;
  using namespace std::chrono_literals;
  FakeScript script = script_of(proto::MemoryKind::cuda_ipc);
  script.epochs = 1, script.steps_per_epoch = 2;
  Bench bench(script);
  CHECK(bench.trains([&](const Loaded& driver) {
    const abi::Stream stream = make_stream(driver);
    Clock::duration shortest = 1h;
    for (int i = 0; i < 6; ++i) {  // at least one of the six rounds gets the cores that it needs
      Loader loader = attach_in_child(bench.options());
      Gate gate;
      Batch batch = next_in_child(loader);
      RESULT(SPDLD_OK, spdld_batch_use(batch.get(), stream));
      gate.close(driver, stream);
      batch.reset();
      Clock::time_point opened;
      std::thread opener([&] {
        std::this_thread::sleep_for(10ms);  // detach waits by then; it looks at the work after 100 ms
        opened = Clock::now();
        gate.open();
      });
      loader.reset();
      const Clock::time_point ended = Clock::now();
      opener.join();
      shortest = std::min(shortest, ended - opened);
    }
    MUST(shortest < 45ms);
    GOOD(driver.cuStreamDestroy(stream));
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("a batch whose stream is captured at its loader's end comes back with a later call") {
  FakeScript script = script_of(proto::MemoryKind::cuda_ipc);
  script.epochs = 1, script.steps_per_epoch = 1;
  Bench bench(script);
  CHECK(bench.trains([&](const Loaded& driver) {
    Loader loader = attach_in_child(bench.options());
    const abi::Stream stream = make_stream(driver);
    Batch batch = next_in_child(loader);
    RESULT(SPDLD_OK, spdld_batch_use(batch.get(), stream));
    driver.set_capturing(stream, true);
    batch.reset();
    loader.reset();
    MUST(bench.daemon.wait_until([](const GpuCounts& counts) { return counts.detaches == 1; }));
    MUST(bench.daemon.counts().kept_leases == 1 && bench.daemon.counts().releases == 0);
    driver.set_capturing(stream, false);
    spdld_tell(nullptr, nullptr, nullptr);
    MUST(is_released(bench, 1));
    GOOD(driver.cuStreamDestroy(stream));
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("a batch outlives its loader and its daemon") {
  for (const proto::MemoryKind kind : kGpuKinds) {
    Bench bench(script_of(kind));
    CHECK(bench.trains([&](const Loaded&) {
      spdld_attach_options options = bench.options();
      options.reconnect_ms = -1;
      Loader loader = attach_in_child(options);
      const Batch held = next_in_child(loader);
      ::kill(bench.daemon.pid(), SIGKILL);
      spdld_result result = SPDLD_OK;
      for (int i = 0; i < 4 && result == SPDLD_OK; ++i) result = next_result(loader, 5000);
      RESULT(SPDLD_NO_DAEMON, result);
      loader.reset();
      // Memory by handles is gone with its maker; what the driver then shows there is not said.
      MUST(kind == proto::MemoryKind::cuda_ipc || is_intact(held.get()));
    }));
    CHECK(bench.breaches() == "");
  }
}

TEST_CASE("a daemon that comes back must have the same kind of memory") {
  using proto::MemoryKind;
  struct Change {
    MemoryKind before, after;
    spdld_result result;
  };
  const Change changes[] = {{MemoryKind::cuda_vmm, MemoryKind::cuda_vmm, SPDLD_OK},
                            {MemoryKind::cuda_vmm, MemoryKind::cuda_ipc, SPDLD_OK},
                            {MemoryKind::cuda_ipc, MemoryKind::pinned, SPDLD_CHANGED},
                            {MemoryKind::pinned, MemoryKind::host, SPDLD_CHANGED},
                            {MemoryKind::host, MemoryKind::cuda_vmm, SPDLD_CHANGED}};
  for (const Change& change : changes) {
    INFO(static_cast<int>(change.before) << " to " << static_cast<int>(change.after));
    FakeScript first = script_of(change.before);
    first.sends_batches = false;
    Bench bench(first);
    const std::string second_socket = bench.folder.path() + "/second";
    const GpuDaemon second(bench.cuda, second_socket, script_of(change.after));
    CHECK(bench.trains([&](const Loaded&) {
      const Loader loader = attach_in_child(bench.options());
      ::kill(bench.daemon.pid(), SIGKILL);
      std::filesystem::rename(second_socket, bench.socket);
      spdld_batch* batch = nullptr;
      RESULT(change.result, spdld_next(loader.get(), 5000, &batch));
      MUST(change.result == SPDLD_OK || error_says("came back with batches in"));
      MUST(!batch || (is_intact(batch) && first_id(Batch(batch)) == 0));
    }));
    CHECK(bench.breaches() == "");
  }
}

TEST_CASE("a forked child can do nothing to its parent's batches, and has no GPU itself") {
  Bench bench(script_of(proto::MemoryKind::cuda_vmm));
  CHECK(bench.trains([&](const Loaded&) {
    const Loader loader = attach_in_child(bench.options());
    Batch batch = next_in_child(loader);
    MUST(forked([&] {
      RESULT(SPDLD_FORKED, spdld_batch_use(batch.get(), nullptr));
      RESULT(SPDLD_FORKED, spdld_batch_wait(batch.get()));
      spdld_batch_release(batch.get());
      for (const char* device : {"cuda", "cuda:0", "pinned", "auto", static_cast<const char*>(nullptr)}) {
        RESULT(SPDLD_FORKED, attach_result(bench.options(), device));
        MUST(error_says("forked: ") && error_says("spawn"));
      }
    }));
    MUST(is_intact(batch.get()));
    batch.reset();
    MUST(is_released(bench, 1));
    MUST(bench.daemon.counts().attaches == 1);
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("a child of a process that had used CUDA without this library has no GPU, and has host batches") {
  Bench bench(FakeScript{});
  CHECK(bench.trains([&](const Loaded&) {
    MUST(forked([&] {
      RESULT(SPDLD_FORKED, attach_result(bench.options(), nullptr));
      RESULT(SPDLD_OK, attach_result(bench.options(), "cpu"));
    }));
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("an error on the GPU while a batch is on its way is told, and does not hang") {
  Bench bench(script_of(proto::MemoryKind::cuda_vmm));
  CHECK(runs_well(bench.cuda, [&](const Loaded& driver) {
    driver.start();
    Loader loader = attach_in_child(bench.options());
    const abi::Stream stream = make_stream(driver);
    Gate gate;
    std::vector<Batch> held;
    for (int i = 0; i < 3; ++i) held.push_back(next_in_child(loader));
    for (const Batch& batch : held) RESULT(SPDLD_OK, spdld_batch_use(batch.get(), stream));
    gate.close(driver, stream);
    held.clear();
    bench.cuda.inject("cuMemGetInfo", kIllegalAddress, 1, false, ::getpid());
    size_t free = 0, total = 0;
    GIVES(kIllegalAddress, driver.cuMemGetInfo(&free, &total));
    gate.open();
    RESULT(SPDLD_FAILED, next_result(loader, -1));
    MUST(error_says("context-lost: "));
    RESULT(SPDLD_FAILED, next_result(loader, 0));
    const Stopwatch stopwatch;
    loader.reset();
    MUST(stopwatch.ms() < 5000);
  }));
  CHECK(bench.breaches() == "");
}

}  // namespace spdld::gpu_end_test
