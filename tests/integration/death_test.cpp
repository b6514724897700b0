#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/control/raw_client.h"
#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::death_test {

using namespace spdld;
using namespace spdld::test;

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("200 trainers are killed while they hold slots: everything comes back, and another never stops") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 0;
  const std::string toml = spec.toml(daemon.dir() / "photos");

  Loader steady = attach({.socket = daemon.socket(), .spec = toml, .group = "steady"});
  uint64_t steps = 0;
  const auto step = [&] {
    const auto next = steady.next(20'000);
    if (next.result == SPDLD_OK) {
      REQUIRE(next.batch.info().epoch * 10 + next.batch.info().step == steps);
      steps++;
    }
  };
  for (int i = 0; i < 20; i++) step();
  // What this trainer sent may be closed only after this: then there are fewer descriptors later.
  const size_t fds = daemon.open_fds(), threads = daemon.threads(), mappings = daemon.memfd_mappings();
  uint64_t after_first_bytes = 0;

  for (int round = 0; round < 200; round++) {
    const pid_t victim =
        hold_batches({.socket = daemon.socket(), .spec = toml, .group = "victim"}, 1 + static_cast<size_t>(round % 3));
    kill(victim, SIGKILL);
    REQUIRE(wait_for(victim) == -SIGKILL);
    step();
    if (round == 20) {
      REQUIRE(soon([&] { return daemon.open_fds() <= fds; }));
      after_first_bytes = daemon.anonymous_and_shared_bytes();
    }
  }
  for (int i = 0; i < 50; i++) step();
  CHECK(steps >= 230);
  CHECK(soon([&] { return daemon.open_fds() <= fds; }));
  CHECK(soon([&] { return daemon.memfd_mappings() == mappings; }));
  CHECK(daemon.threads() == threads);
  // A sanitizer keeps what was freed, to see whether it is used again: its heap tells nothing of ours.
  REQUIRE(after_first_bytes > 0);
  if (!SPDLD_SANITIZED) CHECK(daemon.anonymous_and_shared_bytes() < after_first_bytes + (4u << 20));
}

TEST_CASE("a trainer's seat is free as soon as it is dead, also where its forked child lives on") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 12, 2);
  PhotoSpec spec;
  spec.epochs = 0;
  const Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")};
  int told[2];
  REQUIRE(pipe(told) == 0);
  const UniqueFd read_end(told[0]), write_end(told[1]);
  const pid_t trainer = in_child([&] {
    Loader loader = attach(job);
    const Batch batch = loader.next(20'000).batch;
    const pid_t grandchild = in_child([] {
      pause();
      return 0;
    });
    if (write(write_end.get(), &grandchild, sizeof grandchild) != sizeof grandchild) return 1;
    pause();
    return 0;
  });
  pid_t grandchild = 0;
  REQUIRE(read(read_end.get(), &grandchild, sizeof grandchild) == sizeof grandchild);
  try {
    attach(job);
    FAIL("the rank is held");
  } catch (const Exception& e) {
    CHECK(e.result() == SPDLD_CONFLICT);
    CHECK_THAT(e.what(), Catch::Contains("pid " + std::to_string(trainer)));
  }
  kill(trainer, SIGKILL);
  wait_for(trainer);
  Loader again = attach(job);
  CHECK(again.next(20'000).batch.info().step == 0);
  kill(grandchild, SIGKILL);
}

TEST_CASE("a forked child neither uses nor gives back its parent's batches") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 0;
  Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")});
  Batch batch = loader.next(20'000).batch;
  const Seen seen = look(batch);
  const pid_t child = in_child([&] {
    spdld_batch* none = nullptr;
    if (spdld_next(loader.get(), 1000, &none) != SPDLD_FORKED) return 1;
    batch.release();
    return 0;
  });
  CHECK(wait_for(child) == 0);
  for (uint64_t step = 1; step < 20; step++) {
    const auto next = loader.next(20'000);
    if (next.result == SPDLD_END_OF_EPOCH) continue;
    REQUIRE(next.result == SPDLD_OK);
  }
  CHECK(look(batch) == seen);  // its slot was not filled anew
}

TEST_CASE("a daemon that is killed and stays away: every call returns in time, with an error") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 0;
  Job job{
      .socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos"), .timeout_ms = 1500, .reconnect_ms = 1500};
  Loader loader = attach(job);
  Batch batch = loader.next(20'000).batch;
  daemon.stop(SIGKILL);

  const auto start = std::chrono::steady_clock::now();
  const auto result_of = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const Exception& e) {
      CHECK(std::string(e.what()).size() > 10);
      return e.result();
    }
    return SPDLD_OK;
  };
  spdld_result last = SPDLD_OK;
  for (int i = 0; i < 10 && last == SPDLD_OK; i++)  // some batches may be here already
    last = result_of([&] {
      const auto next = loader.next(5000);
      if (next.result == SPDLD_TIMEOUT) throw Exception(SPDLD_TIMEOUT, "within its time-out");
    });
  CHECK(last == SPDLD_NO_DAEMON);
  CHECK(result_of([&] { attach(job); }) == SPDLD_NO_DAEMON);
  CHECK(result_of([&] { query("ping", nullptr, job.socket.c_str(), 1000); }) == SPDLD_NO_DAEMON);
  batch.release();
  CHECK(seconds_since(start) < 15);
}

TEST_CASE("a daemon that is killed and comes back: the trainer goes on, no batch lost, none twice") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 4;
  const Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")};
  std::vector<Seen> undisturbed;
  {
    Loader loader = attach(job);
    undisturbed = take_all(loader);
  }
  REQUIRE(undisturbed.size() == 40);

  Loader loader = attach(job);
  std::vector<Seen> seen;
  std::vector<Batch> held;
  for (int round = 0; round < 6; round++) {
    for (const Seen& one : take_all(loader, 5)) seen.push_back(one);
    const auto next = loader.next(20'000);  // one is in hand while the daemon dies
    if (next.result == SPDLD_OK) {
      seen.push_back(look(next.batch));
      held.push_back(next.batch);
    }
    daemon.stop(round % 2 ? SIGTERM : SIGKILL);
    CHECK((held.empty() || look(held.back()) == seen.back()));
    daemon.start();
    if (round % 2) held.clear();
  }
  for (const Seen& one : take_all(loader)) seen.push_back(one);
  CHECK(seen == undisturbed);
}

TEST_CASE("after daemons that were killed, a trainer that gives all batches back holds no lease at the last one") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 0;
  Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")});
  std::vector<Batch> held;
  for (int round = 0; round < 5; round++) {
    take_all(loader, 7);
    // Given back while the daemon is away, and at a daemon that knows nothing of them.
    for (int i = 0; i < 2; i++) held.push_back(loader.next(20'000).batch);
    daemon.stop(SIGKILL);
    if (round % 2) held.pop_back();
    daemon.start();
    take_all(loader, 8);  // more than were ready before
    held.clear();
  }
  const auto ring = [&] {
    return nlohmann::json::parse(query("describe", "photos", daemon.socket().c_str()))["rings"].at(0);
  };
  CHECK(ring()["memory"] == "host");
  CHECK(soon([&] { return ring()["held"] == 0; }));
  // All slots are filled again: none is missed.
  CHECK(soon([&] { return ring()["ready"].get<uint64_t>() >= static_cast<uint64_t>(spec.prefetch_depth); }));
  CHECK(ring()["free"].get<uint64_t>() + ring()["ready"].get<uint64_t>() + ring()["filling"].get<uint64_t>() ==
        ring()["slots"].get<uint64_t>());
}

TEST_CASE("a job that is killed and comes back at once with other ranks is not refused for its dead ones") {
  TempDir dir;
  make_photos(dir.path() / "photos", 12, 2);
  std::filesystem::create_directories(dir.path() / "pipelines");
  std::ofstream(dir.path() / "pipelines/photos.toml") << PhotoSpec{}.toml(dir.path() / "photos");
  DaemonProcess daemon("[pipelines]\ndir = \"" + (dir.path() / "pipelines").string() + "\"\n");
  Pipe told;
  const pid_t trainer = in_child([&] {
    Loader loader = attach({.socket = daemon.socket(), .pipeline = "photos", .group = "job"});
    told.write("x");
    pause();
    return 0;
  });
  REQUIRE(told.read_byte());
  RawClient newcomer(daemon.socket());
  newcomer.hello();
  // The daemon finds the newcomer's message before the news of the death, because it came before it.
  kill(daemon.pid(), SIGSTOP);
  int status = 0;
  REQUIRE(waitpid(daemon.pid(), &status, WUNTRACED) == daemon.pid());
  newcomer.send_attach(1, "photos", "job", 1);  // of a world of two
  kill(trainer, SIGKILL);
  REQUIRE(wait_for(trainer) == -SIGKILL);
  kill(daemon.pid(), SIGCONT);
  auto heard = newcomer.hear();
  while (heard && heard->message().body_type() == proto::Body::Preparing) heard = newcomer.hear();
  REQUIRE(heard);
  const auto* refused = heard->message().body_as_ErrorReply();
  INFO((refused ? std::string(proto::text_of(refused->message())) : ""));
  CHECK(heard->message().body_as_Attached());
}

}  // namespace spdld::death_test
