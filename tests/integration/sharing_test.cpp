#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::sharing_test {

using namespace spdld;
using namespace spdld::test;

TEST_CASE("two pipelines, four ranks, two groups at once: everybody gets everything") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "a", 60, 3);
  make_photos(daemon.dir() / "b", 31, 2);
  PhotoSpec one, other;
  one.epochs = other.epochs = 3;
  other.name = "other", other.batch_size = 5;
  const std::string a = one.toml(daemon.dir() / "a"), b = other.toml(daemon.dir() / "b");

  std::vector<pid_t> trainers;
  const auto train = [&](const Job& job, size_t batches) {
    trainers.push_back(in_child([&daemon, job = Job(job), batches]() mutable {
      job.socket = daemon.socket();
      Loader loader = attach(job);
      return take_all(loader).size() == batches ? 0 : 1;
    }));
  };
  for (uint32_t rank = 0; rank < 4; rank++) train({.spec = a, .group = "four", .rank = rank, .world_size = 4}, 3 * 4);
  for (const char* group : {"x", "y"}) train({.spec = a, .group = group}, 3 * 15);
  train({.spec = b, .group = "x"}, 3 * 7);
  for (pid_t trainer : trainers) CHECK(wait_for(trainer) == 0);
}

TEST_CASE("a trainer that sleeps with all its slots stops nobody else") {
  DaemonProcess daemon("[limits]\ncpu_budget = 2\n");
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 0;
  const std::string toml = spec.toml(daemon.dir() / "photos");
  Loader sleeper = attach({.socket = daemon.socket(), .spec = toml, .group = "sleeper"});
  std::vector<Batch> held;
  for (int i = 0; i < 5; i++) held.push_back(sleeper.next(20'000).batch);
  Loader busy = attach({.socket = daemon.socket(), .spec = toml, .group = "busy"});
  CHECK(take_all(busy, 100).size() == 100);
}

TEST_CASE("several readers of one rank see the same batches, and none can change another's pixels") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 2;
  Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos"), .readers = 2};
  Loader first = attach(job);
  job.reader = 1;
  Loader second = attach(job);
  CHECK_FALSE(first.info().writable);
  size_t batches = 0;
  for (;;) {
    const auto a = first.next(20'000), b = second.next(20'000);
    REQUIRE(a.result == b.result);
    if (a.result == SPDLD_END) break;
    if (a.result == SPDLD_END_OF_EPOCH) continue;
    const Seen seen = look(b.batch);
    CHECK(look(a.batch) == seen);
    auto* pixels = static_cast<float*>(a.batch["image"].address);
    pixels[0] += 1.0f;  // people do such things
    CHECK(look(b.batch) == seen);
    CHECK_FALSE(look(a.batch) == seen);
    batches++;
  }
  CHECK(batches == 20);
}

TEST_CASE("a reader that detaches keeps the batch it holds, while the other goes on") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 0;
  Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos"), .readers = 2};
  auto first = std::make_unique<Loader>(attach(job));
  job.reader = 1;
  Loader second = attach(job);
  const Batch kept = first->next(20'000).batch;
  const Seen seen = look(kept);
  first.reset();
  CHECK(take_all(second, 40).size() == 40);
  CHECK(look(kept) == seen);
}

TEST_CASE("a wrong rank, world size or reader is refused with a sentence") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  const Job job{.socket = daemon.socket(), .spec = PhotoSpec{}.toml(daemon.dir() / "photos"), .world_size = 2};
  Loader holder = attach(job);
  const auto refusal = [&](Job other) {
    try {
      attach(other);
    } catch (const Exception& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  Job same = job, larger = job, beyond = job, more_readers = job;
  larger.rank = 2, larger.world_size = 3;
  beyond.rank = 2;
  more_readers.readers = 2;
  using Catch::Contains;
  CHECK_THAT(refusal(same), Contains("is held by") && Contains(std::to_string(getpid())));
  CHECK_THAT(refusal(larger), Contains("world_size 2, not 3"));
  CHECK_THAT(refusal(beyond), Contains("rank 2"));
  CHECK_THAT(refusal(more_readers), Contains("has 1 replica on this node") && Contains("not 2"));
}

TEST_CASE("describe and status tell what goes on") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 0;
  Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")});
  for (int i = 0; i < 9; i++) loader.next(20'000);
  const std::string socket = daemon.socket();
  const auto described = nlohmann::json::parse(query("describe", "photos", socket.c_str()));
  CHECK(described["samples"] == 40);
  CHECK(described["state"] == "running");
  CHECK(described["stages"][0]["name"] == "fetch");
  CHECK(described["stages"][1]["samples"] >= 36);
  CHECK(described["stages"][1]["busy_s"] > 0);
  const auto& ring = described["rings"][0];
  CHECK(ring["slots"] == 5);
  CHECK(ring["free"].get<int>() + ring["filling"].get<int>() + ring["ready"].get<int>() + ring["held"].get<int>() == 5);
  CHECK(ring["pids"][0] == getpid());
  const auto status = nlohmann::json::parse(query("status", nullptr, socket.c_str()));
  CHECK(status["pid"] == daemon.pid());
  CHECK(status["sessions"].size() == 2);
  CHECK(status["memory"]["slot_bytes"] == ring["slots"].get<uint64_t>() * ring["slot_bytes"].get<uint64_t>());
  CHECK(status["cpu"]["decode_busy_s"] > 0);
  const auto samples = nlohmann::json::parse(query("samples", "photos 0 39", socket.c_str()));
  CHECK(samples["samples"][0]["name"] == "class-0/00000.jpg");
  CHECK_THROWS_AS(query("samples", "photos 40", socket.c_str()), Exception);
  CHECK_THROWS_AS(query("describe", "nothing", socket.c_str()), Exception);
}

TEST_CASE("a data set that changed between two trainers is listed anew, one that did not is not") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 12, 2);
  const Job job{.socket = daemon.socket(), .spec = PhotoSpec{}.toml(daemon.dir() / "photos")};
  const auto samples = [&] { return attach(job).info().samples; };
  const auto listings = [&] {
    size_t count = 0;
    const std::string log = daemon.log();
    for (size_t at = 0; (at = log.find("samples listed", at)) != std::string::npos; at++) count++;
    return count;
  };
  CHECK(samples() == 12);
  CHECK(samples() == 12);
  CHECK(listings() == 1);
  std::filesystem::copy(daemon.dir() / "photos/class-0/00000.jpg", daemon.dir() / "photos/class-0/new.jpg");
  CHECK(samples() == 13);
  CHECK(listings() == 2);
}

namespace {

// Of the slots that this process has mapped.
std::set<std::string> mapped_slots() {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, flags, offset, device, inode, name;
    words >> range >> flags >> offset >> device >> inode >> name;
    if (name.find("memfd:spdld-slot") != std::string::npos) inodes.insert(inode);
  }
  return inodes;
}

uint64_t spare_slot_bytes(const DaemonProcess& daemon) {
  return nlohmann::json::parse(query("status", nullptr, daemon.socket().c_str()))["memory"]["spare_slot_bytes"];
}

}  // namespace

TEST_CASE("the memory of a trainer that closed its loader is its next loader's, with the right pixels") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  const Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")};
  std::vector<Seen> first;
  std::set<std::string> slots;
  {
    Loader loader = attach(job);
    slots = mapped_slots();
    first = take_all(loader);
  }
  CHECK(slots.size() > 2);
  CHECK(mapped_slots().empty());
  // DETACH is answered by nothing: its slots may be on their way yet.
  const auto spare = [&] { return spare_slot_bytes(daemon) > 0; };
  CHECK(soon(spare));
  {
    Loader again = attach(job);
    CHECK(mapped_slots() == slots);
    CHECK(take_all(again) == first);
  }
  CHECK(soon(spare));

  // What is held goes on being the holder's, whoever comes.
  auto holder = std::make_unique<Loader>(attach(job));
  const auto held = holder->next(20'000);
  REQUIRE(held.result == SPDLD_OK);
  holder.reset();
  CHECK(look(held.batch) == first.front());
  {
    Loader other = attach(job);
    CHECK(take_all(other) == first);
  }
  CHECK(look(held.batch) == first.front());
}

TEST_CASE("the memory of a trainer that was killed is nobody's afterwards") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  const Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")};
  const pid_t victim = in_child([&] {
    Loader loader = attach(job);
    loader.next(20'000);
    pause();
    return 0;
  });
  CHECK(soon([&] { return daemon.memfd_mappings() > 0; }));
  kill(victim, SIGKILL);
  CHECK(wait_for(victim) == -SIGKILL);
  CHECK(soon([&] { return daemon.memfd_mappings() == 0; }));
  CHECK(spare_slot_bytes(daemon) == 0);
}

}  // namespace spdld::sharing_test
