// The memory that decoding takes: it is lent by budgets, samples wait for it without a pool thread, and whatever
// becomes of a sample or of a stream gives it back.
#include <algorithm>
#include <catch2/catch.hpp>

#include "config/checks/load.h"
#include "tests/pipeline/rig.h"
#include "tests/support/makers/png_maker.h"
#include "tests/support/soon.h"

namespace spdld::memory_test {

using namespace spdld::test;

namespace {

// Pictures of 200 x 150; each needs some 400 KB.
std::vector<uint8_t> picture() { return make_png(200, 150, {.seed = 3}).bytes; }

std::vector<config::OutputSpec> picture_outputs(const std::string& operations = "{ op = \"resize\", size = [8, 8] }") {
  const auto spec = config::load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[batch]\nsize = 1\n"
      "[[output]]\nname = \"image\"\nfrom = \"text\"\n"
      "ops = [{ op = \"decode-image\" }, " +
          operations + "]\n",
      "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return {{"value", "class", {}, {}}, spec.value->outputs.front()};
}

// All memory is lent: threads have none of their own.
Given pictures(const std::shared_ptr<ByteBudget>& memory) {
  Given given;
  given.samples = 60, given.batch_size = 5, given.shuffle = false;
  given.outputs = picture_outputs();
  given.content = picture();
  given.memory = memory;
  given.own_bytes = 0;
  return given;
}

// What one picture is lent.
uint64_t need() {
  const auto budget = std::make_shared<ByteBudget>(uint64_t{1} << 40);
  Given given = pictures(budget);
  given.threads = 1, given.samples = 5;
  Rig rig(given);
  rig.fill_all();
  (void)rig.take();
  return budget->bytes_peak();
}

struct Asker final : ByteBudget::Holder {
  void on_room() override {}
};

void check_all(Rig& rig, int batches) {
  for (int step = 0; step < batches; step++) {
    const Received got = rig.take();
    CHECK(got.ids.front() == 5 * step);
    for (size_t i = 0; i < got.ids.size(); i++) CHECK(got.values[i] == got.ids[i] % 7);
    CHECK(got.batch.flaws.empty());
  }
}

}  // namespace

TEST_CASE("samples that need more than there is room for wait, and come in order all the same", "[memory]") {
  const uint64_t one = need();
  REQUIRE(one > 100'000);
  const auto node = std::make_shared<ByteBudget>(one * 10);
  const auto budget = std::make_shared<ByteBudget>(one * 3 / 2, node);  // one at a time
  {
    Given given = pictures(budget);
    given.threads = 4;
    Asker hog;
    REQUIRE(budget->hold(hog, one));
    Rig rig(given);
    rig.fill_all();
    CHECK(soon([&] { return budget->waits() > 0; }));
    budget->give_back(hog);
    check_all(rig, 12);
    CHECK(rig.pipeline->statistics().memory_waits.value() == 0);  // the machine was not short of memory
  }
  CHECK(budget->bytes_peak() >= one);
  CHECK(budget->bytes_peak() <= one * 3 / 2);
  CHECK(budget->waits() > 0);
  CHECK(node->waits() == 0);
  CHECK(node->bytes() == 0);
}

TEST_CASE("a sample that needs more than all of the budget is decoded alone", "[memory]") {
  const uint64_t one = need();
  const auto budget = std::make_shared<ByteBudget>(one / 3);
  {
    Given given = pictures(budget);
    given.threads = 3;
    Rig rig(given);
    rig.fill_all();
    check_all(rig, 12);
  }
  CHECK(budget->bytes_peak() == one);
  CHECK(budget->bytes() == 0);
}

TEST_CASE("samples within their thread's own memory take no notice of a budget that is used up", "[memory]") {
  const uint64_t one = need();
  const auto budget = std::make_shared<ByteBudget>(100);
  Asker hog;
  REQUIRE(budget->hold(hog, 100));
  Given given = pictures(budget);
  given.own_bytes = one;
  Rig rig(given);
  rig.fill_all();
  check_all(rig, 12);
  CHECK(budget->waits() == 0);
  budget->give_back(hog);
}

TEST_CASE("a user whose memory is used up keeps no other user waiting, and no pool thread", "[memory]") {
  const uint64_t one = need();
  const auto node = std::make_shared<ByteBudget>(4 * one);
  const auto greedy = std::make_shared<ByteBudget>(2 * one, node), other = std::make_shared<ByteBudget>(2 * one, node);
  Asker hog;
  REQUIRE(greedy->hold(hog, 2 * one));
  Rig waiting(pictures(std::make_shared<ByteBudget>(2 * one, greedy)));
  waiting.fill_all();
  while (greedy->waiting() == 0) std::this_thread::yield();
  Rig going(pictures(std::make_shared<ByteBudget>(2 * one, other)));
  going.fill_all();
  check_all(going, 12);
  waiting.wait([&] { return waiting.ready.empty(); });
  CHECK(other->bytes() == 0);
  greedy->give_back(hog);
  check_all(waiting, 12);
  CHECK(node->bytes() == 0);
}

TEST_CASE("samples that wait for memory leave their pool thread to samples that need none", "[memory]") {
  const uint64_t one = need();
  const auto budget = std::make_shared<ByteBudget>(one);
  Asker hog;
  REQUIRE(budget->hold(hog, one));
  Given given = pictures(budget);
  given.threads = 1;
  Rig rig(given);
  rig.fill_all();
  // The only thread comes to each sample of the three batches that are open.
  while (budget->waiting() < 15) std::this_thread::yield();
  budget->give_back(hog);
  check_all(rig, 12);
  CHECK(budget->bytes() == 0);
}

TEST_CASE("a stream that stops, seeks or fails while samples wait for memory ends, and gives all back", "[memory]") {
  const uint64_t one = need();
  const auto node = std::make_shared<ByteBudget>(one * 4);
  const auto budget = std::make_shared<ByteBudget>(one, node);
  Asker hog;
  SECTION("stops") {
    REQUIRE(budget->hold(hog, one));
    Rig rig(pictures(budget));
    rig.fill_all();
    while (budget->waiting() == 0) std::this_thread::yield();
    rig.stream->stop();
    rig.wait([&] { return rig.quiet; });  // although the memory is still held
    CHECK(budget->waiting() == 0);
  }
  SECTION("stops while samples wait for the node's memory, and hold their pipeline's") {
    Asker above;
    REQUIRE(node->hold(above, 4 * one));
    Rig rig(pictures(budget));
    rig.fill_all();
    while (node->waiting() == 0) std::this_thread::yield();
    rig.stream->stop();
    rig.wait([&] { return rig.quiet; });
    CHECK(budget->bytes() == 0);
    node->give_back(above);
  }
  SECTION("seeks") {
    REQUIRE(budget->hold(hog, one));
    Given given = pictures(budget);
    given.epochs = 0;
    Rig rig(given);
    rig.fill_all();
    while (budget->waiting() == 0) std::this_thread::yield();
    rig.stream->seek(1, {1, 2});
    budget->give_back(hog);
    rig.wait([&] { return rig.abandoned == rig.slots.size(); });
    CHECK(budget->bytes() == 0);
  }
  SECTION("has bad content") {
    Given given = pictures(budget);
    given.content[given.content.size() / 2] ^= 0xFF;  // it is lent memory before the damage is seen
    given.on_bad = config::OnBad::kMask;
    Rig rig(given);
    rig.fill_all();
    for (int step = 0; step < 12; step++) CHECK(rig.take().batch.masked.size() == 5);
    CHECK(budget->bytes_peak() == one);
  }
  SECTION("fails") {
    Given given = pictures(budget);
    given.content[given.content.size() / 2] ^= 0xFF;
    given.on_bad = config::OnBad::kFail;
    Rig rig(given);
    rig.fill_all();
    rig.wait([&] { return !rig.failure.empty(); });
  }
  if (hog.held_bytes() > 0) budget->give_back(hog);
  CHECK(budget->bytes() == 0);
  CHECK(node->bytes() == 0);
}

TEST_CASE("operations that would take more memory than a sample may are bad content, before they take any",
          "[memory]") {
  Given given = pictures(nullptr);
  given.limits.bytes_max = 4 << 20;
  given.on_bad = config::OnBad::kMask;
  const std::string large = "{ op = \"resize\", size = [3000, 3000] }, ", last = "{ op = \"center-crop\", size = 8 }";
  const auto budget = std::make_shared<ByteBudget>(uint64_t{1} << 40);
  given.memory = budget;
  SECTION("a blur of a picture that was made large") {
    given.outputs = picture_outputs(large + "{ op = \"gaussian-blur\", kernel_size = 5 }, " + last);
    Rig rig(given);
    rig.fill_all();
    const Received got = rig.take();
    CHECK(got.batch.masked.size() == 5);
    REQUIRE(got.batch.flaws.size() == 5);
    CHECK_THAT(got.batch.flaws[0].reason,
               Catch::Contains("its operations need more memory") && Catch::Contains("limits.sample_bytes_max"));
    CHECK(budget->bytes_peak() < 4 << 20);
  }
  SECTION("two outputs, which take the memory one after the other") {
    const auto blurred = [](const std::string& name, const std::string& side) {
      auto outputs =
          picture_outputs("{ op = \"resize\", size = [" + side + ", " + side +
                          "] }, { op = \"gaussian-blur\", kernel_size = 5 }, { op = \"center-crop\", size = 8 }");
      outputs.back().name = name;
      return outputs.back();
    };
    const auto [first, second, masked] =
        GENERATE(table<std::string, std::string, size_t>({{"450", "450", 0}, {"450", "1300", 5}, {"1300", "450", 5}}));
    CAPTURE(first, second);
    given.outputs = {picture_outputs().front(), blurred("one", first)};
    if (masked == 0) {
      Rig rig(given);
      rig.fill_all();
      rig.take();
    }
    const uint64_t bytes_of_one = budget->bytes_peak();
    given.outputs.push_back(blurred("two", second));
    Rig rig(given);
    rig.fill_all();
    CHECK(rig.take().batch.masked.size() == masked);
    if (masked == 0) CHECK(budget->bytes_peak() == bytes_of_one);
  }
  SECTION("what is made large in one pass takes no memory for it") {
    given.outputs = picture_outputs(large + last);
    Rig rig(given);
    rig.fill_all();
    CHECK(rig.take().batch.masked.empty());
  }
}

TEST_CASE("the work on a batch as a whole is lent memory, too, and waits for it", "[memory]") {
  class Large final : public pipeline::Finisher {
   public:
    uint64_t bytes_of(const batch::Batch&) const override { return 1000; }
    Status finish(const batch::Batch&, uint8_t*) override { return Done{}; }
  };
  const auto budget = std::make_shared<ByteBudget>(1500);
  Given given;
  given.finisher = [] { return std::make_unique<Large>(); };
  given.memory = budget;
  given.own_bytes = 300;
  Asker hog;
  REQUIRE(budget->hold(hog, 1000));
  {
    Rig rig(given);
    rig.fill_all();
    while (budget->waiting() < 3) std::this_thread::yield();  // one for each of the slots
    SECTION("it comes once there is room") {
      budget->give_back(hog);
      for (int step = 0; step < 5; step++) CHECK(rig.take().values.size() == 4);
      CHECK(budget->bytes_peak() <= 1500);
    }
    SECTION("a stream that stops does not wait for room") {
      rig.stream->stop();
      rig.wait([&] { return rig.quiet; });
    }
  }
  if (hog.held_bytes() > 0) budget->give_back(hog);
  CHECK(budget->bytes() == 0);
}

}  // namespace spdld::memory_test
