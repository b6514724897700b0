// Several threads and several loaders of one process: what a free-threaded Python does, in terms that a sanitizer sees.
#include <array>
#include <thread>

#include "tests/client/session.h"

using namespace spdld;
using namespace spdld::test;

namespace {

constexpr int kLoaders = 2;

// Counts the intact batches until the loader's end; negative: a call failed.
int run_to_the_end(const Loader& loader) {
  int intact = 0;
  for (int i = 0; i < 10'000; ++i) {
    spdld_batch* raw = nullptr;
    const spdld_result result = spdld_next(loader.get(), 5000, &raw);
    const Batch batch(raw);
    if (result == SPDLD_END) return intact;
    if (result == SPDLD_END_OF_EPOCH) continue;
    if (result != SPDLD_OK) return result;
    intact += is_intact(batch.get()) ? 1 : 0;
  }
  return SPDLD_INTERNAL;
}

}  // namespace

TEST_CASE("two threads attach, each its own loader, and take every batch of it") {
  FakeScript script;
  script.steps_per_epoch = 300;
  std::array<Folder, kLoaders> folders;
  std::array<std::unique_ptr<FakeDaemon>, kLoaders> daemons;
  for (int i = 0; i < kLoaders; ++i) daemons[i] = std::make_unique<FakeDaemon>(folders[i].socket(), script);
  std::array<int, kLoaders> intact = {};
  std::array<std::thread, kLoaders> threads;
  for (int i = 0; i < kLoaders; ++i) {
    threads[i] = std::thread([&, i] {
      const std::string socket = folders[i].socket();
      const spdld_attach_options options = options_for(socket);
      spdld_loader* loader = nullptr;
      intact[i] = spdld_attach(&options, &loader);
      if (intact[i] == SPDLD_OK) intact[i] = run_to_the_end(Loader(loader));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : intact) CHECK(count == 600);
}

TEST_CASE("a thread's error is its own, while another thread's calls succeed and fail otherwise") {
  Attached attached;
  const Folder nowhere;
  const std::string socket = nowhere.socket();
  bool was_own = true;
  std::thread other([&] {
    spdld_attach_options options = options_for(socket);
    options.reconnect_ms = -1;
    for (int i = 0; i < 50; ++i) {
      spdld_loader* none = nullptr;
      was_own &= spdld_attach(&options, &none) == SPDLD_NO_DAEMON;
      was_own &= std::string(spdld_last_error()).find(socket) != std::string::npos;
    }
  });
  const int intact = run_to_the_end(attached.loader);
  const spdld_result refused = spdld_seek(attached.loader.get(), 99, 0);
  const std::string sentence = spdld_last_error();
  other.join();
  CHECK(intact == 10);
  CHECK(was_own);
  CHECK(refused != SPDLD_OK);
  CHECK(sentence.find(socket) == std::string::npos);
}
