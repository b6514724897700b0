// A replay over GPU memory: several batches of one slot are held, streams work on the slot, and the lease ends when the
// streams are done.
#include "tests/client/gpu_session.h"

namespace spdld::gpu_replay_test {

using namespace spdld;
using namespace spdld::test;

namespace {

spdld_attach_options replaying(spdld_attach_options options) {
  options.replay = 2;
  return options;
}

}  // namespace

TEST_CASE("a replay over each kind of memory, on two streams, to the end") {
  for (const proto::MemoryKind kind : kGpuKinds) {
    FakeScript script = script_of(kind);
    script.epochs = 4;
    Bench bench(script);
    CHECK(bench.trains([&](const Loaded& driver) {
      Loader loader = attach_in_child(replaying(bench.options()));
      const abi::Stream streams[] = {make_stream(driver), make_stream(driver)};
      int64_t steps = 0;
      for (;;) {
        spdld_batch* raw = nullptr;
        const spdld_result result = spdld_next(loader.get(), 5000, &raw);
        const Batch batch(raw);
        if (result == SPDLD_END) break;
        if (result == SPDLD_END_OF_EPOCH) continue;
        must_give(result, SPDLD_OK, "next");
        MUST(first_id(batch) == steps % 2 * 4);
        RESULT(SPDLD_OK, spdld_batch_use(batch.get(), streams[steps / 2 % 2]));
        ++steps;
      }
      MUST(steps == 20);
      MUST(bench.daemon.wait_until([](const GpuCounts& counts) { return counts.releases == 0; }));
      Gate gate;
      gate.close(driver, streams[0]);
      std::thread opener([&] { gate.open(); });
      loader.reset();
      opener.join();
      MUST(bench.daemon.wait_until([](const GpuCounts& counts) { return counts.detaches == 1; }));
    }));
  }
}

TEST_CASE("a daemon that ends takes the memory of its handles along, and no other memory") {
  for (const proto::MemoryKind kind : kGpuKinds) {
    FakeScript script = script_of(kind);
    script.epochs = 0;
    Bench bench(script);
    CHECK(bench.trains([&](const Loaded&) {
      const Loader loader = attach_in_child(replaying(bench.options()));
      for (int i = 0; i < 3; ++i) next_in_child(loader);
      ::kill(bench.daemon.pid(), SIGKILL);
      if (kind == proto::MemoryKind::cuda_ipc) {
        const Stopwatch stopwatch;  // until the process is gone
        spdld_result result = SPDLD_OK;
        while (result != SPDLD_NO_DAEMON && stopwatch.ms() < 5000) result = next_result(loader);
        must_give(result, SPDLD_NO_DAEMON, "next");
        MUST(error_says("attach anew"));
      } else {
        MUST(first_id(next_in_child(loader)) == 4);
      }
    }));
  }
}

}  // namespace spdld::gpu_replay_test
