// The mixer on batches in memory: which samples are mixed with which, and by what draws.
#include "daemon/pipeline/mixer.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "config/checks/load.h"
#include "daemon/base/beta.h"
#include "tests/pipeline/rig.h"

namespace spdld::mixer_test {

using namespace spdld;

namespace {

constexpr uint64_t kGroup = 3, kSeed = 5;

config::PipelineSpec spec_of(const std::string& share, const std::string& order, const std::string& group = "3") {
  const auto loaded = config::load_pipeline_toml(
      "name = \"m\"\nseed = 5\n[source]\ntype = \"image-folder\"\nuri = \"/data\"\n[order]\n" + order +
          "\n[[output]]\nname = \"y\"\nfrom = \"class\"\nops = [{ op = \"one-hot\", classes = 2, dtype = "
          "\"float64\" }]\n[batch]\nsize = 6\ngroup = " +
          group +
          "\nlam = \"lam\"\npartner = \"partner\"\nops = [{ op = "
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

TEST_CASE("rows of one sample are mixed with rows of another one") {
  Batch batch(spec_of("1", "repeats = 3", "6"));
  batch.run(12, 6);
  for (uint64_t i = 0; i < 6; i++) batch.check(12, i, (i + 3) % 6, lam_at(7, 12 + i));
  batch.run(18, 5);  // the end of an epoch: some row would meet its own sample
  for (uint64_t i = 0; i < 5; i++) batch.check(18, i, i, 1);
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

// A batch of pictures of 4 x 6 pixels whose sample at position p has p boxes, numbered 10 p + i, with masks.
struct MosaicBatch {
  static constexpr const char* kMosaic =
      "mosaic\", images = [\"image\"], boxes = \"boxes\", labels = [\"labels\", \"masks\"], min_part = 0";

  // `op`: the operation's name, a quotation mark, and its parameters.
  static config::PipelineSpec spec(const std::string& op, int group) {
    const auto list = [](const std::string& name, const std::string& ops, int most, const std::string& form) {
      return "[[output]]\nname = \"" + name + "\"\nfrom = \"" + name + "\"\nview = \"v\"\nops = [" + ops + "]\n" +
             form + "\nlength_max = " + std::to_string(most) + "\n";
    };
    const auto loaded = config::load_pipeline_toml(
        "name = \"m\"\nseed = 5\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[[output]]\nname = \"image\"\n"
        "from = \"jpg\"\nview = \"v\"\nops = [{ op = \"decode-image\", colours = \"grey\" }, { op = \"resize\", size = "
        "[4, 6] }]\n" +
            list("boxes", "{ op = \"boxes\" }", 20, "ragged = true") +
            list("labels", "{ op = \"keep-with\", of = \"boxes\" }", 12, "pad = \"longest\"") +
            list("masks", "{ op = \"instance-masks\", of = \"boxes\" }", 20, "ragged = true") +
            "[batch]\nsize = 8\ngroup = " + std::to_string(group) + "\nlam = \"lam\"\nops = [{ op = \"" + op + " }]\n",
        "m.toml");
    INFO(loaded.sentences());
    REQUIRE(loaded);
    return *loaded.value;
  }

  explicit MosaicBatch(const std::string& op = kMosaic, int group = 4) : mixer(spec(op, group), layout) {
    slot.memory.resize(layout.slot_bytes());
    slot.of.contents = {};
    batch::clear(layout, slot.of.contents);
  }

  void run(uint64_t count, std::vector<uint32_t> masked = {}) {
    batch::Batch of{&slot.of, 0, {7, 0}, {0, count, 0}};
    of.masked = std::move(masked);
    for (uint64_t p = 0; p < count; ++p) {
      std::memset(at(0, p), static_cast<int>(p), 24);
      set_lengths(p, static_cast<uint32_t>(p));
      auto& labels = slot.of.contents.lengths_of(layout, 1)[p];
      labels = std::min(labels, limit);
      for (uint64_t i = 0; i < p; ++i) {
        const float box[4] = {0, 0, 6, 4};
        const auto label = static_cast<int64_t>(10 * p + i);
        std::memcpy(at(1, p) + 16 * i, box, 16);
        std::memcpy(at(3, p) + 8 * i, &label, 8);
        std::memset(at(4, p) + 24 * i, 1, 24);
      }
    }
    mixer.run(of, slot.memory.data());
  }
  void set_lengths(uint64_t sample, uint32_t length) {
    for (size_t k = 0; k < 3; ++k) slot.of.contents.lengths_of(layout, k)[sample] = length;
  }
  uint32_t limit = 99;  // of the labels of a sample
  uint32_t length(size_t k, uint64_t sample) { return slot.of.contents.lengths_of(layout, k)[sample]; }
  uint8_t* at(size_t tensor, uint64_t sample) { return layout.sample_at(slot.memory.data(), tensor, sample); }

  struct Slot {
    std::vector<uint8_t> memory;
    batch::Slot of;
  };
  batch::Layout layout{
      {{.name = "image", .dtype = config::DType::kUint8, .sample_shape = {4, 6, 1}, .sample_bytes = 24},
       {.name = "boxes",
        .dtype = config::DType::kFloat32,
        .sample_shape = {4},
        .sample_bytes = 320,
        .role = batch::Role::kValues},
       {.name = "boxes.offsets",
        .dtype = config::DType::kInt64,
        .sample_shape = {},
        .sample_bytes = 8,
        .role = batch::Role::kOffsets,
        .of = 1},
       {.name = "labels",
        .dtype = config::DType::kInt64,
        .sample_shape = {12},
        .sample_bytes = 96,
        .padding = batch::Padding{}},
       {.name = "masks",
        .dtype = config::DType::kUint8,
        .sample_shape = {4, 6},
        .sample_bytes = 480,
        .role = batch::Role::kValues},
       {.name = "masks.offsets",
        .dtype = config::DType::kInt64,
        .sample_shape = {},
        .sample_bytes = 8,
        .role = batch::Role::kOffsets,
        .of = 4},
       {.name = "lam", .dtype = config::DType::kFloat32, .sample_shape = {}, .sample_bytes = 4},
       {.name = "sample_id", .dtype = config::DType::kInt64, .sample_shape = {}, .sample_bytes = 8}},
      8,
      1 << 20};
  pipeline::Mixer mixer;
  Slot slot;
};

TEST_CASE("a mosaic has the pictures and the lists of a sample and of the three samples before it") {
  MosaicBatch batch;
  batch.run(8);
  size_t full = 0;
  for (uint64_t p = 0; p < 8; ++p) {
    const uint64_t first = p / 4 * 4;
    const auto of = [&](uint64_t from) { return first + (p - first + 4 - from) % 4; };
    Draw draw(kSeed, 7, p, draw_key("mosaic"));
    const auto x = static_cast<uint64_t>(draw.uniform(0, 1) * 6), y = static_cast<uint64_t>(draw.uniform(0, 1) * 4);
    for (uint64_t line = 0; line < 4; ++line)
      for (uint64_t column = 0; column < 6; ++column)
        REQUIRE(batch.at(0, p)[6 * line + column] == of((column >= x ? 1 : 0) + (line >= y ? 2 : 0)));
    // Every box is a whole picture: it becomes its quarter.
    std::vector<std::array<float, 4>> boxes;
    std::vector<int64_t> labels;
    for (uint64_t from = 0; from < 4; ++from) {
      const std::array<float, 4> box = {static_cast<float>(from % 2 ? x : 0), static_cast<float>(from / 2 ? y : 0),
                                        static_cast<float>(from % 2 ? 6 : x), static_cast<float>(from / 2 ? 4 : y)};
      if (box[2] - box[0] < 1 || box[3] - box[1] < 1) continue;
      for (uint64_t i = 0; i < of(from) && labels.size() < 12; ++i) {
        boxes.push_back(box);
        labels.push_back(static_cast<int64_t>(10 * of(from) + i));
      }
    }
    full += labels.size() == 12 ? 1 : 0;
    for (size_t k = 0; k < 3; ++k) REQUIRE(batch.length(k, p) == labels.size());
    for (size_t i = 0; i < labels.size(); ++i) {
      std::array<float, 4> box{};
      int64_t label = 0;
      std::memcpy(box.data(), batch.at(1, p) + 16 * i, 16);
      std::memcpy(&label, batch.at(3, p) + 8 * i, 8);
      REQUIRE(box == boxes[i]);
      REQUIRE(label == labels[i]);
      for (uint64_t line = 0; line < 4; ++line)
        for (uint64_t column = 0; column < 6; ++column) {
          const auto right = static_cast<float>(column), down = static_cast<float>(line);
          const bool inside = right >= box[0] && right < box[2] && down >= box[1] && down < box[3];
          REQUIRE(batch.at(4, p)[24 * i + 6 * line + column] == (inside ? 1 : 0));
        }
    }
  }
  CHECK(full > 0);
}

// The same, where objects of the sample before are pasted.
struct PasteBatch : MosaicBatch {
  PasteBatch()
      : MosaicBatch(
            "copy-paste\", masks = \"masks\", images = [\"image\"], boxes = \"boxes\", labels = [\"labels\", "
            "\"masks\"]",
            2) {}
};

TEST_CASE("objects of the sample before cover pictures and masks, where their masks lie") {
  PasteBatch batch;
  batch.run(2);  // sample 1 has an object that is its whole picture; sample 0 has none
  const bool is_pasted = batch.length(0, 0) == 1;
  CHECK(batch.length(0, 1) == 1);
  size_t pasted = is_pasted ? 1 : 0;
  for (int i = 0; i < 24; ++i) CHECK(batch.at(0, 0)[i] == (is_pasted ? 1 : 0));
  // Sample 2 has two objects that cover it, and sample 3 has three: those that are pasted hide all below them.
  PasteBatch more;
  more.run(8);
  for (uint64_t p = 2; p < 8; ++p) {
    const uint64_t partner = p % 2 == 0 ? p + 1 : p - 1;
    const uint8_t shown = *more.at(0, p);
    for (int i = 0; i < 24; ++i) REQUIRE(more.at(0, p)[i] == shown);
    REQUIRE((shown == p || shown == partner));
    if (shown == p) CHECK(more.length(0, p) == p);
    if (shown == partner) {
      ++pasted;
      CHECK(more.length(0, p) >= 1);
      CHECK(more.length(0, p) <= partner);
      int64_t label = 0;
      std::memcpy(&label, more.at(3, p), 8);
      CHECK(label / 10 == static_cast<int64_t>(partner));
    }
  }
  CHECK(pasted > 0);
}

TEST_CASE("rows that one of a mosaic's lists lacks are left out of all of them") {
  MosaicBatch batch;
  batch.limit = 2;
  batch.run(8);
  for (uint64_t p = 0; p < 8; ++p)
    for (size_t k = 0; k < 3; ++k) {
      CHECK(batch.length(k, p) == batch.length(0, p));
      CHECK(batch.length(k, p) <= 8);
    }
  for (uint64_t p = 4; p < 8; ++p)
    for (uint64_t i = 0; i < batch.length(1, p); ++i) {
      int64_t label = 0;
      std::memcpy(&label, batch.at(3, p) + 8 * i, 8);
      CHECK(label % 10 < 2);
    }
}

TEST_CASE("a sample stays as it is where a mosaic has too few others") {
  MosaicBatch batch;
  batch.run(7, {1});
  for (const uint64_t p : {0u, 2u, 3u, 4u, 5u, 6u}) {
    CHECK(std::all_of(batch.at(0, p), batch.at(0, p) + 24, [p](uint8_t pixel) { return pixel == p; }));
    CHECK(batch.length(0, p) == p);
    float lam = 0;
    std::memcpy(&lam, batch.at(6, p), sizeof lam);
    CHECK(lam == 1);
  }
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
