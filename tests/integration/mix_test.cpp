// Several sources: proportions, what each batch says of them, and going on in the middle.
#include <signal.h>

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::mix_test {

using namespace spdld;
using namespace spdld::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kPlains = 10, kMany = 40;
constexpr int kEpochs = 3, kEpochSamples = 42, kBatch = 8, kSteps = 6;

// Three of every four samples are of "many", one is of "few".
std::string mixed(const fs::path& folder, int weight = 3, int global_size = 0) {
  PhotoSpec spec;
  spec.batch_size = kBatch, spec.global_size = global_size;
  spec.extra_order = "mix = \"exact\"\nepoch_samples = " + std::to_string(kEpochSamples);
  spec.epochs = kEpochs;
  std::string text = spec.toml(folder);
  const auto table = [&](const std::string& name, int its_weight) {
    return "[[sources]]\nname = \"" + name + "\"\nweight = " + std::to_string(its_weight) +
           "\ntype = \"image-folder\"\nuri = \"" + (folder / name).string() + "\"\n";
  };
  const size_t source = text.find("[source]"), end = text.find("\n[", source + 1) + 1;
  text.replace(source, end - source, table("many", weight) + table("few", 1));
  return text + "\n[[output]]\nname = \"origin\"\nfrom = \"source\"\n";
}

struct Photos {
  Photos() {
    make_photos(daemon.dir() / "many", kMany, 4);
    make_photos(daemon.dir() / "few", kPlains, 5);
  }
  Job job(const std::string& spec) const {
    Job job;
    job.socket = daemon.socket(), job.spec = spec;
    return job;
  }
  Job job() const { return job(mixed(daemon.dir())); }
  DaemonProcess daemon;
};

// A batch with what it says of its sources.
struct Mixed {
  Seen seen;
  std::vector<uint32_t> counts;
  friend bool operator==(const Mixed&, const Mixed&) = default;
};

Mixed look_at(const Batch& batch) {
  Mixed mixed{look(batch), {}};
  const spdld_batch_info info = batch.info();
  mixed.counts.assign(info.source_counts, info.source_counts + info.sources);
  std::vector<uint32_t> really(2);
  const auto* origins = static_cast<const int64_t*>(batch["origin"].address);
  for (uint64_t i = 0; i < info.valid; i++) {
    really.at(static_cast<size_t>(origins[i]))++;
    REQUIRE((mixed.seen.ids[i] >= kMany) == (origins[i] == 1));
  }
  REQUIRE(mixed.counts == really);
  REQUIRE(info.source_names[1] == std::string("few"));
  return mixed;
}

std::vector<Mixed> take_mixed(Loader& loader, size_t batches_max = SIZE_MAX) {
  std::vector<Mixed> all;
  while (all.size() < batches_max) {
    const auto next = loader.next(20'000);
    if (next.result == SPDLD_END) break;
    if (next.result == SPDLD_END_OF_EPOCH) continue;
    REQUIRE(next.result == SPDLD_OK);
    all.push_back(look_at(next.batch));
  }
  return all;
}

}  // namespace

TEST_CASE("a mix: proportions, passes over the ends of epochs, and what batches say") {
  const Photos photos;
  Loader loader = attach(photos.job());
  const spdld_info info = loader.info();
  REQUIRE(info.sources == 2);
  CHECK(info.source_names[0] == std::string("many"));
  CHECK(info.samples == kEpochSamples);
  CHECK(info.steps_per_epoch == kSteps);
  const auto batches = take_mixed(loader);
  REQUIRE(batches.size() == kEpochs * kSteps);
  std::map<int64_t, uint64_t> times;
  std::vector<int64_t> all;
  for (const Mixed& batch : batches) {
    CHECK(batch.counts[0] + batch.counts[1] == batch.seen.valid);
    // 42 is no multiple of 4, so that the cycles of the second epoch lie otherwise in its batches.
    if (batch.seen.valid == kBatch && batch.seen.epoch != 1) CHECK(batch.counts == std::vector<uint32_t>{6, 2});
    for (const int64_t id : batch.seen.ids) times[id]++, all.push_back(id);
  }
  REQUIRE(all.size() == kEpochs * kEpochSamples);
  for (size_t at = 0; at + 4 <= all.size(); at += 4)
    CHECK(std::count_if(all.begin() + static_cast<long>(at), all.begin() + static_cast<long>(at) + 4,
                        [](int64_t id) { return id >= kMany; }) == 1);
  // 126 samples: 94 or 95 of "many" in over two passes, 31 or 32 of "few" in over three.
  for (int64_t id = 0; id < kMany + kPlains; id++) {
    INFO(id);
    CHECK(times[id] >= (id < kMany ? 2u : 3u));
    CHECK(times[id] <= (id < kMany ? 3u : 4u));
  }
}

TEST_CASE("a mix goes on in its middle, by a token, with the same batches and counts") {
  Photos photos;
  std::vector<Mixed> undisturbed;
  std::map<size_t, std::string> states;
  {
    Loader loader = attach(photos.job());
    for (size_t i = 0; i < kEpochs * kSteps; i++) {
      states[i] = loader.state();
      const auto one = take_mixed(loader, 1);
      REQUIRE(one.size() == 1);
      undisturbed.push_back(one[0]);
    }
  }
  photos.daemon.stop(SIGKILL);
  photos.daemon.start();
  for (const size_t at : {size_t{5}, size_t{8}, size_t{17}}) {
    Loader loader = attach(photos.job());
    loader.load_state(states[at]);
    const auto rest = take_mixed(loader);
    CHECK((rest == std::vector<Mixed>(undisturbed.begin() + static_cast<long>(at), undisturbed.end())));
  }
}

TEST_CASE("ranks of a mix have their parts of the same global batches") {
  const Photos photos;
  Loader alone = attach(photos.job());
  const auto whole = take_mixed(alone, kSteps);
  std::vector<std::vector<Mixed>> parts;
  std::vector<Loader> loaders;
  for (uint32_t rank = 0; rank < 2; rank++) {
    Job job = photos.job(mixed(photos.daemon.dir(), 3, kBatch));
    job.group = "pair", job.rank = rank, job.world_size = 2;
    loaders.push_back(attach(job));
    parts.push_back(take_mixed(loaders.back(), kSteps));
  }
  for (size_t step = 0; step < kSteps; step++) {
    std::vector<int64_t> ids = parts[0][step].seen.ids;
    ids.insert(ids.end(), parts[1][step].seen.ids.begin(), parts[1][step].seen.ids.end());
    CHECK(ids == whole[step].seen.ids);
    for (size_t i = 0; i < 2; i++) CHECK(parts[0][step].counts[i] + parts[1][step].counts[i] == whole[step].counts[i]);
  }
}

TEST_CASE("other weights are another run, and describe tells the shares") {
  const Photos photos;
  std::string state;
  {
    Loader loader = attach(photos.job());
    take_mixed(loader, 2);
    state = loader.state();
    const json told = json::parse(query("describe", "photos", photos.daemon.socket().c_str()))["sources"];
    REQUIRE(told.size() == 2);
    CHECK(told[0] == json({{"name", "many"}, {"samples", kMany}, {"weight", 3.0}, {"share", 0.75}}));
    CHECK(told[1] == json({{"name", "few"}, {"samples", kPlains}, {"weight", 1.0}, {"share", 0.25}}));
  }
  Loader other = attach(photos.job(mixed(photos.daemon.dir(), 2)));
  try {
    other.load_state(state);
    FAIL("it was taken");
  } catch (const Exception& e) {
    CHECK(e.result() == SPDLD_CHANGED);
    CHECK_THAT(e.what(), Catch::Contains("the pipeline's spec"));
  }
}

TEST_CASE("every source and its lists must lie in the data roots") {
  const TempDir inside, outside;
  make_photos(outside.path() / "few", kPlains, 5);
  make_photos(inside.path() / "many", kMany, 4);
  make_photos(inside.path() / "few", kPlains, 5);
  const DaemonProcess daemon("[data]\nroots = [\"" + inside.path().string() + "\"]\n");
  const auto refused = [&](const std::string& spec) {
    Job job;
    job.socket = daemon.socket(), job.spec = spec;
    try {
      attach(job);
    } catch (const Exception& e) {
      CHECK(e.result() == SPDLD_DENIED);
      return std::string(e.what());
    }
    return std::string("it was not refused");
  };
  const std::string spec = mixed(inside.path()), uri = "uri = \"" + (inside.path() / "few").string() + "\"";
  const size_t at = spec.find(uri);
  REQUIRE(at != std::string::npos);
  std::string other = spec;
  other.replace(at, uri.size(), "uri = \"" + (outside.path() / "few").string() + "\"");
  CHECK_THAT(refused(other), Catch::Contains((outside.path() / "few").string() + " lies outside the data roots"));
  std::string listed = spec;
  listed.insert(at, "include = \"/etc/passwd\"\n");
  CHECK_THAT(refused(listed), Catch::Contains("/etc/passwd lies outside the data roots"));
  CHECK(refused(spec) == "it was not refused");
}

}  // namespace spdld::mix_test
