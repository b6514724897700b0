#include <atomic>
#include <thread>

#include "tests/client/session.h"

namespace spdld::restart_test {

using namespace spdld;
using namespace spdld::test;

namespace {

// The first session ends after seven batches; the daemon goes on.
FakeScript ending(FakeScript::End end) {
  FakeScript script;
  script.end_after = 7;
  script.end = end;
  return script;
}

}  // namespace

TEST_CASE("a session that ends costs no batch and repeats none") {
  Attached attached(ending(FakeScript::End::kClose));
  CHECK(numbers_to_the_end(attached.loader) == count_from(0, 10));
  CHECK(attached.daemon.counts().attaches == 2);
}

TEST_CASE("a hundred sessions that end cost no batch and repeat none") {
  FakeScript script = ending(FakeScript::End::kClose);
  script.steps_per_epoch = 400;
  script.end_sessions = 100;
  Attached attached(script);
  CHECK(numbers_to_the_end(attached.loader) == count_from(0, 800));
  CHECK(attached.daemon.counts().attaches == 101);
}

TEST_CASE("a replica that comes back tells where it went last, as long as another may not have followed") {
  const uint64_t batches_since = GENERATE(1, 2);
  FakeScript script;
  script.slot_count = 1;
  script.end_after = 1 + batches_since;
  Site site(script);
  site.options.readers = 2;
  const test::Loader loader = attach(site.options);
  CHECK_FALSE(site.daemon->counts().last_sought);
  Batch first = next(loader);
  REQUIRE(spdld_seek(loader.get(), 1, 1) == SPDLD_OK);
  first.reset();
  for (int64_t number = 6; number < 9; number++) CHECK(number_of(next(loader)) == number);
  CHECK(site.daemon->counts().attaches == 2);
  CHECK(site.daemon->counts().again == 0);
  const std::optional<std::pair<uint64_t, uint64_t>> told = site.daemon->counts().last_sought;
  if (batches_since == 1)
    CHECK(told == std::pair<uint64_t, uint64_t>{1, 1});
  else
    CHECK_FALSE(told);
}

TEST_CASE("a replica that comes back before anything came of its seek says that it seeks again") {
  FakeScript script;
  script.slot_count = 1;
  Site site(script);
  site.options.readers = 2;
  const test::Loader loader = attach(site.options);
  Batch first = next(loader);
  REQUIRE(spdld_seek(loader.get(), 1, 1) == SPDLD_OK);
  REQUIRE(site.daemon->wait_until([](const FakeCounts& counts) { return counts.seeks == 1; }));
  CHECK(site.daemon->counts().again == 0);
  site.begin(script);
  first.reset();
  CHECK(number_of(next(loader)) == 6);
  CHECK(site.daemon->counts().again == 1);
  REQUIRE(spdld_seek(loader.get(), 0, 3) == SPDLD_OK);  // another one, which the daemon hears for the first time
  CHECK(number_of(next(loader)) == 3);
  CHECK(site.daemon->counts().again == 1);
}

// The other replicas may not have sought yet. They come back where all were, and a ring that began at the goal would
// have left them behind.
TEST_CASE("a replica that has sought asks a new daemon for the position where it began to seek") {
  FakeScript script;
  script.slot_count = 1;
  Site site(script);
  const auto restart = [&] { site.begin(script); };
  site.options.readers = 2;
  const test::Loader loader = attach(site.options);
  CHECK(number_of(next(loader)) == 0);
  Batch held = next(loader);  // in the only slot: no further batch is on its way when the daemon ends
  const bool seeks_twice = GENERATE(false, true);
  if (seeks_twice) REQUIRE(spdld_seek(loader.get(), 1, 1) == SPDLD_OK);
  REQUIRE(spdld_seek(loader.get(), 0, 3) == SPDLD_OK);
  restart();
  held.reset();
  held = next(loader);
  CHECK(number_of(held) == 3);
  CHECK(site.daemon->counts().last_place == std::pair<uint64_t, uint64_t>{0, 2});
  CHECK_FALSE(site.daemon->counts().last_sought);

  restart();  // one batch came: whether the others have followed is not known here
  held.reset();
  held = next(loader);
  CHECK(number_of(held) == 4);
  CHECK(site.daemon->counts().last_place == std::pair<uint64_t, uint64_t>{0, 4});
  CHECK(site.daemon->counts().last_sought == std::pair<uint64_t, uint64_t>{0, 3});
  CHECK(site.daemon->counts().seeks == 0);
}

TEST_CASE("a replica that said that it stands where it seeks seeks as any other at a new daemon") {
  FakeScript script;
  script.slot_count = 1;
  Site site(script);
  site.options.readers = 2;
  const test::Loader loader = attach(site.options);
  Batch held = next(loader);  // in the only slot: no further batch is on its way when the daemon ends
  REQUIRE(spdld_seek(loader.get(), 0, 1) == SPDLD_OK);
  REQUIRE(site.daemon->wait_until([](const FakeCounts& counts) { return counts.stays == 1; }));
  site.begin(script);
  held.reset();
  held = next(loader);
  CHECK(number_of(held) == 1);
  CHECK(site.daemon->counts().seeks == 1);
  CHECK(site.daemon->counts().stays == 0);
}

TEST_CASE("after GOODBYE the loader comes back by itself") {
  Attached attached(ending(FakeScript::End::kGoodbye));
  CHECK(numbers_to_the_end(attached.loader) == count_from(0, 10));
  CHECK(attached.daemon.counts().attaches == 2);
}

TEST_CASE("a ring that begins before the loader's position gives nothing twice") {
  FakeScript script = ending(FakeScript::End::kClose);
  script.behind_steps = 2;
  Attached attached(script);
  CHECK(numbers_to_the_end(attached.loader) == count_from(0, 10));
}

TEST_CASE("the leases of batches that were seen before a reconnect go back, however many they are") {
  FakeScript script;
  script.slot_count = GENERATE(1u, 2u, 3u);
  script.steps_per_epoch = 12;
  script.end_after = 11;
  script.end = FakeScript::End::kClose;
  script.behind_steps = 9;  // more than there are slots
  struct Before {
    std::atomic<uint64_t> batches{0}, releases{0};
  } before;  // the second session
  script.on_change = [&](const FakeCounts& counts) {
    if (counts.attaches == 1) before.batches = counts.batches, before.releases = counts.releases;
  };
  CAPTURE(script.slot_count);
  Attached attached(script);
  CHECK(numbers_to_the_end(attached.loader) == count_from(0, 24));
  CHECK(attached.daemon.counts().attaches == 2);
  CHECK(attached.daemon.counts().batches > 24);
  CHECK(attached.daemon.wait_until(
      [&](const FakeCounts& counts) { return counts.batches - before.batches == counts.releases - before.releases; }));
  CHECK(attached.daemon.counts().wrong_releases == 0);
  CHECK(info_of(attached.loader).held == 0);
}

TEST_CASE("batches that are held over a reconnect take no room of the new ring, and free none of it") {
  FakeScript script;
  script.steps_per_epoch = 10, script.epochs = 1;
  script.end_after = 2;
  script.end = FakeScript::End::kClose;
  Attached attached(script);
  std::vector<Batch> old;
  for (int64_t number = 0; number < 2; ++number) old.push_back(next(attached.loader));
  std::vector<Batch> young;
  for (int64_t number = 2; number < 5; ++number) {  // as many as the new ring has slots
    young.push_back(next(attached.loader));
    CHECK(number_of(young.back()) == number);
  }
  CHECK(attached.daemon.counts().attaches == 2);
  CHECK(info_of(attached.loader).held == 3);
  CHECK(next_result(attached.loader) == SPDLD_LIMIT);
  for (size_t number = 0; number < old.size(); ++number) CHECK(number_of(old[number]) == static_cast<int64_t>(number));
  old.clear();
  CHECK(info_of(attached.loader).held == 3);
  CHECK(next_result(attached.loader) == SPDLD_LIMIT);
  young.clear();
  CHECK(info_of(attached.loader).held == 0);
  CHECK(numbers_to_the_end(attached.loader) == count_from(5, 10));
  CHECK(attached.daemon.counts().wrong_releases == 0);
}

TEST_CASE("a session that was given up ends at once, with its leases, even while its batches are held") {
  FakeScript script;
  script.end_after = 2;
  script.end = GENERATE(FakeScript::End::kGoodbye, FakeScript::End::kGarbage);
  Attached attached(script);
  std::vector<Batch> held;
  for (int64_t number = 0; number < 2; ++number) held.push_back(next(attached.loader));
  if (script.end == FakeScript::End::kGarbage) {
    CHECK(next_result(attached.loader) == SPDLD_INTERNAL);
  } else {
    CHECK(number_of(next(attached.loader)) == 2);  // on a session of its own
  }
  // The daemon leaves the first session open: its end is the client's.
  CHECK(attached.daemon.wait_until([&](const FakeCounts& counts) { return counts.ended_sessions == 1; }));
  for (size_t number = 0; number < held.size(); ++number)
    CHECK(number_of(held[number]) == static_cast<int64_t>(number));
  held.clear();
  CHECK(attached.daemon.counts().wrong_releases == 0);
}

TEST_CASE("a daemon that is killed and started anew is found again, with the batches in hand still valid") {
  Site site;
  const Loader loader = attach(site.options);
  const Batch held = next(loader);
  site.daemon.reset();
  std::thread starter([&] { site.begin(); });
  const std::vector<int64_t> numbers = numbers_to_the_end(loader);
  starter.join();
  CHECK(numbers == count_from(1, 10));
  CHECK(number_of(held) == 0);
  CHECK(site.daemon->counts().attaches == 1);
}

TEST_CASE("a daemon that was killed and does not return is reported within the bound") {
  Site site;
  site.options.reconnect_ms = 200;
  const Loader loader = attach(site.options);
  std::vector<Batch> held;
  held.push_back(next(loader));
  site.daemon.reset();
  const Stopwatch stopwatch;
  spdld_result result = SPDLD_OK;
  for (int i = 0; i < 3 && result == SPDLD_OK; ++i) result = next_result(loader, -1);  // what was ready comes first
  CHECK(result == SPDLD_NO_DAEMON);
  CHECK(stopwatch.ms() < 3000);
  CHECK(std::string(spdld_last_error()).find("within 200 ms") != std::string::npos);
  const Stopwatch again;
  CHECK(next_result(loader, 50) == SPDLD_TIMEOUT);
  CHECK(again.ms() < 3000);
  CHECK(spdld_poll_fd(loader.get()) == -1);
  CHECK(spdld_seek(loader.get(), 1, 0) == SPDLD_OK);
  const FakeDaemon late(site.socket, {});
  CHECK(numbers_to_the_end(loader) == count_from(5, 10));
}

TEST_CASE("attaching while the daemon restarts waits for it") {
  Folder folder;
  const std::string socket = folder.socket();
  std::unique_ptr<FakeDaemon> daemon;
  SECTION("none listens yet") {}
  SECTION("its socket is left behind") {
    { const FakeDaemon killed(socket, FakeScript{}); }
    REQUIRE(std::filesystem::exists(socket));
  }
  std::atomic<bool> waits{false};
  spdld_attach_options options = options_for(socket);
  options.progress_user = &waits;
  options.progress = [](void* user, const char* what, uint64_t, uint64_t) {
    if (std::string(what).find("waiting for the daemon at") == 0) *static_cast<std::atomic<bool>*>(user) = true;
    return 0;
  };
  std::thread starter([&] {
    while (!waits) std::this_thread::yield();
    daemon = std::make_unique<FakeDaemon>(socket, FakeScript{});
  });
  const Loader loader = attach(options);
  starter.join();
  CHECK(number_of(next(loader)) == 0);
}

TEST_CASE("a daemon that goes before it answers, and comes again, is waited for") {
  FakeScript silent;
  SECTION("HELLO") { silent.answers_hello = false; }
  SECTION("ATTACH") { silent.answers_attach = false; }
  Site site(silent);
  std::thread restarter([&] {
    site.daemon->wait_until(
        [&](const FakeCounts& counts) { return (silent.answers_hello ? counts.attaches : counts.hellos) == 1; });
    site.begin();
  });
  const Loader loader = attach(site.options);
  restarter.join();
  CHECK(number_of(next(loader)) == 0);
}

TEST_CASE("a daemon that does not come is not waited for longer than was said") {
  Folder folder;
  const auto attach_result = [](const std::string& socket, int64_t reconnect_ms) {
    spdld_attach_options options = options_for(socket);
    options.reconnect_ms = reconnect_ms;
    spdld_loader* loader = nullptr;
    return spdld_attach(&options, &loader);
  };
  const Stopwatch stopwatch;
  CHECK(attach_result(folder.socket(), 150) == SPDLD_NO_DAEMON);
  CHECK(stopwatch.ms() >= 150);
  CHECK(std::string(spdld_last_error()).find("within 150 ms") != std::string::npos);
  CHECK(attach_result(folder.socket(), -1) == SPDLD_NO_DAEMON);
  CHECK(attach_result(folder.path() + "/no/such/folder", 60'000) == SPDLD_NO_DAEMON);  // a wrong path
  CHECK(stopwatch.ms() < 5000);
}

TEST_CASE("who does not want to wait for a daemon is told at once") {
  Site site;
  site.options.reconnect_ms = -1;
  const Loader loader = attach(site.options);
  site.daemon.reset();
  spdld_result result = SPDLD_OK;
  for (int i = 0; i < 4 && result == SPDLD_OK; ++i) result = next_result(loader, -1);
  CHECK(result == SPDLD_NO_DAEMON);
}

TEST_CASE("a rank that the daemon still thinks held is asked for again") {
  Site site;
  const Loader loader = attach(site.options);
  CHECK(number_of(next(loader)) == 0);
  site.daemon.reset();
  FakeScript script;
  script.attach_error = proto::ErrorCode::conflict;
  script.attach_errors = 3;
  const FakeDaemon second(site.socket, script);
  CHECK(numbers_to_the_end(loader) == count_from(1, 10));
  CHECK(second.counts().attaches == 4);
}

TEST_CASE("a daemon that comes back with other data is refused") {
  Site site;
  site.options.reconnect_ms = 200;
  const Loader loader = attach(site.options);
  site.daemon.reset();
  FakeScript script;
  script.fingerprint = "f2";
  const FakeDaemon second(site.socket, script);
  spdld_result result = SPDLD_OK;
  for (int i = 0; i < 4 && result == SPDLD_OK; ++i) result = next_result(loader, -1);
  CHECK(result == SPDLD_CHANGED);
  CHECK(std::string(spdld_last_error()).find("another pipeline") != std::string::npos);
}

TEST_CASE("a daemon that comes back with another pipeline is refused by the keys that differ") {
  FakeScript script;
  script.fingerprint = "1-a-b-4", script.key_digests = "order/shuffle=AAAAAAAAAAA seed=AAAAAAAAAAA";
  Site site(script);
  site.options.reconnect_ms = 200;
  const Loader loader = attach(site.options);
  site.daemon.reset();
  script.fingerprint = "1-a-c-4", script.key_digests = "order/shuffle=AAAAAAAAAAA seed=AAAAAAAAAAB";
  const FakeDaemon second(site.socket, script);
  spdld_result result = SPDLD_OK;
  for (int i = 0; i < 4 && result == SPDLD_OK; ++i) result = next_result(loader, -1);
  CHECK(result == SPDLD_CHANGED);
  CHECK(std::string(spdld_last_error()).find("before 1-a-b-4) (seed has another value): attach anew") !=
        std::string::npos);
}

TEST_CASE("short waits make progress over an outage") {
  FakeScript script = ending(FakeScript::End::kClose);
  Attached attached(script);
  std::vector<int64_t> numbers;
  spdld_result result = SPDLD_OK;
  const Stopwatch stopwatch;
  while (result != SPDLD_END && stopwatch.ms() < 10'000) {
    spdld_batch* raw = nullptr;
    result = spdld_next(attached.loader.get(), 0, &raw);
    const Batch batch(raw);
    if (result == SPDLD_OK) numbers.push_back(number_of(batch));
    if (result < 0) break;
  }
  CHECK(result == SPDLD_END);
  CHECK(numbers == count_from(0, 10));
}

TEST_CASE("FAILED comes after the batches that were ready, and stays") {
  Attached attached(ending(FakeScript::End::kFailed));
  std::vector<int64_t> numbers;
  for (int i = 0; i < 8; ++i) {
    spdld_batch* raw = nullptr;
    if (spdld_next(attached.loader.get(), 5000, &raw) == SPDLD_OK) numbers.push_back(number_of(Batch(raw)));
  }
  CHECK(numbers == count_from(0, 7));
  for (int i = 0; i < 2; ++i) {
    CHECK(next_result(attached.loader) == SPDLD_FAILED);
    CHECK(std::string(spdld_last_error()) == "because the script says so");
  }
  CHECK(spdld_seek(attached.loader.get(), 0, 0) == SPDLD_FAILED);
}

TEST_CASE("what the daemon complained of is told when it then goes") {
  FakeScript script = ending(FakeScript::End::kComplain);
  script.end_sessions = 1000;
  script.end_after = 1;
  Site site(script);
  site.options.reconnect_ms = -1;
  const Loader loader = attach(site.options);
  next(loader);
  CHECK(next_result(loader, 5000) == SPDLD_NO_DAEMON);
  CHECK(std::string(spdld_last_error()).find("it had said: that was wrong") != std::string::npos);
}

}  // namespace spdld::restart_test
