#include "daemon/base/random.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace spdld::random_test {

using namespace spdld;

using Counter4 = std::array<uint32_t, 4>;

TEST_CASE("Philox4x32-10 gives the published numbers") {  // Random123's kat_vectors
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Counter4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        Counter4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Counter4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("draw_key is 64-bit FNV-1a") {  // the reference vectors of draft-eastlake-fnv
  CHECK(draw_key("") == 0xcbf29ce484222325);
  CHECK(draw_key("a") == 0xaf63dc4c8601ec8c);
  CHECK(draw_key("foobar") == 0x85944171f73967e8);
}

TEST_CASE("a draw follows the mapping that a seed stands for") {
  const uint64_t seed = 0x1122334455667788, epoch = 0x0000000300000002, sample = 0x0000000500000004,
                 key = 0xAABBCCDD11223344;
  const auto place = philox4x32({4, 5, 2, 3}, {0x55667788, 0x11223344});
  const auto block0 = philox4x32({0, place[2], 0x11223344, 0xAABBCCDD}, {place[0], place[1]});
  const auto block1 = philox4x32({1, place[2], 0x11223344, 0xAABBCCDD}, {place[0], place[1]});
  Draw draw(seed, epoch, sample, key);
  for (const uint32_t word : block0) CHECK(draw.bits() == word);
  for (const uint32_t word : block1) CHECK(draw.bits() == word);
}

TEST_CASE("golden draws: a seed keeps its meaning") {
  Draw draw(17, 2, 1000, draw_key("crop"));
  CHECK(draw.bits() == 360993455u);
  CHECK(draw.uniform(0, 1) == 0x1.6e82198aed5cp-6);
  CHECK(draw.below(1000000) == 862075);
}

TEST_CASE("draws of neighbouring seeds, epochs, samples and names differ") {
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (uint64_t epoch = 0; epoch < 8; ++epoch) {
      for (uint64_t sample = 0; sample < 32; ++sample) {
        for (uint64_t key = 0; key < 8; ++key) {
          Draw draw(seed, epoch, sample, key);
          const uint32_t first = draw.bits();
          seen.insert({first, draw.bits()});
        }
      }
    }
  }
  CHECK(seen.size() == 8 * 8 * 32 * 8);
}

TEST_CASE("two draws of the same name are the same, whatever was drawn before") {
  const Draws draws{5, 1, 42};
  Draw other = draws.named(draw_key("flip"));
  other.bits();
  Draw a = draws.named(draw_key("crop")), b = draws.named(draw_key("crop"));
  for (int i = 0; i < 10; ++i) CHECK(a.bits() == b.bits());
}

TEST_CASE("uniform stays inside its bounds and is even") {
  Draw draw(1, 0, 0, 0);
  constexpr int kDraws = 100000, kBins = 20;
  std::vector<int> bins(kBins);
  for (int i = 0; i < kDraws; ++i) {
    const double value = draw.uniform(-2.0, 3.0);
    REQUIRE(value >= -2.0);
    REQUIRE(value < 3.0);
    ++bins[static_cast<size_t>((value + 2.0) / 5.0 * kBins)];
  }
  double chi_square = 0;
  for (const int n : bins) chi_square += std::pow(n - kDraws / kBins, 2) / (kDraws / kBins);
  CHECK(chi_square < 43.8);  // 19 degrees of freedom, 0.1 %

  CHECK(draw.uniform(4.0, 4.0) == 4.0);
  const double next = std::nextafter(1.0, 2.0);  // an interval with one value inside
  for (int i = 0; i < 100; ++i) REQUIRE(draw.uniform(1.0, next) == 1.0);
}

TEST_CASE("below is even for small bounds and right for huge ones") {
  Draw draw(1, 0, 1, 0);
  std::vector<int> bins(7);
  for (int i = 0; i < 70000; ++i) ++bins.at(draw.below(7));
  double chi_square = 0;
  for (const int n : bins) chi_square += std::pow(n - 10000, 2) / 10000.0;
  CHECK(chi_square < 22.5);  // 6 degrees of freedom, 0.1 %

  for (int i = 0; i < 100; ++i) REQUIRE(draw.below(1) == 0);
  // With 3 * 2^62 a quarter of the raw numbers must be rejected; without, the lowest third would get half of the
  // results.
  constexpr uint64_t kThird = uint64_t{1} << 62;
  std::vector<int> thirds(3);
  for (int i = 0; i < 30000; ++i) ++thirds.at(draw.below(3 * kThird) / kThird);
  for (const int n : thirds) CHECK(std::abs(n - 10000) < 400);
  CHECK(draw.below(std::numeric_limits<uint64_t>::max()) < std::numeric_limits<uint64_t>::max());
}

TEST_CASE("below_but gives every number but the excluded one, equally often") {
  Draw draw(1, 0, 2, 0);
  for (uint64_t excluded = 0; excluded < 5; ++excluded) {
    std::vector<int> bins(5);
    for (int i = 0; i < 8000; ++i) ++bins.at(draw.below_but(5, excluded));
    CHECK(bins[excluded] == 0);
    bins.erase(bins.begin() + static_cast<std::ptrdiff_t>(excluded));
    for (const int n : bins) CHECK(std::abs(n - 2000) < 200);  // five standard deviations
  }
  CHECK(draw.below_but(2, 0) == 1);
  CHECK(draw.below_but(2, 1) == 0);
}

}  // namespace spdld::random_test
