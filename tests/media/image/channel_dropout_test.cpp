// channel-dropout beside the plain meaning of its words: what it draws, and the values that it gives.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/distributions.h"
#include "tests/support/image_programs.h"

namespace spdld::channel_dropout_test {
namespace {

using test::chi_squared;
using test::noise;
using test::program_of;
using test::render;

constexpr Size kPicture{40, 30};
const std::string kWhole = ", { op = \"center-crop\", size = [30, 40] }, { op = \"convert\", layout = \"NHWC\" }";

// The channels that a sample loses, as its own random numbers say: a probability, how many, and an order by Fisher and
// Yates from the end, whose first channels are lost.
std::set<size_t> lost_by(const Draws& draws, double p, uint64_t least, uint64_t greatest) {
  Draw draw = draws.named(draw_key("channel-dropout"));
  if (draw.uniform(0, 1) >= p) return {};
  const uint64_t count = least + draw.below(greatest - least + 1);
  std::array<size_t, 3> order = {0, 1, 2};
  for (size_t left = 3; left > 1; --left) std::swap(order[left - 1], order[draw.below(left)]);
  return {order.begin(), order.begin() + static_cast<ptrdiff_t>(count)};
}

// The channels that have one value all over.
std::set<size_t> filled_in(const std::vector<uint8_t>& tensor) {
  std::set<size_t> filled;
  for (size_t channel = 0; channel < 3; ++channel) {
    bool is_even = true;
    for (size_t i = channel; i < tensor.size(); i += 3) is_even &= tensor[i] == tensor[channel];
    if (is_even) filled.insert(channel);
  }
  return filled;
}

TEST_CASE("channels that a sample's numbers choose have the fill, and the others are as they were", "[dropout]") {
  const PixelRows picture = noise(kPicture, 3);
  const auto program =
      program_of("{ op = \"channel-dropout\", channels = [1, 2], fill = [10, 20, 30], p = 0.7 }" + kWhole);
  constexpr std::array<uint8_t, 3> kFill = {10, 20, 30};
  size_t untouched = 0;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const Draws draws{9, 2, sample};
    const std::set<size_t> lost = lost_by(draws, 0.7, 1, 2);
    untouched += lost.empty() ? 1 : 0;
    std::vector<uint8_t> expected(3 * 40 * 30);
    for (int y = 0; y < kPicture.height; ++y)
      for (size_t i = 0; i < 120; ++i) {
        const size_t at = static_cast<size_t>(y) * 120 + i;
        expected[at] = lost.contains(i % 3) ? kFill[i % 3] : picture.row(y)[i];
      }
    CHECK(render(program, picture, draws).tensor == expected);
  }
  CHECK(untouched > 30);
  CHECK(untouched < 90);
}

TEST_CASE("by default one channel is black, in half of the samples", "[dropout]") {
  const PixelRows picture = noise(kPicture, 4);
  const auto program = program_of("{ op = \"channel-dropout\" }" + kWhole);
  std::map<std::set<size_t>, double> seen;
  constexpr uint64_t kSamples = 3000;
  for (uint64_t sample = 0; sample < kSamples; ++sample) {
    const std::vector<uint8_t> tensor = render(program, picture, {5, 1, sample}).tensor;
    const std::set<size_t> filled = filled_in(tensor);
    ++seen[filled];
    for (const size_t channel : filled) CHECK(tensor[channel] == 0);
  }
  const double none = seen[{}];
  seen.erase(std::set<size_t>{});
  CHECK(std::abs(none - kSamples / 2.0) < 4 * std::sqrt(kSamples / 4.0));
  CHECK(seen.size() == 3);
  CHECK(chi_squared(seen, kSamples - none, 3) < 18.5);  // 2 degrees: beyond 18.5 in one of 10,000
}

TEST_CASE("numbers of channels and sets of them are equally likely", "[dropout]") {
  const PixelRows picture = noise({8, 8}, 5);
  const auto program = program_of(
      "{ op = \"channel-dropout\", channels = [1, 2], fill = 7, p = 1 }, "
      "{ op = \"center-crop\", size = 8 }, { op = \"convert\", layout = \"NHWC\" }");
  std::map<std::set<size_t>, double> seen;
  constexpr uint64_t kSamples = 6000;
  for (uint64_t sample = 0; sample < kSamples; ++sample)
    ++seen[filled_in(render(program, picture, {6, 1, sample}).tensor)];
  CHECK(seen.size() == 6);
  CHECK(chi_squared(seen, kSamples, 6) < 26);  // 5 degrees: beyond 26 in one of 10,000
}

TEST_CASE("a picture of one channel stays as it is", "[dropout]") {
  PixelRows picture = noise(kPicture, 6);
  picture.format = {1, 1};
  picture.stride_bytes = static_cast<size_t>(kPicture.width);
  const auto program = test::grey_program_of("{ op = \"channel-dropout\", p = 1 }" + kWhole);
  const std::vector<uint8_t> tensor = render(program, picture).tensor;
  for (int y = 0; y < kPicture.height; ++y)
    CHECK(std::equal(picture.row(y), picture.row(y) + kPicture.width, tensor.data() + y * kPicture.width));
}

TEST_CASE("other changes before and behind are made in order", "[dropout]") {
  const PixelRows picture = noise(kPicture, 7);
  const auto of = [&](const std::string& ops) { return render(program_of(ops + kWhole), picture, {1, 2, 3}).tensor; };
  const std::string dropout = "{ op = \"channel-dropout\", fill = 200, p = 1 }", invert = "{ op = \"invert\", p = 1 }";
  const std::vector<uint8_t> before = of(invert + ", " + dropout), behind = of(dropout + ", " + invert);
  const std::set<size_t> lost = lost_by({1, 2, 3}, 1, 1, 1);
  for (size_t i = 0; i < before.size(); ++i) {
    const uint8_t value = picture.row(static_cast<int>(i / 120))[i % 120];
    REQUIRE(before[i] == (lost.contains(i % 3) ? 200 : 255 - value));
    REQUIRE(behind[i] == (lost.contains(i % 3) ? 55 : 255 - value));
  }
}

TEST_CASE("what makes no sense in channel-dropout is refused", "[dropout]") {
  const auto complaints = [](const std::string& keys) {
    const auto loaded = config::load_pipeline_toml(
        "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = "
        "\"image\"\n"
        "from = \"image\"\nops = [{ op = \"decode-image\" }, { op = \"channel-dropout\", " +
            keys + " }, { op = \"center-crop\", size = 8 }]\n",
        "test.toml");
    return loaded.sentences();
  };
  using Catch::Contains;
  CHECK_THAT(complaints("channels = [2, 1]"), Contains("must have its least number first"));
  CHECK_THAT(complaints("channels = 3"), Contains("channels"));
  CHECK_THAT(complaints("channels = 1.5"), Contains("channels"));
  CHECK_THAT(complaints("fill = [1, 2]"), Contains("must be one number or [red, green, blue]"));
  CHECK(complaints("channels = [1, 2], fill = [1, 2, 3]").empty());
}

}  // namespace
}  // namespace spdld::channel_dropout_test
