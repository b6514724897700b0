// A position is a place in the global order: whatever number of ranks stands there, and however far it is.
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/sampler/permutation.h"
#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::position_test {

using namespace spdld;
using namespace spdld::test;

namespace {

// A global batch: what its ranks got, in their order.
struct Sample {
  int64_t id = 0, label = 0;
  uint64_t digest = 0;  // of its pixels
  friend bool operator==(const Sample&, const Sample&) = default;
};
using GlobalBatch = std::vector<Sample>;

std::vector<Sample> samples_of(const Batch& batch) {
  std::vector<Sample> samples;
  const auto ids = batch["sample_id"], labels = batch["label"], image = batch["image"];
  const auto values = static_cast<size_t>(image.strides[0]);
  for (size_t i = 0; i < batch.info().valid; i++) {
    Sample sample{static_cast<const int64_t*>(ids.address)[i], static_cast<const int64_t*>(labels.address)[i], 0};
    const float* const pixels = static_cast<const float*>(image.address) + i * values;
    for (size_t at = 0; at < values; at++) {
      uint32_t bits = 0;
      std::memcpy(&bits, pixels + at, sizeof bits);
      sample.digest = (sample.digest ^ bits) * 0x100000001b3ull;
    }
    samples.push_back(sample);
  }
  return samples;
}

// A rank's process takes `steps` batches, tells them sample by sample, and stays: it is to be killed with one in hand.
int take_and_stay(const Job& job, uint64_t steps, Pipe& told) {
  Loader loader = attach(job);
  Batch in_hand;
  for (uint64_t step = 0; step < steps;) {
    const auto next = loader.next(60'000);
    if (next.result == SPDLD_END_OF_EPOCH) continue;
    if (next.result != SPDLD_OK) return 1;
    std::ostringstream line;
    for (const Sample& sample : samples_of(next.batch))
      line << sample.id << ' ' << sample.label << ' ' << sample.digest << ' ';
    told.write(line.str() + "\n");
    in_hand = next.batch;
    step++;
  }
  told.write("done\n");
  pause();
  return 0;
}

// `steps` global batches from `job`'s place on, by so many rank processes, which are all killed then.
std::vector<GlobalBatch> take_with(Job job, uint32_t world_size, uint64_t steps) {
  std::vector<Pipe> told(world_size);
  std::vector<pid_t> ranks;
  job.world_size = world_size;
  for (job.rank = 0; job.rank < world_size; job.rank++) {
    ranks.push_back(in_child([&] { return take_and_stay(job, steps, told[job.rank]); }));
    told[job.rank].close_writer();
  }
  std::vector<GlobalBatch> batches(steps);
  for (Pipe& of_rank : told) {
    for (GlobalBatch& batch : batches) {
      std::istringstream words(of_rank.read_line());
      for (Sample sample; words >> sample.id >> sample.label >> sample.digest;) batch.push_back(sample);
    }
    CHECK(of_rank.read_line() == "done");
  }
  for (const pid_t rank : ranks) kill(rank, SIGKILL);
  for (const pid_t rank : ranks) CHECK(wait_for(rank) == -SIGKILL);
  return batches;
}

uint64_t decoded(const std::string& socket, const std::string& pipeline) {
  const auto described = nlohmann::json::parse(query("describe", pipeline.c_str(), socket.c_str()));
  return described["stages"][1]["samples"];
}

}  // namespace

TEST_CASE("a job killed in the middle of an epoch goes on with other numbers of ranks: the same global batches") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 250, 3, 20, 14);  // 6 steps, the last of 10 samples
  PhotoSpec spec;
  spec.global_size = 48, spec.epochs = 3;
  Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")};
  job.group = "one rank";
  const std::vector<GlobalBatch> expected = take_with(job, 1, 18);
  CHECK(expected[4].size() == 48);
  CHECK(expected[5].size() == 10);
  job.group = "others";
  {
    const Loader loader = attach(job);
    job.fingerprint = loader.info().fingerprint;
  }
  struct Phase {
    uint32_t world_size;
    uint64_t steps;
  };
  std::vector<GlobalBatch> batches;
  for (const Phase& phase : {Phase{8, 8}, Phase{4, 5}, Phase{6, 5}}) {
    job.epoch = batches.size() / 6, job.step = batches.size() % 6;
    INFO("world_size " << phase.world_size << " from epoch " << job.epoch << ", step " << job.step << " on");
    for (GlobalBatch& batch : take_with(job, phase.world_size, phase.steps)) batches.push_back(std::move(batch));
  }
  CHECK(batches == expected);
}

TEST_CASE("step 1,000,000 of an endless run is as near as step 1") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2, 20, 14);
  PhotoSpec spec;
  spec.epochs = 0, spec.batch_size = 10, spec.cache = "off", spec.last = "drop";
  constexpr uint64_t kSteps = 4;  // of an epoch
  for (const uint64_t far : {uint64_t{1}, uint64_t{1'000'001}, uint64_t{1} << 40}) {
    INFO("step " << far);
    spec.name = "far-" + std::to_string(far);  // with counts of its own
    Job job{.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")};
    job.epoch = far / kSteps, job.step = far % kSteps;
    Loader loader = attach(job);
    for (uint64_t step = far; step < far + 6; step++) {  // into the next epochs
      Batch batch;
      while (!batch) batch = loader.next(60'000).batch;
      CHECK(batch.info().epoch == step / kSteps);
      CHECK(batch.info().step == step % kSteps);
      const sampler::Permutation order(40, Draw(static_cast<uint64_t>(spec.seed), step / kSteps, 0, draw_key("order")));
      const std::vector<Sample> samples = samples_of(batch);
      REQUIRE(samples.size() == 10);
      for (uint64_t i = 0; i < 10; i++) CHECK(samples[i].id == static_cast<int64_t>(order(step % kSteps * 10 + i)));
    }
    const auto [epoch, step] = loader.tell();
    CHECK(decoded(daemon.socket(), spec.name) <= (6 + 5) * 10);  // six were given back, and a ring has five slots
    loader.seek(epoch + 1'000'000, step);                        // from there as well
    Batch batch;
    while (!batch) batch = loader.next(60'000).batch;
    CHECK(batch.info().epoch == epoch + 1'000'000);
    // The slots are filled anew once, and once perhaps before the daemon hears of the seek.
    CHECK(decoded(daemon.socket(), spec.name) <= (6 + 5 + 2 * 5) * 10);
  }
}

}  // namespace spdld::position_test
