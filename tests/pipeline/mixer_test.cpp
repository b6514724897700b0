// The mixer on batches in memory: which samples are mixed with which, and by what draws.
#include "daemon/pipeline/mixer.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "config/load.h"
#include "daemon/base/beta.h"
#include "tests/pipeline/rig.h"

namespace spdld::mixer_test {

using namespace spdld;

namespace {

constexpr uint64_t kGroup = 3, kSeed = 5;

config::PipelineSpec spec_of(const std::string& share, const std::string& order) {
  const auto loaded = config::load_pipeline_toml(
      "name = \"m\"\nseed = 5\n[source]\ntype = \"image-folder\"\nuri = \"/data\"\n[order]\n" + order +
          "\n[[output]]\nname = \"y\"\nfrom = \"class\"\nops = [{ op = \"one-hot\", classes = 2, dtype = "
          "\"float64\" }]\n[batch]\nsize = 6\ngroup = 3\nlam = \"lam\"\npartner = \"partner\"\nops = [{ op = "
          "\"mixup\", images = [\"y\"], alpha = 1, share = " +
          share + " }]\n",
      "m.toml");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  return *loaded.value;
}

double lam_at(uint64_t epoch, uint64_t number) {
  Draw draw(kSeed, epoch, number, draw_key("mixup"));
  return draw_beta(draw, 1);
}

// A batch whose sample at each position p has the id 100 + p and the row (p, -p).
struct Batch {
  explicit Batch(const config::PipelineSpec& spec)
      : layout({{"y", config::DType::kFloat64, {2}, 16},
                {"lam", config::DType::kFloat32, {}, 4},
                {"partner", config::DType::kInt64, {}, 8},
                {"sample_id", config::DType::kInt64, {}, 8}},
               6, 1 << 20),
        mixer(spec, layout),
        memory(layout.slot_bytes()) {}

  void run(uint64_t first, uint64_t count, std::vector<uint32_t> masked = {}) {
    batch::Batch of{nullptr, 0, {7, first / 6}, {first, count, 0}};
    of.masked = std::move(masked);
    for (uint64_t i = 0; i < count; i++) {
      const double p = static_cast<double>(first + i);
      put(0, i, std::array{p, -p});
      put(3, i, static_cast<int64_t>(100 + first + i));
    }
    mixer.run(of, memory.data());
  }
  template <typename T>
  void put(size_t tensor, uint64_t i, const T& value) {
    std::memcpy(layout.sample_at(memory.data(), tensor, i), &value, sizeof value);
  }
  template <typename T>
  T at(size_t tensor, uint64_t i) {
    T value;
    std::memcpy(&value, layout.sample_at(memory.data(), tensor, i), sizeof value);
    return value;
  }
  // Sample i is mixed with sample `other` with this lam.
  void check(uint64_t first, uint64_t i, uint64_t other, double lam) {
    INFO("sample " << i << " with " << other);
    const auto row = at<std::array<double, 2>>(0, i);
    const double wanted = static_cast<double>(first + other) * (1 - lam) + static_cast<double>(first + i) * lam;
    CHECK(std::abs(row[0] - wanted) < 1e-12);
    CHECK(std::abs(row[1] + wanted) < 1e-12);
    CHECK(at<float>(1, i) == static_cast<float>(lam));
    CHECK(at<int64_t>(2, i) == static_cast<int64_t>(100 + first + other));
  }

  batch::Layout layout;
  pipeline::Mixer mixer;
  std::vector<uint8_t> memory;
};

}  // namespace

TEST_CASE("each sample of a group is mixed with the sample before it, as it was") {
  Batch batch(spec_of("1", ""));
  batch.run(12, 6);
  for (uint64_t i = 0; i < 6; i++) batch.check(12, i, i % kGroup ? i - 1 : i + 2, lam_at(7, 12 + i));
}

TEST_CASE("the last group may be shorter, and a sample alone stays as it is") {
  Batch batch(spec_of("1", ""));
  batch.run(6, 5);
  batch.check(6, 3, 4, lam_at(7, 9));
  batch.check(6, 4, 3, lam_at(7, 10));
  batch.run(6, 4);
  batch.check(6, 3, 3, 1);
  batch.run(6, 0);
}

TEST_CASE("a masked sample is left out of its group") {
  Batch batch(spec_of("1", ""));
  batch.run(0, 6, {1, 3, 5});
  batch.check(0, 0, 2, lam_at(7, 0));
  batch.check(0, 1, 1, 1);
  batch.check(0, 2, 0, lam_at(7, 2));
  for (const uint64_t i : {3u, 4u, 5u}) batch.check(0, i, i, 1);
}

TEST_CASE("an operation mixes its share of the samples, the same ones in every cut") {
  Batch batch(spec_of("0.25", ""));
  size_t mixed = 0;
  for (uint64_t first = 0; first < 6000; first += 6) {
    batch.run(first, 6);
    for (uint64_t i = 0; i < 6; i++) {
      const bool is_mixed = Draw(kSeed, 7, first + i, draw_key("batch.ops")).uniform(0, 1) < 0.25;
      REQUIRE((batch.at<float>(1, i) != 1) == is_mixed);
      mixed += is_mixed;
    }
  }
  CHECK(mixed > 1300);
  CHECK(mixed < 1700);
}

TEST_CASE("where the client pushes the order, the number of a sample is its place and its id") {
  Batch batch(spec_of("1", "shuffle = \"client\""));
  batch.run(12, 6);
  for (uint64_t i = 0; i < 6; i++)
    batch.check(12, i, i % kGroup ? i - 1 : i + 2, lam_at(7, mix_bits(2 * 65536 + i) ^ (112 + i)));
}

TEST_CASE("a stream hands out batches that are mixed") {
  test::Given given;
  given.shuffle = false, given.samples = 20, given.threads = GENERATE(1u, 4u);
  given.mixes = true;
  test::Rig rig(given);
  rig.fill_all();
  for (uint64_t step = 0; step < 5; step++) {
    const auto got = rig.take(false);
    for (uint64_t i = 0; i < 4; i++) CHECK(got.partners.at(i) == static_cast<int64_t>(4 * step + (i ^ 1)));
    rig.stream->fill(*got.batch.slot);
  }
}

}  // namespace spdld::mixer_test
