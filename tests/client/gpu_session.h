// What tests with GPU batches share. The test's own process never loads the driver: everything of a trainer happens in
// a child, where a breach of MUST says what went wrong and ends it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/client/gpu_daemon.h"
#include "tests/client/session.h"
#include "tests/fake_cuda/child.h"

namespace spdld::test {

inline FakeScript script_of(proto::MemoryKind memory) {
  FakeScript script;
  script.memory = memory;
  return script;
}

inline constexpr proto::MemoryKind kGpuKinds[] = {proto::MemoryKind::cuda_ipc, proto::MemoryKind::cuda_vmm,
                                                  proto::MemoryKind::pinned};

inline void must_give(spdld_result result, spdld_result wanted, const std::string& where) {
  must(result == wanted, where + " gave " + spdld_result_name(result) + " (" + spdld_last_error() + ")");
}
#define RESULT(wanted, expression) \
  ::spdld::test::must_give((expression), (wanted), __FILE__ ":" SPDLD_LINE_OF(__LINE__) ": " #expression)

inline bool error_says(const std::string& words) {
  return std::string(spdld_last_error()).find(words) != std::string::npos;
}

inline Loader attach_in_child(const spdld_attach_options& options) {
  spdld_loader* loader = nullptr;
  RESULT(SPDLD_OK, spdld_attach(&options, &loader));
  return Loader(loader);
}

inline Batch next_in_child(const Loader& loader, int64_t timeout_ms = 5000) {
  spdld_batch* batch = nullptr;
  RESULT(SPDLD_OK, spdld_next(loader.get(), timeout_ms, &batch));
  return Batch(batch);
}

inline int64_t first_id(const Batch& batch) {
  spdld_tensor ids = no_tensor();
  RESULT(SPDLD_OK, spdld_batch_find(batch.get(), "sample_id", &ids));
  return *static_cast<const int64_t*>(ids.address);  // a fake device's address can be read
}

// Work on a stream that lasts until the gate is opened.
class Gate {
 public:
  ~Gate() { open(); }  // else a failed test would wait here
  void close(const Loaded& driver, abi::Stream stream) { GOOD(driver.cuLaunchHostFunc(stream, &Gate::wait, this)); }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  static void wait(void* self) {
    Gate& gate = *static_cast<Gate*>(self);
    std::unique_lock lock(gate.mutex_);
    gate.changed_.wait(lock, [&gate] { return gate.open_; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

inline abi::Stream make_stream(const Loaded& driver) {
  abi::Stream stream = nullptr;
  GOOD(driver.cuStreamCreate(&stream, abi::kStreamNonBlocking));
  return stream;
}

// A fake driver, a daemon on it, and trainers that begin with a context of their own.
struct Bench {
  explicit Bench(FakeScript script, const FakeCudaOptions& options = {})
      : cuda(options), socket(folder.socket()), daemon(cuda, socket, std::move(script)) {}

  // The trainer has what it was lent given back at its end, or it fails.
  bool trains(const std::function<void(const Loaded&)>& body) {
    return runs_well(cuda, [&](const Loaded& driver) {
      driver.start();
      body(driver);
      abi::Context context = nullptr;
      GOOD(driver.cuCtxPopCurrent(&context));
      GOOD(driver.cuDevicePrimaryCtxRelease(0));
      must_own_nothing();
    });
  }
  // What a host function left over goes with some call of the library.
  void must_own_nothing() const {
    FakeCudaLive live;
    const Stopwatch stopwatch;
    do {
      spdld_tell(nullptr, nullptr, nullptr);
      live = cuda.live(::getpid());
      if (live.contexts + live.streams + live.events + live.imports + live.registrations == 0) return;
      std::this_thread::yield();
    } while (stopwatch.ms() < 5000);
    must(false, "left: contexts " + std::to_string(live.contexts) + ", streams " + std::to_string(live.streams) +
                    ", events " + std::to_string(live.events) + ", imports " + std::to_string(live.imports) +
                    ", registrations " + std::to_string(live.registrations));
  }
  spdld_attach_options options() const { return options_for(socket); }
  std::string breaches() const {
    std::string text;
    for (const std::string& one : cuda.violations()) text += one + "\n";
    return text;
  }

  Folder folder;
  FakeCuda cuda;
  const std::string socket;
  GpuDaemon daemon;
};

}  // namespace spdld::test
