// The caller's streams and captures, as CUDA's rules have them: default streams of threads, captures on other threads,
// streams that are destroyed early, and events of a daemon that is dead.
#include <poll.h>
#include <sys/syscall.h>

#include <atomic>

#include "tests/client/gpu_session.h"

namespace spdld::gpu_stream_test {

using namespace spdld;
using namespace spdld::test;

namespace {

using proto::MemoryKind;

FakeScript endless(MemoryKind memory) {
  FakeScript script = script_of(memory);
  script.epochs = 0;
  script.steps_per_epoch = 1'000'000;
  return script;
}

bool is_released(const Bench& bench, uint64_t wanted) {
  return bench.daemon.wait_until([wanted](const GpuCounts& counts) { return counts.releases >= wanted; });
}

spdld_attach_options early_options(const Bench& bench) {
  spdld_attach_options options = bench.options();
  options.transport = "handle";
  options.experimental_ready_early = 1;
  return options;
}

// Kills the process, and waits until its sockets are closed.
void kill_and_wait(pid_t pid) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  MUST(process && ::kill(pid, SIGKILL) == 0);
  pollfd ended = {process.get(), POLLIN, 0};
  MUST(::poll(&ended, 1, 10'000) == 1);
}

}  // namespace

TEST_CASE("a capture on another thread, in the mode in which torch captures, is spoiled by no call") {
  for (const MemoryKind kind : kGpuKinds) {
    FakeScript script = script_of(kind);
    script.epochs = 1;
    Bench bench(script);
    CHECK(bench.trains([&](const Loaded& driver) {
      const abi::Stream captured = make_stream(driver), stream = make_stream(driver);
      driver.set_capturing(captured, true);
      std::thread([&] {
        spdld_attach_options options = bench.options();
        const bool early = kind == MemoryKind::cuda_ipc;
        if (early) options = early_options(bench);
        Loader loader = attach_in_child(options);
        for (int i = 0; i < 5; ++i) {
          const Batch batch = next_in_child(loader);
          RESULT(SPDLD_OK, spdld_batch_use(batch.get(), stream));
          RESULT(SPDLD_OK, spdld_batch_wait(batch.get()));
          MUST(is_intact(batch.get()));
        }
        MUST(is_released(bench, 5));
        loader.reset();
      }).join();
      driver.set_capturing(captured, false);
      for (const abi::Stream one : {captured, stream}) GOOD(driver.cuStreamDestroy(one));
    }));
    CHECK(bench.breaches() == "");
  }
}

TEST_CASE("work on a thread's own default stream is followed, whichever thread drops the batch") {
  Bench bench(endless(MemoryKind::cuda_vmm));
  CHECK(bench.trains([&](const Loaded& driver) {
    const Loader loader = attach_in_child(bench.options());
    const abi::Stream other = make_stream(driver);
    Gate gate;
    Batch busy = next_in_child(loader), free = next_in_child(loader);
    RESULT(SPDLD_OK, spdld_batch_use(busy.get(), abi::per_thread_stream()));
    RESULT(SPDLD_OK, spdld_batch_use(free.get(), other));
    gate.close(driver, abi::per_thread_stream());
    std::thread([&] { busy.reset(); }).join();
    free.reset();
    MUST(is_released(bench, 1));
    GOOD(driver.cuStreamSynchronize(other));
    char* json = nullptr;  // the daemon answers it after all that it was sent before
    RESULT(SPDLD_OK, spdld_query(bench.socket.c_str(), "ping", nullptr, 5000, &json));
    spdld_free(json);
    MUST(bench.daemon.counts().releases == 1);
    gate.open();
    MUST(is_released(bench, 2));
    GOOD(driver.cuStreamDestroy(other));
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("a thread's own default stream waits for the copy of a batch that it uses") {
  Bench bench(endless(MemoryKind::cuda_ipc), {.copy_us = 100'000});
  CHECK(bench.trains([&](const Loaded& driver) {
    const Loader loader = attach_in_child(early_options(bench));
    const Batch batch = next_in_child(loader);
    struct Seen {
      const spdld_batch* batch;
      std::atomic<int> intact{0};
    };
    Seen seen[2] = {{batch.get(), {}}, {batch.get(), {}}};
    const auto look = [](void* to) {
      if (is_intact(static_cast<Seen*>(to)->batch)) ++static_cast<Seen*>(to)->intact;
    };
    const auto take = [&](Seen& by) {
      RESULT(SPDLD_OK, spdld_batch_use(batch.get(), abi::per_thread_stream()));
      GOOD(driver.cuLaunchHostFunc(abi::per_thread_stream(), look, &by));
      GOOD(driver.cuStreamSynchronize(abi::per_thread_stream()));
    };
    abi::Context context = nullptr;
    GOOD(driver.cuCtxPopCurrent(&context));
    GOOD(driver.cuCtxPushCurrent(context));
    std::thread other([&] {
      GOOD(driver.cuCtxPushCurrent(context));
      take(seen[1]);
    });
    take(seen[0]);
    other.join();
    MUST(seen[0].intact == 1 && seen[1].intact == 1);
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("what a stream needs is kept until its work on the batch is done, and is dropped once") {
  Bench bench(endless(MemoryKind::cuda_vmm));
  CHECK(bench.trains([&](const Loaded& driver) {
    struct Owner {
      const Loaded& driver;
      abi::Stream stream;
      std::atomic<int> drops{0};
      static void drop(void* self) {
        Owner& owner = *static_cast<Owner*>(self);
        if (++owner.drops == 1) GOOD(owner.driver.cuStreamDestroy(owner.stream));
      }
    } owner{driver, make_stream(driver), {}};
    std::atomic<int> others{0};
    const auto count = [](void* number) { ++*static_cast<std::atomic<int>*>(number); };
    const Loader loader = attach_in_child(bench.options());
    Gate gate;
    Batch batch = next_in_child(loader);
    RESULT(SPDLD_OK, spdld_batch_use_kept(batch.get(), owner.stream, &owner, &Owner::drop));
    RESULT(SPDLD_OK, spdld_batch_use_kept(batch.get(), owner.stream, &others, count));  // needed no more
    MUST(owner.drops == 0 && others == 1);
    RESULT(SPDLD_INVALID, spdld_batch_use_kept(nullptr, owner.stream, &others, count));
    MUST(others == 2);
    RESULT(SPDLD_INVALID, spdld_batch_use_kept(batch.get(), owner.stream, &others, nullptr));
    gate.close(driver, owner.stream);
    driver.set_capturing(owner.stream, true);
    batch.reset();
    next_in_child(loader).reset();
    MUST(is_released(bench, 1) && owner.drops == 0);  // the capture may go on long
    driver.set_capturing(owner.stream, false);
    spdld_tell(nullptr, nullptr, nullptr);
    MUST(owner.drops == 0);
    gate.open();
    MUST(is_released(bench, 2));
    const Stopwatch stopwatch;
    while (owner.drops == 0 && stopwatch.ms() < 5000) spdld_tell(nullptr, nullptr, nullptr);
    MUST(owner.drops == 1 && others == 2);
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("a stream that was destroyed too early is named as the fault") {
  Bench bench(endless(MemoryKind::cuda_vmm));
  CHECK(runs_well(bench.cuda, [&](const Loaded& driver) {
    driver.start();
    const Loader loader = attach_in_child(bench.options());
    Batch batch = next_in_child(loader);
    const abi::Stream stream = make_stream(driver);
    RESULT(SPDLD_OK, spdld_batch_use(batch.get(), stream));
    GOOD(driver.cuStreamDestroy(stream));
    batch.reset();
    RESULT(SPDLD_FAILED, next_result(loader));
    MUST(error_says("a stream of the batch was destroyed"));
  }));
  CHECK(bench.breaches() != "");
}

TEST_CASE("batches are handed out early by handles alone, since events cross no namespace") {
  for (const char* transport : {"fd", "auto", static_cast<const char*>(nullptr)}) {
    Bench bench(endless(MemoryKind::cuda_vmm));
    CHECK(bench.trains([&](const Loaded&) {
      spdld_attach_options options = early_options(bench);
      options.transport = transport;
      const Loader loader = attach_in_child(options);
      spdld_info info = {};
      info.struct_size = sizeof info;
      RESULT(SPDLD_OK, spdld_get_info(loader.get(), &info));
      MUST(info.ready_early == 0 && bench.daemon.counts().ready_early == 0);
      MUST(is_intact(next_in_child(loader).get()));
    }));
    CHECK(bench.cuda.calls("cuIpcOpenEventHandle") == 0);
    CHECK(bench.breaches() == "");
  }
}

TEST_CASE("a batch whose copy died with its daemon is dropped, and comes from the next daemon") {
  Bench bench(endless(MemoryKind::cuda_ipc), {.copy_us = 4'000'000});
  const std::string second_socket = bench.folder.path() + "/second";
  const GpuDaemon second(bench.cuda, second_socket, endless(MemoryKind::cuda_ipc));
  CHECK(bench.trains([&](const Loaded&) {
    const Loader loader = attach_in_child(early_options(bench));
    MUST(bench.daemon.wait_until([](const GpuCounts& counts) { return counts.batches >= 1; }));
    kill_and_wait(bench.daemon.pid());
    std::filesystem::rename(second_socket, bench.socket);
    const Batch batch = next_in_child(loader, 8000);
    MUST(first_id(batch) != 0 || second.counts().batches > 0);
    RESULT(SPDLD_OK, spdld_batch_wait(batch.get()));
    MUST(is_intact(batch.get()) && first_id(batch) == 0);
    MUST(second.counts().attaches == 1);
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("a batch in hand whose copy died with its daemon is an error, to be met in time") {
  Bench bench(endless(MemoryKind::cuda_ipc), {.copy_us = 4'000'000});
  CHECK(runs_well(bench.cuda, [&](const Loaded& driver) {
    driver.start();
    const Loader loader = attach_in_child(early_options(bench));
    const Batch batch = next_in_child(loader);
    const abi::Stream stream = make_stream(driver);
    kill_and_wait(bench.daemon.pid());
    const Stopwatch stopwatch;
    RESULT(SPDLD_FAILED, spdld_batch_use(batch.get(), stream));
    MUST(error_says("the daemon has ended"));
    RESULT(SPDLD_FAILED, spdld_batch_wait(batch.get()));
    MUST(error_says("the daemon has ended"));
    MUST(stopwatch.ms() < 8000);
    GOOD(driver.cuStreamSynchronize(stream));  // nothing waits on it
  }));
  CHECK(bench.breaches() == "");
}

}  // namespace spdld::gpu_stream_test
