// Weighted runs by a real daemon: stopped in the middle and gone on with, and refused where the weights have changed.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::weights_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr int kPhotos = 30, kClasses = 3;

// Photo i of class c is class-<c>/0000<i>.jpg, with i % 3 == c. By id: the photos of class 0 are 0 .. 9, and so on.
void write_weights(const fs::path& file, int of_class_2) {
  std::ofstream text(file);
  text << "picture,note,how often\n";
  for (int id = 0; id < kPhotos; id++) text << id << ",x," << (id < 10 ? 1 : id < 20 ? 0 : of_class_2) << "\n";
}

PhotoSpec weighted_spec(const fs::path& weights, const std::string& more) {
  PhotoSpec spec;
  spec.epochs = 3;
  spec.extra_order = "weights = \"" + weights.string() + "\"\nweights_column = \"how often\"\n" + more;
  return spec;
}

Seen next_batch(Loader& loader) {
  for (;;) {
    const auto next = loader.next(60'000);
    if (next.result == SPDLD_END_OF_EPOCH) continue;
    REQUIRE(next.result == SPDLD_OK);
    return look(next.batch);
  }
}

std::string changed(const Job& job, const std::string& state) {
  Loader loader = attach(job);
  try {
    loader.load_state(state);
  } catch (const Exception& e) {
    return e.result() == SPDLD_CHANGED ? e.what() : "another error";
  }
  return "";
}

}  // namespace

TEST_CASE("a weighted run that is killed goes on in the middle of an epoch, bit for bit") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", kPhotos, kClasses, 40, 30);
  write_weights(daemon.dir() / "weights.csv", 3);
  for (const std::string more : {"epoch_samples = 50", "replacement = false"}) {
    INFO(more);
    PhotoSpec spec = weighted_spec(daemon.dir() / "weights.csv", more);
    spec.name = more.substr(0, 5);
    Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")};
    job.group = "undisturbed";
    std::vector<Seen> expected;
    {
      Loader loader = attach(job);
      expected = take_all(loader);
    }
    const size_t steps = more == "epoch_samples = 50" ? 13 : 5;
    REQUIRE(expected.size() == 3 * steps);
    std::map<int64_t, int> counts;
    for (const Seen& batch : expected)
      for (const int64_t id : batch.ids) ++counts[id];
    CHECK(counts.lower_bound(10) == counts.lower_bound(20));  // those of weight 0
    if (more != "epoch_samples = 50")
      CHECK(std::all_of(counts.begin(), counts.end(), [](auto& c) { return c.second == 3; }));

    job.group = "killed";
    std::vector<Seen> seen;
    std::string state;
    for (size_t kill_at : {size_t{2}, steps + 1, 2 * steps}) {
      Loader loader = attach(job);
      if (!state.empty()) loader.load_state(state);
      while (seen.size() < kill_at) seen.push_back(next_batch(loader));
      state = loader.state();
      CHECK(WIFSIGNALED(daemon.stop(SIGKILL)));
      daemon.start();
    }
    Loader loader = attach(job);
    loader.load_state(state);
    for (const Seen& batch : take_all(loader)) seen.push_back(batch);
    CHECK((seen == expected));
  }
}

TEST_CASE("a sample that is drawn again in an epoch is cropped and flipped anew") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 2, 1);
  PhotoSpec spec;
  spec.batch_size = 1, spec.extra_order = "weights = \"class\"\nepoch_samples = 40";
  Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")});
  std::set<uint64_t> digests;
  std::map<int64_t, int> counts;
  for (const Seen& batch : take_all(loader)) {
    digests.insert(batch.digest);
    ++counts[batch.ids.at(0)];
  }
  CHECK(counts.size() == 2);
  CHECK(counts[0] + counts[1] == 40);
  CHECK(digests.size() == 40);
}

TEST_CASE("other weights are refused by name, and the same data, lists and weights elsewhere are the same run") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", kPhotos, kClasses, 20, 14);
  write_weights(daemon.dir() / "weights.csv", 3);
  PhotoSpec spec = weighted_spec(daemon.dir() / "weights.csv", "epoch_samples = 60");
  const auto job = [&](const std::string& folder = "photos") {
    return Job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / folder)};
  };
  std::string state;
  std::vector<Seen> expected;
  {
    Loader loader = attach(job());
    for (int i = 0; i < 5; i++) next_batch(loader);
    state = loader.state();
    for (int i = 0; i < 3; i++) expected.push_back(next_batch(loader));
  }
  write_weights(daemon.dir() / "weights.csv", 4);
  CHECK_THAT(changed(job(), state),
             Contains("the weighting of the samples differs (and no key of the pipeline); to begin at its position"));
  write_weights(daemon.dir() / "weights.csv", 0);
  CHECK_THAT(changed(job(), state), Contains("the data set's listing and the weighting of the samples differ (and no "
                                             "key of the pipeline); to begin at its position"));
  write_weights(daemon.dir() / "moved.csv", 3);
  fs::copy(daemon.dir() / "photos", daemon.dir() / "copied", fs::copy_options::recursive);
  spec = weighted_spec(daemon.dir() / "moved.csv", "epoch_samples = 60");
  spec.name = "elsewhere", spec.epochs = 90;
  Loader loader = attach(job("copied"));
  loader.load_state(state);
  for (const Seen& batch : expected) CHECK((next_batch(loader) == batch));
  const std::string fingerprint = loader.info().fingerprint;

  spec.extra_order = "weights = \"class\"";
  spec.batch_size = 5;
  Job other = job("copied");
  other.fingerprint = fingerprint;
  try {
    attach(other);
    FAIL("another fingerprint was taken");
  } catch (const Exception& e) {
    CHECK(e.result() == SPDLD_CHANGED);
    CHECK_THAT(e.what(),
               Contains("the data set's listing, the pipeline's spec, the global batch size and the weighting "
                        "of the samples differ"));
  }
}

TEST_CASE("weights lie in the data roots, or are refused with what is wrong") {
  const TempDir dir;
  make_photos(dir.path() / "inside/photos", kPhotos, kClasses, 20, 14);
  write_weights(dir.path() / "inside/weights.csv", 1);
  write_weights(dir.path() / "outside.csv", 1);
  DaemonProcess daemon("[data]\nroots = [\"" + (dir.path() / "inside").string() + "\"]\n");
  const auto refused = [&](const fs::path& weights, const std::string& more) -> std::string {
    try {
      attach({.socket = daemon.socket(), .spec = weighted_spec(weights, more).toml(dir.path() / "inside/photos")});
    } catch (const Exception& e) {
      return (e.result() == SPDLD_DENIED    ? "denied: "
              : e.result() == SPDLD_INVALID ? "invalid: "
                                            : "? ") +
             std::string(e.what());
    }
    return "";
  };
  CHECK(refused(dir.path() / "inside/weights.csv", "").empty());
  CHECK_THAT(refused(dir.path() / "outside.csv", ""),
             Contains("denied: ") && Contains("outside.csv lies outside the data roots"));
  CHECK_THAT(refused(dir.path() / "inside/weights.csv", "replacement = false\nepoch_samples = 21"),
             Contains("invalid: ") && Contains("order.epoch_samples is 21, and 20 samples have a weight above 0"));
  std::ofstream(dir.path() / "inside/weights.csv") << "picture,how often\n0,1\n1,nan\n";
  CHECK_THAT(refused(dir.path() / "inside/weights.csv", ""), Contains("line 3: a weight must be 0 or a number"));
}

}  // namespace spdld::weights_test
