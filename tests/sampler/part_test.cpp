#include "daemon/sampler/part.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

namespace spdld::part_test {

using namespace spdld::sampler;
using config::PartSpec;

namespace {

PartSpec fold(uint64_t of, std::vector<uint64_t> index, uint64_t seed = 0) {
  PartSpec spec;
  spec.of = of, spec.index = std::move(index), spec.seed = seed;
  return spec;
}

PartSpec fraction(double of, bool rest = false, uint64_t seed = 0) {
  PartSpec spec;
  spec.fraction = of, spec.rest = rest, spec.seed = seed;
  return spec;
}

bool takes(const PartSpec& spec, const std::string& name) {
  const DatasetPart part(spec);
  return part.takes(part.place_of(name));
}

std::string name_of(int number) {
  return "class-" + std::to_string(number % 7) + "/" + std::to_string(number) + ".jpg";
}

}  // namespace

TEST_CASE("each name is in one part of several, and in the rest of all others") {
  std::array<int, 5> sizes{};
  for (int number = 0; number < 20'000; ++number) {
    int found = 0;
    for (uint64_t index = 0; index < 5; ++index) {
      const bool inside = takes(fold(5, {index}), name_of(number));
      PartSpec rest = fold(5, {index});
      rest.rest = true;
      REQUIRE(takes(rest, name_of(number)) != inside);
      found += inside ? 1 : 0, sizes[index] += inside ? 1 : 0;
    }
    REQUIRE(found == 1);
    REQUIRE(takes(fold(5, {1, 3}), name_of(number)) ==
            (takes(fold(5, {1}), name_of(number)) || takes(fold(5, {3}), name_of(number))));
  }
  for (const int size : sizes) CHECK(std::abs(size - 4000) < 300);  // five standard deviations of 57
}

TEST_CASE("a smaller fraction lies within a larger one, and both have about their size") {
  int small = 0, large = 0;
  for (int number = 0; number < 20'000; ++number) {
    const bool in_small = takes(fraction(0.1), name_of(number)), in_large = takes(fraction(0.9), name_of(number));
    REQUIRE((!in_small || in_large));
    REQUIRE(takes(fraction(0.9, true), name_of(number)) != in_large);
    small += in_small ? 1 : 0, large += in_large ? 1 : 0;
  }
  CHECK(std::abs(small - 2000) < 220);
  CHECK(std::abs(large - 18'000) < 220);
}

TEST_CASE("the largest and the smallest fraction take nearly all and nearly none") {
  const double largest = 1 - 0x1p-53, smallest = 5e-324;
  for (int number = 0; number < 1000; ++number) {
    CHECK(takes(fraction(largest), name_of(number)));
    CHECK_FALSE(takes(fraction(smallest), name_of(number)));
  }
  CHECK(DatasetPart(fold(1000, {999})).takes(UINT64_MAX));
  CHECK(DatasetPart(fold(1000, {0})).takes(0));
}

TEST_CASE("another seed draws other parts") {
  int same = 0;
  for (int number = 0; number < 10'000; ++number)
    same += takes(fold(2, {0}, 1), name_of(number)) == takes(fold(2, {0}, 2), name_of(number)) ? 1 : 0;
  CHECK(std::abs(same - 5000) < 250);
}

// To change one of these is to move samples between the parts of all users.
TEST_CASE("what a seed and a name mean never changes") {
  const DatasetPart part(fold(5, {0}, 17));
  CHECK(part.place_of("cat/1.jpg") == 0xB1D2F923033C9F5F);
  CHECK(part.place_of("") == 0x3D6B623763C9C5BB);
  CHECK(part.even_place(3, 7, "cat") == 0x8531A70084776897);
}

TEST_CASE("even places give each part its share of a class, to one sample") {
  for (uint64_t count = 1; count <= 60; ++count) {
    const std::string name = "class " + std::to_string(count);
    uint64_t before = 0, inside = 0;
    std::array<uint64_t, 5> sizes{};
    for (uint64_t number = 0; number < count; ++number) {
      const uint64_t place = DatasetPart(fraction(0.3)).even_place(number, count, name);
      REQUIRE((number == 0 || place > before));
      before = place;
      inside += DatasetPart(fraction(0.3)).takes(place) ? 1 : 0;
      for (uint64_t index = 0; index < 5; ++index) sizes[index] += DatasetPart(fold(5, {index})).takes(place) ? 1 : 0;
    }
    CHECK(std::abs(static_cast<double>(inside) - 0.3 * static_cast<double>(count)) < 1);
    for (const uint64_t size : sizes) CHECK((size == count / 5 || size == count / 5 + 1));
  }
}

TEST_CASE("small classes do not all fall into the same part") {
  std::array<int, 5> sizes{};
  for (int number = 0; number < 5000; ++number)
    for (uint64_t index = 0; index < 5; ++index)
      if (const DatasetPart part(fold(5, {index})); part.takes(part.even_place(0, 1, name_of(number)))) ++sizes[index];
  for (const int size : sizes) CHECK(std::abs(size - 1000) < 150);
}

// A sample comes in at any place of its class: at most one other sample crosses each border.
TEST_CASE("a sample that is added to a class moves at most one other over a border") {
  const DatasetPart part(fraction(0.3));
  for (uint64_t count = 1; count < 40; ++count) {
    for (uint64_t at = 0; at <= count; ++at) {
      int moved = 0;
      for (uint64_t number = 0; number < count; ++number) {
        const bool before = part.takes(part.even_place(number, count, "c"));
        const bool after = part.takes(part.even_place(number + (number >= at ? 1 : 0), count + 1, "c"));
        moved += before != after ? 1 : 0;
      }
      REQUIRE(moved <= 1);
    }
  }
}

}  // namespace spdld::part_test
