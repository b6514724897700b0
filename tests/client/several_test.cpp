// Several loaders of one process: each is a job of its own, and they share a bound on the memory that they take.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "tests/client/session.h"

using namespace spdld;
using namespace spdld::test;

namespace {

std::string group_of(const Loader& loader) { return info_of(loader).group; }

// A job of this daemon whose loaders name no group.
struct Unnamed {
  explicit Unnamed(FakeScript script = {}) : daemon(folder.socket(), std::move(script)), socket(folder.socket()) {}
  Loader loader(const char* pipeline = "p", uint32_t reader = 0) const {
    spdld_attach_options options = options_for(socket);
    options.group = nullptr;
    options.world_size = 0;
    options.pipeline = pipeline;
    options.reader = reader, options.readers = reader + 1;
    return attach(options);
  }
  bool has_sessions(uint64_t count) const {
    return daemon.wait_until([count](const FakeCounts& counts) { return counts.open_sessions == count; });
  }

  Folder folder;
  const FakeDaemon daemon;
  const std::string socket;
};

// torchrun's variables of rank 0 of 2.
struct Launched {
  Variable run{"TORCHELASTIC_RUN_ID", "run7"}, rank{"RANK", "0"}, world_size{"WORLD_SIZE", "2"};
};

}  // namespace

TEST_CASE("loaders of a process without a launcher are jobs of their own, also in a forked child") {
  const Unnamed unnamed;
  std::vector<Loader> loaders;
  std::set<std::string> groups;
  for (int i = 0; i < 3; ++i) groups.insert(group_of(loaders.emplace_back(unnamed.loader())));
  CHECK(groups.size() == 3);
  for (const std::string& group : groups) CHECK(group.find("pid:" + std::to_string(::getpid())) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Loader loader = unnamed.loader();
    const std::string group = group_of(loader);
    const bool first =
        group.find("pid:" + std::to_string(::getpid()) + "@") == 0 && group.find('#') == std::string::npos;
    ::_exit(first ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("under a launcher the n-th loader of a pipeline is the launched job's n-th") {
  const Launched launched;
  const Unnamed unnamed;
  const Loader train = unnamed.loader("train"), validation = unnamed.loader("validation");
  CHECK(group_of(train) == "torchrun:run7");
  CHECK(group_of(validation) == "torchrun:run7");
  CHECK(group_of(unnamed.loader("train")) == "torchrun:run7#2");
  CHECK(group_of(unnamed.loader("train")) == "torchrun:run7#3");   // also where the one before is gone: so in all ranks
  CHECK(group_of(unnamed.loader("train", 1)) == "torchrun:run7");  // a replica has another number
}

TEST_CASE("a launched job's loader that is told to be alone is a job of its own") {
  const Launched launched;
  const Unnamed unnamed;
  spdld_attach_options options = options_for(unnamed.socket);
  options.group = nullptr;
  options.world_size = 1;
  CHECK(group_of(attach(options)).find("pid:") == 0);
}

TEST_CASE("an attach that was refused leaves the name to the next") {
  const Launched launched;
  FakeScript script;
  script.attach_error = proto::ErrorCode::invalid;
  script.attach_errors = 1;
  const Unnamed unnamed(script);
  spdld_attach_options options = options_for(unnamed.socket);
  options.group = nullptr, options.world_size = 0;
  spdld_loader* refused = nullptr;
  CHECK(spdld_attach(&options, &refused) == SPDLD_INVALID);
  CHECK(group_of(unnamed.loader()) == "torchrun:run7");
}

TEST_CASE("a name that this process has by another spelling of the pipeline is passed over") {
  const Launched launched;
  FakeScript script;
  script.attach_error = proto::ErrorCode::conflict;
  script.attach_errors = 0;
  const Unnamed unnamed(script);
  const Loader one = unnamed.loader("one-spelling");
  FakeScript refusing = script;
  refusing.attach_errors = 1;
  // Nobody else of this process has the name of another daemon's job: there the conflict is told.
  const Unnamed other(refusing);
  spdld_attach_options options = options_for(other.socket);
  options.group = nullptr, options.world_size = 2, options.rank = 1;
  spdld_loader* refused = nullptr;
  CHECK(spdld_attach(&options, &refused) == SPDLD_CONFLICT);
  const Unnamed second(refusing);
  CHECK(group_of(second.loader()) == "torchrun:run7#2");
}

TEST_CASE("twenty loaders that are kept have the memory of four, and each goes on at its position") {
  const Unnamed unnamed;
  std::vector<Loader> loaders;
  std::vector<Batch> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(next(loaders.emplace_back(unnamed.loader())));
    held.back().reset();
  }
  CHECK(unnamed.has_sessions(4));
  for (const Loader& loader : loaders) CHECK(number_of(next(loader)) == 1);
  CHECK(unnamed.has_sessions(20));  // those that are used have theirs again
  for (const Loader& loader : loaders) CHECK(numbers_to_the_end(loader) == count_from(2, 10));
}

TEST_CASE("loaders that rest are those used longest ago, and what they hold stays") {
  const Unnamed unnamed;
  std::vector<Loader> loaders;
  for (int i = 0; i < 4; ++i) loaders.push_back(unnamed.loader());
  const Batch held = next(loaders[1]);
  for (const int used : {1, 0, 3, 2}) next(loaders[static_cast<size_t>(used)]);
  const Loader fifth = unnamed.loader();
  REQUIRE(unnamed.daemon.wait_until([](const FakeCounts& counts) { return counts.detaches == 1; }));
  CHECK(unnamed.daemon.counts().kept_leases == 1);  // of the second
  CHECK(number_of(held) == 0);
  uint64_t epoch = 0, step = 0;
  REQUIRE(spdld_tell(loaders[1].get(), &epoch, &step) == SPDLD_OK);
  CHECK(step == 2);
  CHECK(spdld_poll_fd(loaders[1].get()) == -1);
  CHECK(number_of(next(loaders[1])) == 2);
  CHECK(number_of(held) == 0);
  REQUIRE(spdld_seek(loaders[0].get(), 1, 1) == SPDLD_OK);
  CHECK(number_of(next(loaders[0])) == 6);
}

TEST_CASE("a loader that rests comes back also where a daemon that goes away is not waited for") {
  Site site;
  site.options.group = nullptr;
  site.options.reconnect_ms = -1;
  std::vector<Loader> loaders;
  for (int i = 0; i < 5; ++i) next(loaders.emplace_back(attach(site.options)));
  REQUIRE(site.daemon->wait_until([](const FakeCounts& counts) { return counts.detaches == 1; }));
  CHECK(number_of(next(loaders.front())) == 1);
}

TEST_CASE("a loader whose descriptor is waited for keeps its memory") {
  const Unnamed unnamed;
  std::vector<Loader> loaders;
  loaders.push_back(unnamed.loader());
  const int fd = spdld_poll_fd(loaders[0].get());
  CHECK(fd >= 0);
  for (int i = 0; i < 6; ++i) loaders.push_back(unnamed.loader());
  CHECK(spdld_poll_fd(loaders[0].get()) == fd);
  CHECK(unnamed.has_sessions(5));  // and the four that are allowed
}

TEST_CASE("a loader that rests is sought, and its daemon restarted, as any other") {
  Site site;
  std::vector<Loader> loaders;
  site.options.group = nullptr;
  for (int i = 0; i < 6; ++i) next(loaders.emplace_back(attach(site.options)));
  site.daemon.reset();
  std::thread starter([&] { site.begin(); });
  const std::vector<int64_t> numbers = numbers_to_the_end(loaders.front());
  starter.join();
  CHECK(numbers == count_from(1, 10));
}

TEST_CASE("where the daemon has no memory left, what other loaders of the process have is given back first") {
  FakeScript script;
  const Unnamed plenty(script);
  const std::vector<Loader> others = [&] {
    std::vector<Loader> made;
    for (int i = 0; i < 2; ++i) made.push_back(plenty.loader());
    return made;
  }();
  script.attach_error = proto::ErrorCode::limit;
  script.attach_errors = 3;
  const Unnamed tight(script);
  const Loader loader = tight.loader();
  CHECK(plenty.has_sessions(0));
  CHECK(number_of(next(loader)) == 0);
  CHECK(number_of(next(others[0])) == 0);
}

TEST_CASE("loaders are used by their threads while others attach") {
  FakeScript script;
  script.steps_per_epoch = 200;
  const Unnamed unnamed(script);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      spdld_attach_options options = options_for(unnamed.socket);
      options.group = nullptr;
      spdld_loader* raw = nullptr;
      if (spdld_attach(&options, &raw) != SPDLD_OK) return;
      const Loader loader(raw);
      uint64_t count = 0;
      spdld_result result = SPDLD_OK;
      while (result >= SPDLD_OK && result != SPDLD_END) {
        spdld_batch* batch = nullptr;
        result = spdld_next(loader.get(), 5000, &batch);
        if (result == SPDLD_OK) ++count;
        spdld_batch_release(batch);
      }
      right += count == 400 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 6);
}
