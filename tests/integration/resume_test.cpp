// A run that is killed and goes on, however often, hands out what it would have handed out undisturbed. The seed of
// what is killed and when is Catch2's --rng-seed; a failure prints it.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/integration/killed_run.h"
#include "tests/support/makers/photos.h"

namespace spdld::resume_test {

using namespace spdld;
using namespace spdld::test;
namespace fs = std::filesystem;

namespace {

constexpr int kClasses = 3;

// A sanitizer makes a process's start many times slower.
constexpr int kCycles = SPDLD_SANITIZED ? 12 : 60;  // of each of five settings

struct Setting {
  const char* what;
  int photos;
  uint32_t world_size;
  PhotoSpec spec;
  size_t held = 0;
  bool damaged = false;
};

std::vector<Setting> settings() {
  std::vector<Setting> all(5);
  all[0] = {"one rank, short", 41, 1, {}};
  all[0].spec.batch_size = 4, all[0].spec.epochs = 5;
  all[1] = {"two ranks, drop, nothing cached", 50, 2, {}};
  all[1].spec.batch_size = 3, all[1].spec.epochs = 6, all[1].spec.last = "drop", all[1].spec.cache = "off";
  all[2] = {"not shuffled, bad pictures masked, two batches held", 43, 1, {}, 2, true};
  all[2].spec.batch_size = 5, all[2].spec.epochs = 6, all[2].spec.on_bad = "mask", all[2].spec.cache = "encoded";
  all[2].spec.extra_order = "shuffle = false";
  all[3] = {"three ranks, of which some have none of the last step, bad pictures substituted", 25, 3, {}, 0, true};
  all[3].spec.batch_size = 2, all[3].spec.epochs = 8, all[3].spec.cache = "decoded";
  all[4] = {"two ranks, batches bounded by cost, bad pictures substituted", 47, 2, {}, 0, true};
  all[4].spec.cost_max = 1500, all[4].spec.epochs = 7;
  return all;
}

const std::vector<int> kDamaged = {2, 7, 11, 12, 24};

// Some pictures are cut short, some are no pictures.
void damage(const fs::path& folder) {
  for (const int index : kDamaged) {
    const fs::path file =
        folder / ("class-" + std::to_string(index % kClasses)) / (std::to_string(100000 + index).substr(1) + ".jpg");
    REQUIRE(fs::exists(file));
    if (index % 2)
      std::ofstream(file) << "this is no picture\n";
    else
      fs::resize_file(file, fs::file_size(file) / 2);
  }
}

KilledRun::History undisturbed(const DaemonProcess& daemon, const std::string& spec, uint32_t rank,
                               uint32_t world_size) {
  Job job{.socket = daemon.socket(), .spec = spec, .group = "undisturbed"};
  job.rank = rank, job.world_size = world_size;
  Loader loader = attach(job);
  KilledRun::History history;
  for (const Seen& seen : take_all(loader)) history.emplace(history.size(), seen);
  return history;
}

}  // namespace

TEST_CASE("ranks, their daemon or both are killed 300 times: the history is that of an undisturbed run") {
  KilledRun::Kills kills;
  for (const Setting& setting : settings()) {
    const uint64_t seed = Catch::rngSeed() + 600;
    std::mt19937_64 random(seed);
    INFO(setting.what << ", seed " << seed << " (--rng-seed " << Catch::rngSeed() << ")");
    DaemonProcess daemon("[limits]\ncpu_budget = 1\n");
    const fs::path photos = daemon.dir() / "photos";
    make_photos(photos, setting.photos, kClasses, 20, 14);
    if (setting.damaged) damage(photos);
    const std::string spec = setting.spec.toml(photos);
    std::vector<KilledRun::History> expected;
    for (uint32_t rank = 0; rank < setting.world_size; rank++)
      expected.push_back(undisturbed(daemon, spec, rank, setting.world_size));
    const uint64_t steps = expected[0].size() / static_cast<uint64_t>(setting.spec.epochs);

    for (int cycles = 0; cycles < kCycles;) {  // from the beginning, where a run's end comes before
      KilledRun run(daemon, {spec, setting.world_size, steps, setting.held}, random);
      for (; cycles < kCycles && !run.over(); cycles++) run.cycle();
      run.go_on_to_end();
      for (uint32_t rank = 0; rank < setting.world_size; rank++) CHECK(run.history(rank) == expected[rank]);
      kills.ranks += run.kills().ranks, kills.daemons += run.kills().daemons, kills.repeated += run.kills().repeated;
    }
  }
  CHECK(kills.ranks >= kCycles);
  CHECK(kills.daemons >= kCycles);
  if (!SPDLD_SANITIZED) CHECK(kills.repeated > 0);  // some came between a batch and its checkpoint
}

TEST_CASE("bad pictures have the same substitutes after a kill, and with another number of threads") {
  const uint64_t seed = Catch::rngSeed() + 601;
  std::mt19937_64 random(seed);
  INFO("seed " << seed << " (--rng-seed " << Catch::rngSeed() << ")");
  TempDir dir;
  make_photos(dir.path(), 25, kClasses, 20, 14);
  damage(dir.path());
  PhotoSpec spec;
  spec.epochs = 4;
  const std::string toml = spec.toml(dir.path());
  std::vector<KilledRun::History> expected;
  std::set<std::string> bad;
  for (const char* threads : {"1", "8"}) {
    DaemonProcess daemon(std::string("[limits]\ncpu_budget = ") + threads + "\n");
    expected.push_back(undisturbed(daemon, toml, 0, 1));
    const std::string socket = daemon.socket();
    const auto described = nlohmann::json::parse(query("describe", "photos", socket.c_str()));
    CHECK(described["bad"]["substituted"] == 4 * kDamaged.size());
    const auto errors = nlohmann::json::parse(query("errors", "photos", socket.c_str()));
    for (const auto& error : errors["errors"]) bad.insert(error["sample"].dump());
  }
  CHECK(bad.size() == kDamaged.size());
  CHECK(expected[0] == expected[1]);
  for (const auto& [step, seen] : expected[0])
    for (const int64_t id : seen.ids) REQUIRE_FALSE(bad.contains(std::to_string(id)));

  DaemonProcess daemon;
  KilledRun run(daemon, {toml, 1, expected[0].size() / 4}, random);
  for (int cycles = 0; cycles < 6 && !run.over(); cycles++) run.cycle();
  run.go_on_to_end();
  CHECK(run.history(0) == expected[0]);
}

}  // namespace spdld::resume_test
