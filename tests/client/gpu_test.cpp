// Batches on a GPU and in pinned memory: their pixels, and that a slot goes back behind the GPU's work and no earlier.
#include <atomic>
#include <bit>

#include "proto/cuda/driver.h"
#include "tests/client/gpu_session.h"
#include "tests/support/ragged_batches.h"

namespace spdld::gpu_test {

using namespace spdld;
using namespace spdld::test;

namespace {

spdld_info info_in_child(const Loader& loader) {
  spdld_info info = {};
  info.struct_size = sizeof info;
  RESULT(SPDLD_OK, spdld_get_info(loader.get(), &info));
  return info;
}

// Something that the daemon answers after all that it was sent before.
void round_trip(const Bench& bench) {
  char* json = nullptr;
  RESULT(SPDLD_OK, spdld_query(bench.socket.c_str(), "ping", nullptr, 5000, &json));
  spdld_free(json);
}

void must_have_releases(const Bench& bench, uint64_t wanted) {
  MUST(bench.daemon.wait_until([wanted](const GpuCounts& counts) { return counts.releases >= wanted; }));
  MUST(bench.daemon.counts().releases == wanted);
}

FakeScript endless(proto::MemoryKind memory) {
  FakeScript script = script_of(memory);
  script.epochs = 0;
  script.steps_per_epoch = 1'000'000;
  return script;
}

}  // namespace

TEST_CASE("ragged and padded batches in each kind of memory") {
  for (const proto::MemoryKind kind : kGpuKinds) {
    FakeScript script = ragged_script();
    script.memory = kind;
    Bench bench(script, {});
    CHECK(bench.trains([&](const Loaded&) {
      const Loader loader = attach_in_child(bench.options());
      for (uint64_t number = 0; number < 5; ++number) {
        const Batch batch = next_in_child(loader);
        RESULT(SPDLD_OK, spdld_batch_wait(batch.get()));
        spdld_tensor values = no_tensor(), offsets = no_tensor(), text = no_tensor();
        RESULT(SPDLD_OK, spdld_batch_find(batch.get(), "boxes", &values));
        RESULT(SPDLD_OK, spdld_batch_find_part(batch.get(), "boxes", SPDLD_OFFSETS, &offsets));
        RESULT(SPDLD_OK, spdld_batch_find(batch.get(), "text", &text));
        MUST(values.shape[0] == boxes_in(number, 4) && offsets.shape[0] == 5);
        MUST(static_cast<const int64_t*>(offsets.address)[4] == values.shape[0]);
        const auto last = static_cast<size_t>(2 * values.shape[0] - 1);
        MUST(static_cast<const float*>(values.address)[last] == static_cast<float>(100 * number + last));
        MUST(text.shape[1] == static_cast<int64_t>(number + 4));
      }
    }));
    CHECK(bench.breaches() == "");
  }
}

TEST_CASE("offsets are checked where the host can read them, and in GPU memory only their places are") {
  for (const proto::MemoryKind kind : kGpuKinds) {
    FakeScript script = ragged_script();
    script.memory = kind;
    script.write = [](unsigned char* slot, uint64_t) { std::memset(slot + kRaggedOffsets, 0x7f, 40); };
    Bench bench(script, {});
    CHECK(bench.trains([&](const Loaded&) {
      const Loader loader = attach_in_child(bench.options());
      MUST(next_result(loader) == (kind == proto::MemoryKind::pinned ? SPDLD_INTERNAL : SPDLD_OK));
    }));
  }
}

TEST_CASE("a whole run over each kind of memory, with the pixels as they were made") {
  for (const proto::MemoryKind kind : kGpuKinds) {
    Bench bench(script_of(kind), {.devices = 2});
    CHECK(bench.trains([&](const Loaded& driver) {
      spdld_attach_options options = bench.options();
      options.local_rank = kind == proto::MemoryKind::pinned ? 1 : 0;
      const Loader loader = attach_in_child(options);
      const spdld_info info = info_in_child(loader);
      MUST(static_cast<int>(info.memory) == static_cast<int>(kind));
      MUST(info.device == static_cast<int>(options.local_rank));
      MUST(std::string(info.gpu).substr(0, 4) == "GPU-");
      MUST(info.ready_early == 0);
      const abi::Stream stream = make_stream(driver);
      for (int64_t number = 0; number < 10; ++number) {
        const Batch batch = next_in_child(loader);
        spdld_batch_info about = {};
        about.struct_size = sizeof about;
        RESULT(SPDLD_OK, spdld_batch_get_info(batch.get(), &about));
        MUST(about.memory == info.memory && about.device == info.device);
        RESULT(SPDLD_OK, spdld_batch_use(batch.get(), kind == proto::MemoryKind::pinned ? nullptr : stream));
        RESULT(SPDLD_OK, spdld_batch_wait(batch.get()));
        MUST(is_intact(batch.get()) && first_id(batch) == 4 * number);
        spdld_batch* none = nullptr;
        if (number % 5 == 4) RESULT(SPDLD_END_OF_EPOCH, spdld_next(loader.get(), 5000, &none));
      }
      MUST(next_result(loader) == SPDLD_END);
      const GpuCounts counts = bench.daemon.counts();
      MUST(counts.gpus == 2 && counts.fd_gpus == 2 && counts.wrong_releases == 0);
      MUST(cuda::to_text(std::bit_cast<cuda::abi::Uuid>(counts.first_gpu)) == info.gpu || info.device == 1);
      GOOD(driver.cuStreamDestroy(stream));
    }));
    CHECK(bench.breaches() == "");
  }
}

TEST_CASE("what was asked of GPUs is sent, and the driver is left alone where it was not") {
  Bench bench(FakeScript{}, {.devices = 3});
  CHECK(runs_well(bench.cuda, [&](const Loaded&) {
    spdld_attach_options options = bench.options();
    options.device = "cuda:2";
    options.transport = "handle";
    options.experimental_ready_early = 1;
    options.local_rank = 7;
    attach_in_child(options);
    const GpuCounts counts = bench.daemon.counts();
    MUST(std::string(counts.device) == "cuda:2" && counts.gpus == 3 && counts.ready_early == 1);
    MUST(counts.transport == static_cast<uint64_t>(proto::Transport::handle) && counts.local_rank == 7);
  }));
  const uint64_t before = bench.cuda.calls("cuInit");
  CHECK(runs_well(bench.cuda, [&](const Loaded&) {
    round_trip(bench);
    spdld_attach_options options = bench.options();
    options.device = "cpu";
    const Loader loader = attach_in_child(options);
    MUST(bench.daemon.counts().gpus == 0);
    RESULT(SPDLD_OK, spdld_batch_use(next_in_child(loader).get(), nullptr));
    MUST(info_in_child(loader).memory == SPDLD_HOST && info_in_child(loader).device == -1);
    MUST(std::string(info_in_child(loader).gpu).empty());
  }));
  CHECK(bench.cuda.calls("cuInit") == before);
}

TEST_CASE("a slot goes back behind the streams' work, without any further call") {
  for (const proto::MemoryKind kind : kGpuKinds) {
    Bench bench(endless(kind));
    CHECK(bench.trains([&](const Loaded& driver) {
      const Loader loader = attach_in_child(bench.options());
      const abi::Stream streams[] = {make_stream(driver), make_stream(driver)};
      Gate gates[2];
      Batch busy = next_in_child(loader);
      for (int i = 0; i < 2; ++i) {
        RESULT(SPDLD_OK, spdld_batch_use(busy.get(), streams[i]));
        RESULT(SPDLD_OK, spdld_batch_use(busy.get(), streams[i]));  // once is enough
        gates[i].close(driver, streams[i]);
      }
      busy.reset();
      next_in_child(loader).reset();  // on no stream that works
      must_have_releases(bench, 1);
      gates[0].open();
      GOOD(driver.cuStreamSynchronize(streams[0]));
      round_trip(bench);
      must_have_releases(bench, 1);
      gates[1].open();
      must_have_releases(bench, 2);
      for (const abi::Stream stream : streams) GOOD(driver.cuStreamDestroy(stream));
    }));
    CHECK(bench.breaches() == "");
  }
}

TEST_CASE("where no stream was named, a slot waits for the legacy default stream") {
  Bench bench(endless(proto::MemoryKind::cuda_vmm));
  CHECK(bench.trains([&](const Loaded& driver) {
    const Loader loader = attach_in_child(bench.options());
    const abi::Stream other = make_stream(driver);
    Gate gate;
    gate.close(driver, nullptr);
    next_in_child(loader).reset();
    Batch free = next_in_child(loader);
    RESULT(SPDLD_OK, spdld_batch_use(free.get(), other));
    free.reset();
    must_have_releases(bench, 1);
    gate.open();
    must_have_releases(bench, 2);
    GOOD(driver.cuStreamDestroy(other));
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("batches that are all held are a limit, and batches on their way are waited for") {
  Bench bench(endless(proto::MemoryKind::cuda_ipc));
  CHECK(bench.trains([&](const Loaded& driver) {
    const Loader loader = attach_in_child(bench.options());
    const abi::Stream stream = make_stream(driver);
    Gate gate;
    std::vector<Batch> held;
    for (int i = 0; i < 3; ++i) held.push_back(next_in_child(loader));
    for (const Batch& batch : held) RESULT(SPDLD_OK, spdld_batch_use(batch.get(), stream));
    RESULT(SPDLD_LIMIT, next_result(loader));
    gate.close(driver, stream);
    held.clear();
    RESULT(SPDLD_TIMEOUT, next_result(loader, 150));
    RESULT(SPDLD_TIMEOUT, next_result(loader, 0));
    std::thread opener([&] { gate.open(); });
    const Batch batch = next_in_child(loader, -1);
    opener.join();
    MUST(first_id(batch) == 12 && is_intact(batch.get()));
    GOOD(driver.cuStreamDestroy(stream));
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("a stream that is being captured is asked again at a later call") {
  Bench bench(endless(proto::MemoryKind::cuda_vmm));
  CHECK(bench.trains([&](const Loaded& driver) {
    const Loader loader = attach_in_child(bench.options());
    const abi::Stream stream = make_stream(driver);
    std::vector<Batch> held;
    for (int i = 0; i < 3; ++i) held.push_back(next_in_child(loader));
    for (const Batch& batch : held) RESULT(SPDLD_OK, spdld_batch_use(batch.get(), stream));
    driver.set_capturing(stream, true);
    held.clear();
    RESULT(SPDLD_LIMIT, next_result(loader, -1));  // the capture may be this thread's to end
    MUST(error_says("capture"));
    MUST(bench.daemon.counts().releases == 0);
    driver.set_capturing(stream, false);
    uint64_t epoch = 0, step = 0;
    RESULT(SPDLD_OK, spdld_tell(loader.get(), &epoch, &step));
    must_have_releases(bench, 3);
    MUST(first_id(next_in_child(loader)) == 12);
    GOOD(driver.cuStreamDestroy(stream));
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("a batch that is ready early is read behind its copy") {
  Bench bench(endless(proto::MemoryKind::cuda_ipc), {.copy_us = 100'000});
  CHECK(bench.trains([&](const Loaded& driver) {
    spdld_attach_options options = bench.options();
    options.transport = "handle";
    options.experimental_ready_early = 1;
    const Loader loader = attach_in_child(options);
    MUST(info_in_child(loader).ready_early == 1);
    const abi::Stream stream = make_stream(driver);
    Batch first = next_in_child(loader), second = next_in_child(loader);
    MUST(!is_intact(second.get()));
    struct Seen {
      spdld_batch* batch;
      bool intact;
    } seen{first.get(), false};
    RESULT(SPDLD_OK, spdld_batch_use(first.get(), stream));
    const auto look = [](void* to) { static_cast<Seen*>(to)->intact = is_intact(static_cast<Seen*>(to)->batch); };
    GOOD(driver.cuLaunchHostFunc(stream, look, &seen));
    driver.set_capturing(stream, true);
    RESULT(SPDLD_UNSUPPORTED, spdld_batch_use(second.get(), stream));
    MUST(error_says("spdld_batch_wait"));
    driver.set_capturing(stream, false);
    RESULT(SPDLD_OK, spdld_batch_wait(second.get()));
    MUST(is_intact(second.get()));
    RESULT(SPDLD_OK, spdld_batch_wait(second.get()));
    driver.set_capturing(stream, true);
    RESULT(SPDLD_OK, spdld_batch_use(second.get(), stream));
    driver.set_capturing(stream, false);
    GOOD(driver.cuStreamSynchronize(stream));
    MUST(seen.intact);
    first.reset(), second.reset();
    must_have_releases(bench, 2);
    GOOD(driver.cuStreamDestroy(stream));
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("a batch has so many streams and no more") {
  Bench bench(endless(proto::MemoryKind::cuda_vmm));
  CHECK(bench.trains([&](const Loaded& driver) {
    const Loader loader = attach_in_child(bench.options());
    Batch batch = next_in_child(loader);
    std::vector<abi::Stream> streams;
    for (int i = 0; i < 65; ++i) streams.push_back(make_stream(driver));
    for (int i = 0; i < 64; ++i) RESULT(SPDLD_OK, spdld_batch_use(batch.get(), streams[i]));
    RESULT(SPDLD_LIMIT, spdld_batch_use(batch.get(), streams[64]));
    RESULT(SPDLD_OK, spdld_batch_use(batch.get(), streams[0]));
    batch.reset();
    must_have_releases(bench, 1);
    for (const abi::Stream stream : streams) GOOD(driver.cuStreamDestroy(stream));
  }));
  CHECK(bench.breaches() == "");
}

TEST_CASE("four threads use and release batches on streams of their own while the next are awaited") {
  FakeScript script = endless(proto::MemoryKind::cuda_ipc);
  script.slot_count = 8;
  Bench bench(script, {.copy_us = 20});
  CHECK(bench.trains([&](const Loaded& driver) {
    const Loader loader = attach_in_child(bench.options());
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Batch> hand;
    bool closed = false;
    std::atomic<int> intact{0};
    std::vector<std::thread> threads;
    std::vector<abi::Stream> streams;
    for (int i = 0; i < 4; ++i) streams.push_back(make_stream(driver));
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (;;) {
          std::unique_lock lock(mutex);
          changed.wait(lock, [&] { return closed || !hand.empty(); });
          if (hand.empty()) return;
          const Batch batch = std::move(hand.back());
          hand.pop_back();
          changed.notify_all();
          lock.unlock();
          if (spdld_batch_use(batch.get(), streams[i]) == SPDLD_OK && is_intact(batch.get())) ++intact;
        }
      });
    }
    for (int i = 0; i < 400; ++i) {
      Batch batch = next_in_child(loader);
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return hand.size() < 2; });
      hand.push_back(std::move(batch));
      changed.notify_all();
    }
    {
      const std::lock_guard lock(mutex);
      closed = true;
      changed.notify_all();
    }
    for (std::thread& thread : threads) thread.join();
    MUST(intact == 400);
    must_have_releases(bench, 400);
    MUST(bench.daemon.counts().wrong_releases == 0);
    for (const abi::Stream stream : streams) GOOD(driver.cuStreamDestroy(stream));
  }));
  CHECK(bench.breaches() == "");
}

}  // namespace spdld::gpu_test
