#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/client/session.h"

namespace spdld::release_test {

using namespace spdld;
using namespace spdld::test;

namespace {

// Takes from a small bounded place that the loader's thread fills.
class Hand {
 public:
  void put(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return batches_.size() < 2; });
    batches_.push_back(std::move(batch));
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  Batch take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !batches_.empty(); });
    if (batches_.empty()) return {};
    Batch batch = std::move(batches_.back());
    batches_.pop_back();
    changed_.notify_all();
    return batch;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Batch> batches_;
  bool closed_ = false;
};

}  // namespace

TEST_CASE("batches are given back from four threads while the next are awaited, each once") {
  FakeScript script;
  script.slot_count = 8;  // two wait in the hand, four are with the threads, one is on its way
  script.steps_per_epoch = 500;
  Attached attached(script);
  Hand hand;
  std::atomic<int> intact{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (const Batch batch = hand.take()) intact += is_intact(batch.get()) ? 1 : 0;
    });
  }
  spdld_result result = SPDLD_OK;
  for (int i = 0; i < 10'000 && result != SPDLD_END; ++i) {
    spdld_batch* batch = nullptr;
    result = spdld_next(attached.loader.get(), 5000, &batch);
    if (result == SPDLD_OK) hand.put(Batch(batch));
    if (result < 0) break;
  }
  hand.close();
  for (std::thread& thread : threads) thread.join();
  CHECK(result == SPDLD_END);
  CHECK(intact == 1000);
  CHECK(attached.daemon.wait_until([](const FakeCounts& counts) { return counts.releases == 1000; }));
  CHECK(attached.daemon.counts().wrong_releases == 0);
}

TEST_CASE("a batch goes back with its last reference") {
  Attached attached;
  spdld_batch* batch = next(attached.loader).release();
  spdld_batch_retain(batch);
  spdld_batch_release(batch);
  CHECK(is_intact(batch));
  CHECK(attached.daemon.counts().releases == 0);
  spdld_batch_release(batch);
  CHECK(attached.daemon.wait_until([](const FakeCounts& counts) { return counts.releases == 1; }));
}

TEST_CASE("who holds every batch is told so instead of waiting for ever") {
  Attached attached;
  std::vector<Batch> held;
  for (int i = 0; i < 3; ++i) held.push_back(next(attached.loader));
  CHECK(next_result(attached.loader, -1) == SPDLD_LIMIT);
  CHECK(std::string(spdld_last_error()).find("all 3 batches") != std::string::npos);
  held.erase(held.begin());
  CHECK(number_of(next(attached.loader)) == 3);
}

TEST_CASE("batches that are all held are waited for, where another thread gives one back") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.held_wait_ms = 0;  // as long as another thread may need
  const Loader loader = attach(options);
  std::vector<Batch> held;
  for (int i = 0; i < 3; ++i) held.push_back(next(loader));
  std::atomic<bool> waits{false};
  std::thread other([&] {
    while (!waits) std::this_thread::yield();
    held.pop_back();
  });
  CHECK(next_result(loader, 0) == SPDLD_TIMEOUT);
  CHECK(next_result(loader, 20) == SPDLD_TIMEOUT);
  CHECK(std::string(spdld_last_error()).find("held_max or prefetch_depth under [batch]") != std::string::npos);
  waits = true;
  CHECK(number_of(next(loader, -1)) == 3);
  other.join();
}

TEST_CASE("the wait for a batch that is held has an end") {
  Folder folder;
  FakeScript script;
  script.steps_per_epoch = 50;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.held_wait_ms = 120;
  const Loader loader = attach(options);
  std::vector<Batch> held;
  for (int i = 0; i < 3; ++i) held.push_back(next(loader));
  const Stopwatch stopwatch;
  CHECK(next_result(loader, 50) == SPDLD_TIMEOUT);  // short calls share the wait
  CHECK(next_result(loader, -1) == SPDLD_LIMIT);
  CHECK(stopwatch.ms() >= 120);
  CHECK(stopwatch.ms() < 2000);
  CHECK(next_result(loader, 0) == SPDLD_LIMIT);
  held.clear();
  for (int i = 0; i < 2; ++i) held.push_back(next(loader));
  held.push_back(next(loader));
  CHECK(next_result(loader, 0) == SPDLD_TIMEOUT);  // another wait
  const spdld_info info = info_of(loader);
  CHECK(info.held == 3);
  CHECK(info.held_max == 3);
}

TEST_CASE("a signal ends the wait for a batch that is held") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.held_wait_ms = 60'000;
  const Loader loader = attach(options);
  std::vector<Batch> held;
  for (int i = 0; i < 3; ++i) held.push_back(next(loader));
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  struct sigaction before = {};
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  const pthread_t waiting = ::pthread_self();
  std::atomic<bool> done{false};
  std::thread sender([&] {
    while (!done) {
      ::pthread_kill(waiting, SIGUSR1);
      std::this_thread::yield();
    }
  });
  CHECK(next_result(loader, -1) == SPDLD_INTERRUPTED);
  done = true;
  sender.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("a process of one thread that holds every batch is told so at once") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  const pid_t child = ::fork();
  if (child == 0) {
    spdld_attach_options options = options_for(socket);
    options.held_wait_ms = 0;
    spdld_loader* loader = nullptr;
    if (spdld_attach(&options, &loader) != SPDLD_OK) ::_exit(2);
    spdld_batch* batch = nullptr;
    for (int i = 0; i < 3; ++i)
      if (spdld_next(loader, 5000, &batch) != SPDLD_OK) ::_exit(3);
    const Stopwatch stopwatch;
    const spdld_result result = spdld_next(loader, -1, &batch);
    ::_exit(result == SPDLD_LIMIT && stopwatch.ms() < 2000 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("batches outlive the loader, which says what it keeps and gives the rest back") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  Loader loader = attach(options_for(socket));
  Batch first = next(loader);
  Batch second = next(loader);
  loader.reset();
  REQUIRE(daemon.wait_until([](const FakeCounts& counts) { return counts.detaches == 1; }));
  CHECK(daemon.counts().kept_leases == 2);
  CHECK(daemon.counts().open_sessions == 1);
  CHECK(number_of(first) == 0);
  CHECK(number_of(second) == 1);
  first.reset();
  second.reset();
  CHECK(daemon.wait_until([](const FakeCounts& counts) { return counts.open_sessions == 0; }));
}

TEST_CASE("a loader without batches ends its session") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  Loader loader = attach(options_for(socket));
  next(loader);
  loader.reset();
  CHECK(daemon.wait_until([](const FakeCounts& counts) { return counts.open_sessions == 0; }));
  CHECK(daemon.counts().kept_leases == 0);
}

TEST_CASE("batches outlive the daemon, and giving them back does no harm") {
  Folder folder;
  Batch held;
  {
    const FakeDaemon daemon(folder.socket(), {});
    const std::string socket = folder.socket();
    held = next(attach(options_for(socket)));
  }
  CHECK(number_of(held) == 0);
}

TEST_CASE("a forked child can do nothing to its parent's loader") {
  Attached attached;
  Batch batch = next(attached.loader);
  const pid_t child = ::fork();
  if (child == 0) {
    spdld_batch* other = nullptr;
    spdld_batch_info info = {};
    info.struct_size = sizeof info;
    uint64_t epoch = 0, step = 0;
    bool right = spdld_next(attached.loader.get(), 0, &other) == SPDLD_FORKED;
    right = right && spdld_seek(attached.loader.get(), 0, 0) == SPDLD_FORKED;
    right = right && spdld_tell(attached.loader.get(), &epoch, &step) == SPDLD_FORKED;
    right = right && spdld_batch_get_info(batch.get(), &info) == SPDLD_FORKED;
    right = right && spdld_poll_fd(attached.loader.get()) == -1;
    spdld_batch_release(batch.get());
    spdld_detach(attached.loader.get());
    ::_exit(right ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(is_intact(batch.get()));
  batch.reset();
  REQUIRE(attached.daemon.wait_until([](const FakeCounts& counts) { return counts.releases == 1; }));
  CHECK(number_of(next(attached.loader)) == 1);
  CHECK(attached.daemon.counts().wrong_releases == 0);
  CHECK(attached.daemon.counts().detaches == 0);
}

TEST_CASE("a signal ends the wait") {
  FakeScript script;
  script.sends_batches = false;
  Attached attached(script);
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  struct sigaction before = {};
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  const pthread_t waiting = ::pthread_self();
  std::atomic<bool> done{false};
  std::thread sender([&] {  // one before the wait begins would be lost: sends until it is seen
    while (!done) {
      ::pthread_kill(waiting, SIGUSR1);
      std::this_thread::yield();
    }
  });
  CHECK(next_result(attached.loader, 5000) == SPDLD_INTERRUPTED);
  done = true;
  sender.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace spdld::release_test
