// A replay: the first batches come again and again, without the daemon, through as many steps as a real run has.
#include <dirent.h>

#include <atomic>
#include <set>
#include <spdld.hpp>
#include <thread>

#include "tests/client/session.h"
#include "tests/support/ragged_batches.h"

namespace spdld::replay_test {

using namespace spdld;
using namespace spdld::test;

namespace {

using Steps = std::vector<std::pair<uint64_t, uint64_t>>;

test::Loader attach_replay(Site& site, uint32_t batches) {
  site.options.replay = batches;
  return attach(site.options);
}

spdld_stats stats_of(const test::Loader& loader) {
  spdld_stats stats = {};
  stats.struct_size = sizeof stats;
  REQUIRE(spdld_get_stats(loader.get(), &stats) == SPDLD_OK);
  return stats;
}

void* address_of(const test::Batch& batch) {
  spdld_tensor image = no_tensor();
  REQUIRE(spdld_batch_find(batch.get(), "image", &image) == SPDLD_OK);
  return image.address;
}

std::string state_of(const test::Loader& loader) {
  char* json = nullptr;
  REQUIRE(spdld_state(loader.get(), &json) == SPDLD_OK);
  return take_text(json);
}

// The epochs and steps of all batches to the end, and of each epoch's end.
std::pair<Steps, int> steps_to_the_end(const test::Loader& loader) {
  Steps steps;
  int ends = 0;
  for (;;) {
    spdld_batch* raw = nullptr;
    const spdld_result result = spdld_next(loader.get(), 5000, &raw);
    const test::Batch batch(raw);
    INFO(spdld_last_error());
    if (result == SPDLD_END) return {steps, ends};
    if (result == SPDLD_END_OF_EPOCH) {
      ++ends;
      continue;
    }
    REQUIRE(result == SPDLD_OK);
    REQUIRE(steps.size() < 1000);
    steps.emplace_back(info_of(batch).epoch, info_of(batch).step);
  }
}

size_t open_files() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
  size_t count = 0;
  while (::readdir(folder.get())) ++count;
  return count;
}

std::vector<std::string> heard;
void hear(void*, const char* sentence) { heard.emplace_back(sentence); }

}  // namespace

TEST_CASE("a replay hands out its first batches in turns, and counts steps and epochs as a run does") {
  Site site;  // two epochs of five steps
  const test::Loader loader = attach_replay(site, 2);
  CHECK(info_of(loader).replay == 2);
  std::vector<int64_t> numbers;
  std::set<void*> addresses;
  Steps steps;
  while (steps.size() < 10) {
    spdld_batch* raw = nullptr;
    const spdld_result result = spdld_next(loader.get(), 5000, &raw);
    const test::Batch batch(raw);
    if (result == SPDLD_END_OF_EPOCH) continue;
    REQUIRE(result == SPDLD_OK);
    numbers.push_back(number_of(batch));
    addresses.insert(address_of(batch));
    steps.emplace_back(info_of(batch).epoch, info_of(batch).step);
    CHECK(info_of(batch).valid == 4);
  }
  CHECK(numbers == std::vector<int64_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(addresses.size() == 2);
  CHECK(steps == Steps{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}});
  CHECK(next_result(loader) == SPDLD_END_OF_EPOCH);
  CHECK(next_result(loader) == SPDLD_END);
  CHECK(stats_of(loader).batches == 10);
  CHECK(stats_of(loader).samples == 40);
}

TEST_CASE("a replayed batch takes no lease of its own, and all leases end with the loader") {
  FakeScript script;
  script.epochs = 100;
  Site site(script);
  test::Loader loader = attach_replay(site, 1);
  std::vector<test::Batch> held;
  test::Batch first = next(loader);
  const size_t files = open_files();
  for (int i = 0; i < 400; ++i) {  // many more than the three slots
    if (next_result(loader) == SPDLD_END_OF_EPOCH) continue;
    if (i % 4 == 0) {
      spdld_batch* raw = nullptr;
      if (spdld_next(loader.get(), 0, &raw) == SPDLD_OK) held.emplace_back(raw);
    }
  }
  CHECK(held.size() > 50);
  CHECK(info_of(loader).held == 1);
  CHECK(open_files() == files);
  CHECK(site.daemon->counts().releases == 0);
  loader.reset();
  REQUIRE(site.daemon->wait_until([](const FakeCounts& counts) { return counts.detaches == 1; }));
  CHECK(number_of(held.back()) == 0);  // its memory stays while it is held
  const uint64_t unseen = site.daemon->counts().releases;
  held.clear();
  CHECK(site.daemon->counts().releases == unseen);
  first.reset();
  CHECK(site.daemon->wait_until([&](const FakeCounts& counts) { return counts.releases == unseen + 1; }));
  CHECK(site.daemon->counts().wrong_releases == 0);
}

TEST_CASE("other threads drop replayed batches while the next ones are taken") {
  FakeScript script;
  script.epochs = 0;
  Site site(script);
  const test::Loader loader = attach_replay(site, 2);
  std::vector<std::thread> threads;
  std::atomic<int> intact{0};
  for (int turn = 0; turn < 8; ++turn) {
    std::vector<test::Batch> taken;
    while (taken.size() < 40) {
      spdld_batch* raw = nullptr;
      const spdld_result result = spdld_next(loader.get(), 5000, &raw);
      if (result == SPDLD_OK) taken.emplace_back(raw);
    }
    threads.emplace_back([&intact, batches = std::move(taken)]() mutable {
      for (test::Batch& batch : batches) {
        if (is_intact(batch.get())) ++intact;
        batch.reset();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(intact == 8 * 40);
  CHECK(info_of(loader).held == 2);
  CHECK(site.daemon->counts().wrong_releases == 0);
}

TEST_CASE("what was written into a batch is there when it comes again") {
  Site site;
  const test::Loader loader = attach_replay(site, 1);
  const test::Batch first = next(loader);
  static_cast<unsigned char*>(address_of(first))[0] = 99;
  CHECK(static_cast<unsigned char*>(address_of(next(loader)))[0] == 99);
}

TEST_CASE("a replay goes on when its daemon is killed") {
  Site site;
  const test::Loader loader = attach_replay(site, 2);
  for (int i = 0; i < 3; ++i) next(loader);
  site.daemon.reset();
  const auto [steps, ends] = steps_to_the_end(loader);
  CHECK(steps.size() == 7);
  CHECK(ends == 2);
}

TEST_CASE("a daemon that is killed before the replay has begun is waited for") {
  Site site;
  const test::Loader loader = attach_replay(site, 3);
  const test::Batch first = next(loader);
  CHECK(number_of(first) == 0);
  site.begin();
  std::vector<int64_t> numbers;
  for (int i = 0; i < 4; ++i) numbers.push_back(number_of(next(loader)));
  CHECK(numbers == std::vector<int64_t>{1, 2, 0, 1});
}

TEST_CASE("a seek moves the place of a replay, and asks nothing of the daemon") {
  Site site;
  const test::Loader loader = attach_replay(site, 1);
  next(loader);
  REQUIRE(spdld_seek(loader.get(), 1, 3) == SPDLD_OK);
  CHECK(steps_to_the_end(loader).first == Steps{{1, 3}, {1, 4}});
  REQUIRE(spdld_seek(loader.get(), 0, 0) == SPDLD_OK);
  CHECK(steps_to_the_end(loader).first.size() == 10);
  CHECK(spdld_seek(loader.get(), 2, 1) == SPDLD_INVALID);
  CHECK(site.daemon->counts().seeks == 0);
}

TEST_CASE("no loader takes a state of a replay, in any case") {
  Site site;
  const test::Loader replaying = attach_replay(site, 1);
  for (int i = 0; i < 3; ++i) next(replaying);
  const std::string state = state_of(replaying);
  CHECK_THAT(state, Catch::Contains("\"step\":3") && Catch::Contains("\"replay\":1"));
  for (const int anyway : {0, 1}) {
    CHECK(spdld_load_state(replaying.get(), state.c_str(), anyway) == SPDLD_INVALID);
    CHECK_THAT(spdld_last_error(), Catch::Contains("SPDLD_REPLAY"));
  }
  spdld_attach_options options = options_for(site.socket);
  options.group = "other";
  options.state = state.c_str();
  spdld_loader* none = nullptr;
  CHECK(spdld_attach(&options, &none) == SPDLD_INVALID);
  options.state = nullptr;
  const test::Loader plain = attach(options);
  const std::string plain_state = state_of(plain);
  CHECK(plain_state.find("replay") == std::string::npos);
  CHECK(info_of(plain).replay == 0);
  CHECK(spdld_load_state(replaying.get(), plain_state.c_str(), 0) == SPDLD_OK);
}

TEST_CASE("the environment asks for a replay, an option counts before it, and nonsense is refused") {
  Site site;
  {
    const Variable asked("SPDLD_REPLAY", "2");
    CHECK(info_of(attach(site.options)).replay == 2);
    CHECK(info_of(attach_replay(site, 1)).replay == 1);
    site.options.replay = 0;
  }
  for (const char* none : {"", "0"}) {
    const Variable asked("SPDLD_REPLAY", none);
    CHECK(info_of(attach(site.options)).replay == 0);
  }
  for (const char* nonsense : {"yes", "-1", "33", "1.5", "99999999999"}) {
    const Variable asked("SPDLD_REPLAY", nonsense);
    spdld_loader* none = nullptr;
    CHECK(spdld_attach(&site.options, &none) == SPDLD_INVALID);
    CHECK(none == nullptr);
  }
}

TEST_CASE("a replay of more batches than may be held begins with as many as may be") {
  Site site;  // three slots
  const test::Loader loader = attach_replay(site, 32);
  CHECK(info_of(loader).replay == 3);
  std::vector<int64_t> numbers;
  for (int i = 0; i < 5; ++i) numbers.push_back(number_of(next(loader)));
  CHECK(numbers == std::vector<int64_t>{0, 1, 2, 0, 1});
}

TEST_CASE("a replay warns, once in a process") {
  heard.clear();
  Site site;
  site.options.warn = &hear;
  for (int i = 0; i < 2; ++i) attach_replay(site, 1);
  CHECK(heard.size() <= 1);  // another case of this process may have been the first
  for (const std::string& sentence : heard) CHECK_THAT(sentence, Catch::Contains("learns nothing"));
}

TEST_CASE("the trainer's own pace is told, without its first steps") {
  FakeScript script;
  script.epochs = 1;
  script.steps_per_epoch = 20;
  Site site(script);
  const test::Loader loader = attach_replay(site, 1);
  next(loader);
  for (int i = 0; i < 11; ++i) next(loader);
  CHECK(stats_of(loader).replayed == 0);
  CHECK(stats_of(loader).replay_step_ms == 0);
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the trainer's work
    next(loader);
  }
  CHECK(stats_of(loader).replayed == 8);
  CHECK(stats_of(loader).replay_step_ms >= 5);
}

TEST_CASE("a pushed order is taken step by step, and no longer sent") {
  FakeScript script;
  script.push_steps_max = 5;
  script.epochs = 0;
  Site site(script);
  const test::Loader loader = attach_replay(site, 1);
  const std::vector<uint64_t> ids = {7, 3, 19, 0};
  const auto push = [&](uint64_t step, bool last) {
    return spdld_push(loader.get(), 0, step, ids.data(), ids.size(), last ? 1 : 0);
  };
  REQUIRE(push(0, false) == SPDLD_OK);
  next(loader);
  const uint64_t pushed = site.daemon->counts().pushed_steps;
  for (uint64_t step = 1; step < 20; ++step) {
    CHECK(next_result(loader) == SPDLD_INVALID);
    REQUIRE(push(step, step == 19) == SPDLD_OK);
    CHECK(info_of(next(loader)).step == step);
  }
  CHECK(next_result(loader) == SPDLD_END_OF_EPOCH);
  CHECK(site.daemon->counts().pushed_steps == pushed);
}

TEST_CASE("ragged batches come again as they are") {
  FakeScript script = ragged_script();
  script.epochs = 3;
  Site site(script);
  const test::Loader loader = attach_replay(site, 1);
  const test::Batch first = next(loader), again = next(loader);
  for (const char* name : {"boxes", "text"}) {
    spdld_tensor one = no_tensor(), other = no_tensor();
    REQUIRE(spdld_batch_find(first.get(), name, &one) == SPDLD_OK);
    REQUIRE(spdld_batch_find(again.get(), name, &other) == SPDLD_OK);
    CHECK(one.address == other.address);
    CHECK(std::vector(one.shape, one.shape + one.rank) == std::vector(other.shape, other.shape + other.rank));
  }
  spdld_tensor offsets = no_tensor();
  CHECK(spdld_batch_find_part(again.get(), "boxes", SPDLD_OFFSETS, &offsets) == SPDLD_OK);
}

}  // namespace spdld::replay_test
