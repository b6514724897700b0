// The sheet of small pictures: what is a picture, how values become colours, and when a sheet is taken.
#include "daemon/node/seats/sheet.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "tests/node/fakes.h"

namespace spdld::node::sheet_test {
namespace {

using batch::TensorPlace;
using config::DType;

constexpr uint64_t kS = 1'000'000'000;

TensorPlace tensor(const std::string& name, DType dtype, std::vector<int64_t> shape) {
  uint64_t bytes = config::dtype_bytes(dtype);
  for (const int64_t side : shape) bytes *= static_cast<uint64_t>(side);
  return {.name = name, .dtype = dtype, .sample_shape = std::move(shape), .sample_bytes = bytes};
}

// A slot of a layout, as a decode thread has filled it.
struct Filled {
  explicit Filled(std::vector<TensorPlace> tensors, uint64_t samples = 2)
      : layout(std::move(tensors), samples, 64 << 20) {
    slot.memory = std::make_unique<test::FakeMemory>(std::make_shared<test::FakeMemory::Rules>(), layout.slot_bytes());
    batch.slot = &slot;
    batch.slice.count = samples;
    batch.position = {3, 7};
  }
  template <typename T>
  void set(size_t at, uint64_t sample, size_t element, T value) {
    std::memcpy(layout.sample_at(slot.memory->fill_address(), at, sample) + element * sizeof value, &value,
                sizeof value);
  }
  std::shared_ptr<const Sheet> sheet(std::span<const config::OutputSpec> outputs = {},
                                     const std::vector<std::string>& classes = {}) {
    SheetTaker taker(layout, outputs, classes);
    taker.want(kS);
    taker.look(batch, kS);
    return taker.latest(kS);
  }
  std::vector<uint8_t> pixel(size_t at, std::span<const config::OutputSpec> outputs = {}) {
    const auto found = sheet(outputs);
    REQUIRE(found);
    return {found->rgb.begin() + static_cast<long>(at * 3), found->rgb.begin() + static_cast<long>(at * 3 + 3)};
  }

  batch::Layout layout;
  batch::Slot slot;
  batch::Batch batch;
};

using Rgb = std::vector<uint8_t>;

std::optional<PictureTensor> found_in(std::vector<TensorPlace> tensors) {
  return picture_tensor(batch::Layout(std::move(tensors), 1, 64 << 20), {});
}

}  // namespace

TEST_CASE("a picture has one or three channels, first or last", "[node]") {
  const auto last = found_in({tensor("ids", DType::kInt64, {}), tensor("image", DType::kUint8, {4, 6, 3})});
  REQUIRE(last);
  CHECK(last->tensor == 1);
  CHECK_FALSE(last->channels_first);
  CHECK(std::tuple(last->height, last->width, last->channels) == std::tuple(4u, 6u, 3u));
  const auto first = found_in({tensor("image", DType::kFloat32, {1, 4, 6})});
  REQUIRE(first);
  CHECK(first->channels_first);
  CHECK(std::tuple(first->height, first->width, first->channels) == std::tuple(4u, 6u, 1u));
  CHECK(found_in({tensor("clip", DType::kFloat16, {8, 4, 6, 3})}));  // its first frame
  CHECK_FALSE(found_in({tensor("boxes", DType::kFloat32, {100, 4})}));
  CHECK_FALSE(found_in({tensor("mask", DType::kInt64, {4, 6, 1})}));
  CHECK_FALSE(found_in({tensor("many", DType::kFloat32, {7, 4, 6})}));
  CHECK_FALSE(found_in({}));
}

TEST_CASE("notes stand at the rows of their samples, where others are absent", "[node]") {
  Filled filled({tensor("image", DType::kUint8, {2, 2, 3})}, 5);
  filled.batch.absent = {0, 3}, filled.batch.substituted = {1}, filled.batch.masked = {4};
  const auto sheet = filled.sheet();
  REQUIRE(sheet);
  CHECK(sheet->samples == 3);
  REQUIRE(sheet->pictures.size() == 3);
  CHECK(sheet->pictures[0].note == "replaced");
  CHECK(sheet->pictures[1].note.empty());
  CHECK(sheet->pictures[2].note == "masked");
}

TEST_CASE("8-bit colours are shown as they are", "[node]") {
  Filled filled({tensor("image", DType::kUint8, {2, 2, 3})});
  for (uint8_t i = 0; i < 12; i++) filled.set<uint8_t>(0, 0, i, i * 10);
  for (uint8_t i = 0; i < 12; i++) filled.set<uint8_t>(0, 1, i, 200);
  CHECK(filled.pixel(0) == Rgb{0, 10, 20});
  CHECK(filled.pixel(3) == Rgb{90, 100, 110});
  CHECK(filled.pixel(4) == Rgb{200, 200, 200});  // of the second picture
  const auto sheet = filled.sheet();
  CHECK(sheet->output == "image");
  CHECK(sheet->dtype == "uint8");
  CHECK(sheet->shape == std::vector<uint64_t>{2, 2, 3});
  CHECK(std::tuple(sheet->width, sheet->height, sheet->epoch, sheet->step, sheet->samples) ==
        std::tuple(2u, 2u, 3u, 7u, 2u));
  CHECK_FALSE(sheet->is_stretched);
}

TEST_CASE("channels that stand first, and a single one, become colours", "[node]") {
  Filled colours({tensor("image", DType::kUint8, {3, 1, 2})});
  for (uint8_t i = 0; i < 6; i++) colours.set<uint8_t>(0, 0, i, i * 10);
  CHECK(colours.pixel(0) == Rgb{0, 20, 40});
  CHECK(colours.pixel(1) == Rgb{10, 30, 50});
  Filled grey({tensor("image", DType::kUint8, {1, 2, 1})});
  grey.set<uint8_t>(0, 0, 1, 77);
  CHECK(grey.pixel(1) == Rgb{77, 77, 77});
}

TEST_CASE("what normalize did is undone", "[node]") {
  config::OutputSpec output;
  output.name = "image";
  output.ops = {{"normalize", {{"mean", std::vector{0.5, 0.25, 0.0}}, {"std", std::vector{0.5, 0.25, 1.0}}}, {}}};
  const std::vector outputs = {output};
  Filled filled({tensor("image", DType::kFloat32, {3, 2, 2})});
  filled.set(0, 0, 0, 1.0f), filled.set(0, 0, 4, -1.0f), filled.set(0, 0, 8, 0.5f);
  CHECK(filled.pixel(0, outputs) == Rgb{255, 0, 128});
  CHECK_FALSE(filled.sheet(outputs)->is_stretched);
}

TEST_CASE("values of another scale are brought to colours", "[node]") {
  const auto shown = [](float low, float high) {
    Filled filled({tensor("image", DType::kFloat32, {1, 2, 1})}, 1);
    filled.set(0, 0, 0, low), filled.set(0, 0, 1, high);
    const auto sheet = filled.sheet();
    return std::tuple(sheet->rgb[0], sheet->rgb[3], sheet->is_stretched);
  };
  CHECK(shown(0.25f, 1.0f) == std::tuple(64, 255, false));
  CHECK(shown(51.0f, 204.0f) == std::tuple(51, 204, false));
  CHECK(shown(-2.0f, 2.0f) == std::tuple(0, 255, true));
  CHECK(shown(100.0f, 1000.0f) == std::tuple(0, 255, true));
  CHECK(shown(-3.0f, -3.0f) == std::tuple(0, 0, true));
  CHECK(shown(std::numeric_limits<float>::quiet_NaN(), 1.0f) == std::tuple(0, 255, false));
}

TEST_CASE("numbers of 16 bits are read", "[node]") {
  Filled half({tensor("image", DType::kFloat16, {1, 4, 1})}, 1);
  const std::array<uint16_t, 4> halves = {0x3c00, 0x3800, 0x0000, 0x3555};  // 1, 0.5, 0, 0.333
  for (size_t i = 0; i < 4; i++) half.set(0, 0, i, halves[i]);
  const auto sheet = half.sheet();
  CHECK(std::tuple(sheet->rgb[0], sheet->rgb[3], sheet->rgb[6], sheet->rgb[9]) == std::tuple(255, 128, 0, 85));
  Filled brain({tensor("image", DType::kBfloat16, {1, 2, 1})}, 1);
  brain.set<uint16_t>(0, 0, 0, 0x3f80), brain.set<uint16_t>(0, 0, 1, 0x3e80);  // 1, 0.25
  CHECK(std::tuple(brain.sheet()->rgb[0], brain.sheet()->rgb[3]) == std::tuple(255, 64));
  Filled tiny({tensor("image", DType::kFloat16, {1, 2, 1})}, 1);
  tiny.set<uint16_t>(0, 0, 0, 0xfc00), tiny.set<uint16_t>(0, 0, 1, 0xc000);  // minus infinity, -2
  CHECK(tiny.sheet()->is_stretched);
}

TEST_CASE("a sheet has few and small pictures", "[node]") {
  Filled filled({tensor("image", DType::kUint8, {300, 600, 3})}, 40);
  for (size_t i = 0; i < 300 * 600 * 3; i++) filled.set<uint8_t>(0, 0, i, 9);
  const auto sheet = filled.sheet();
  CHECK(std::pair(sheet->width, sheet->height) == std::pair(128u, 64u));
  CHECK(sheet->pictures.size() == SheetTaker::kPicturesMax);
  CHECK(sheet->samples == 40);
  CHECK(sheet->rgb.size() == SheetTaker::kPicturesMax * 128 * 64 * 3);
  CHECK(std::count(sheet->rgb.begin(), sheet->rgb.begin() + 128 * 64 * 3, 9) == 128 * 64 * 3);
  Filled line({tensor("image", DType::kUint8, {1, 4000, 3})}, 1);
  CHECK(line.sheet()->height == 1);
  filled.batch.slice.count = 3;  // the epoch's last batch
  CHECK(filled.sheet()->pictures.size() == 3);
}

TEST_CASE("pictures have the words that stand beside them", "[node]") {
  config::OutputSpec label;
  label.name = "label", label.from = "class";
  const std::vector outputs = {label};
  Filled filled({tensor("image", DType::kUint8, {1, 1, 3}), tensor("sample_id", DType::kInt64, {}),
                 tensor("label", DType::kInt64, {})},
                3);
  for (int64_t i = 0; i < 3; i++)
    filled.set(1, static_cast<uint64_t>(i), 0, 100 + i), filled.set(2, static_cast<uint64_t>(i), 0, i);
  filled.batch.substituted = {1, 99};
  filled.batch.masked = {2};
  const auto named = filled.sheet(outputs, {"cat", "dog"});
  CHECK(named->pictures[0].label == "cat");
  CHECK(named->pictures[1].label == "dog");
  CHECK(named->pictures[2].label == "label 2");
  CHECK(named->pictures[1].sample == 101u);
  CHECK(named->pictures[0].note == "");
  CHECK(named->pictures[1].note == "replaced");
  CHECK(named->pictures[2].note == "masked");
  CHECK(filled.sheet({}, {"cat", "dog"})->pictures[0].label == "label 0");  // a number, not a class
}

TEST_CASE("a sheet is taken while somebody wants one, at most once in a second", "[node]") {
  Filled filled({tensor("image", DType::kUint8, {1, 1, 3})});
  SheetTaker taker(filled.layout, {}, {});
  taker.look(filled.batch, kS);
  CHECK_FALSE(taker.latest(kS));
  taker.want(kS);
  CHECK_FALSE(taker.latest(kS));  // nobody wanted the batch before
  taker.look(filled.batch, kS);
  const auto first = taker.latest(kS);
  REQUIRE(first);
  taker.look(filled.batch, 2 * kS - 1);
  CHECK(taker.latest(2 * kS) == first);
  taker.look(filled.batch, 2 * kS);
  CHECK(taker.latest(2 * kS) != first);
  taker.tick(10 * kS);
  CHECK(taker.latest(10 * kS));
  CHECK_FALSE(taker.latest(11 * kS));
  taker.tick(11 * kS);
  taker.want(12 * kS);
  CHECK_FALSE(taker.latest(12 * kS));  // the old one is forgotten
}

TEST_CASE("decode threads take sheets while the page asks for them", "[node]") {
  Filled filled({tensor("image", DType::kUint8, {8, 8, 3})});
  SheetTaker taker(filled.layout, {}, {});
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([&] {
      for (uint64_t at = 1; at < 200; at++) taker.look(filled.batch, at * kS);
    });
  uint64_t seen = 0;
  for (uint64_t at = 1; at < 200; at++) {
    taker.want(at * kS);
    if (const auto sheet = taker.latest(at * kS)) seen += sheet->rgb.size();
    taker.tick(at * kS);
  }
  for (auto& thread : threads) thread.join();
  CHECK(seen % (2 * 8 * 8 * 3) == 0);
}

TEST_CASE("a batch without pictures gives no sheet", "[node]") {
  Filled filled({tensor("value", DType::kInt64, {})});
  SheetTaker taker(filled.layout, {}, {});
  CHECK_FALSE(taker.has_pictures());
  taker.want(kS);
  taker.look(filled.batch, kS);
  CHECK_FALSE(taker.latest(kS));
}

}  // namespace spdld::node::sheet_test
