#include <signal.h>

#include <catch2/catch.hpp>
#include <map>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::epochs_test {

using namespace spdld;
using namespace spdld::test;

TEST_CASE("an epoch delivers every sample exactly once over all ranks") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 67, 3);
  const uint32_t world_size = GENERATE(1u, 2u, 3u, 8u);
  const std::string last = GENERATE("short", "drop");
  PhotoSpec spec;
  spec.last = last, spec.epochs = 2;
  std::map<uint64_t, std::map<int64_t, int>> times;  // epoch -> sample -> how often
  std::map<int64_t, std::set<int64_t>> labels;
  std::vector<size_t> steps;
  for (uint32_t rank = 0; rank < world_size; rank++) {
    Loader loader = attach({.socket = daemon.socket(),
                            .spec = spec.toml(daemon.dir() / "photos"),
                            .rank = rank,
                            .world_size = world_size});
    const auto all = take_all(loader);
    steps.push_back(all.size());
    for (const Seen& seen : all) {
      REQUIRE(seen.ids.size() == seen.valid);
      for (size_t i = 0; i < seen.ids.size(); i++) {
        times[seen.epoch][seen.ids[i]]++;
        labels[seen.ids[i]].insert(seen.labels[i]);
      }
    }
  }
  const size_t global = 4 * world_size;
  for (size_t count : steps) CHECK(count == 2 * (last == "drop" ? 67 / global : (67 + global - 1) / global));
  for (uint64_t epoch : {0, 1}) {
    CHECK(times[epoch].size() == (last == "drop" ? 67 / global * global : 67));
    for (const auto& [sample, count] : times[epoch]) REQUIRE(count == 1);
  }
  for (const auto& [sample, classes] : labels) REQUIRE(classes.size() == 1);
}

TEST_CASE("the same seed gives the same bytes, with one thread and with eight, and another seed gives others") {
  TempDir dir;
  make_photos(dir.path(), 30, 2);
  std::map<std::string, std::vector<Seen>> runs;
  for (const char* threads : {"1", "8"}) {
    DaemonProcess daemon(std::string("[limits]\ncpu_budget = ") + threads + "\n");
    for (int seed : {11, 12}) {
      PhotoSpec spec;
      spec.seed = seed, spec.epochs = 2;
      Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(dir.path())});
      runs[threads + std::string("/") + std::to_string(seed)] = take_all(loader);
    }
  }
  CHECK(runs["1/11"].size() == 16);
  CHECK(runs["1/11"] == runs["8/11"]);
  CHECK(runs["1/12"] == runs["8/12"]);
  CHECK_FALSE(runs["1/11"] == runs["1/12"]);
  CHECK_FALSE(runs["1/11"][0].ids == runs["1/11"][8].ids);  // another epoch, another order
}

TEST_CASE("a run that begins at a position, or seeks to it, gives what would have come there") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 30, 2);
  PhotoSpec spec;
  spec.epochs = 3;
  Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")};
  std::vector<Seen> whole;
  {
    Loader loader = attach(job);
    whole = take_all(loader);
  }
  REQUIRE(whole.size() == 24);
  job.epoch = 1, job.step = 3;
  Loader loader = attach(job);
  CHECK(take_all(loader, 1).front() == whole[11]);
  loader.seek(2, 5);
  CHECK(take_all(loader, 1).front() == whole[21]);
  loader.seek(0, 0);
  CHECK(take_all(loader) == whole);
  loader.seek(2, 7);
  CHECK(take_all(loader).size() == 1);
}

TEST_CASE("a trainer may hold batches out of order, and one that holds all of them is told so") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 30, 2);
  PhotoSpec spec;
  spec.epochs = 0, spec.prefetch_depth = 2, spec.extra_batch = "held_max = 2";
  Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")};
  job.held_wait_ms = -1;  // else it depends on the threads that this process has had
  Loader loader = attach(job);
  std::vector<Batch> held;
  std::vector<Seen> seen;
  for (int i = 0; i < 4; i++) {
    held.push_back(loader.next(20'000).batch);
    seen.push_back(look(held.back()));
  }
  try {
    loader.next(20'000);
    FAIL("a fifth batch can't be");
  } catch (const Exception& e) {
    CHECK(e.result() == SPDLD_LIMIT);
  }
  for (size_t i = 0; i < 4; i++) CHECK(look(held[i]) == seen[i]);  // nothing was written over
  held.erase(held.begin() + 1);
  CHECK(loader.next(20'000).batch.info().step == 4);
  for (size_t i : {0u, 1u, 2u}) CHECK(look(held[i]) == seen[i == 0 ? 0 : i + 1]);
}

TEST_CASE("batches stay valid after the loader, and after the daemon") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 12, 2);
  Batch batch;
  Seen seen;
  {
    Loader loader = attach({.socket = daemon.socket(), .spec = PhotoSpec{}.toml(daemon.dir() / "photos")});
    batch = loader.next(20'000).batch;
    seen = look(batch);
  }
  CHECK(look(batch) == seen);
  daemon.stop(SIGKILL);
  CHECK(look(batch) == seen);
}

}  // namespace spdld::epochs_test
