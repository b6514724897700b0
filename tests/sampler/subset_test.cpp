#include "daemon/sampler/subset.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace spdld::subset_test {

using namespace spdld::sampler;

namespace {

std::vector<uint64_t> ids_of(const Subset& subset) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < subset.size(); ++i) ids.push_back(subset[i]);
  return ids;
}

// As the header says it, the slow way.
std::vector<uint64_t> expected(uint64_t listed, const std::optional<Subset::Ids>& include, const Subset::Ids& exclude,
                               uint64_t first) {
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; id < listed; ++id) {
    if (include && std::find(include->begin(), include->end(), id) == include->end()) continue;
    if (std::find(exclude.begin(), exclude.end(), id) != exclude.end()) continue;
    if (first == 0 || ids.size() < first) ids.push_back(id);
  }
  return ids;
}

}  // namespace

TEST_CASE("a subset has the ids that its lists leave, in order") {
  CHECK(ids_of(Subset(5)) == std::vector<uint64_t>{0, 1, 2, 3, 4});
  CHECK(ids_of(Subset(5, std::nullopt, {}, 2)) == std::vector<uint64_t>{0, 1});
  CHECK(ids_of(Subset(5, std::nullopt, {4, 0, 4}, 0)) == std::vector<uint64_t>{1, 2, 3});
  CHECK(ids_of(Subset(5, Subset::Ids{3, 1, 3}, {}, 0)) == std::vector<uint64_t>{1, 3});
  CHECK(ids_of(Subset(5, Subset::Ids{3, 1, 2}, {1}, 1)) == std::vector<uint64_t>{2});
  CHECK(Subset(5, Subset::Ids{2}, {2}, 0).size() == 0);
  CHECK(ids_of(Subset(5, std::nullopt, {}, 99)).size() == 5);
}

TEST_CASE("only one with every sample is whole") {
  CHECK(Subset(5).is_whole());
  CHECK(Subset(5, std::nullopt, {}, 5).is_whole());
  CHECK(Subset(3, Subset::Ids{2, 1, 0}, {}, 0).is_whole());
  CHECK_FALSE(Subset(5, std::nullopt, {3}, 0).is_whole());
}

TEST_CASE("its memory follows the lists, not the data set") {
  constexpr uint64_t kListed = 1'000'000'000'000;
  const Subset subset(kListed, std::nullopt, {5, 1000, 999'999'999'999}, 0);
  CHECK(subset.ranges().size() == 3);
  CHECK(subset.size() == kListed - 3);
  CHECK(subset[5] == 6);
  CHECK(subset[kListed - 4] == kListed - 2);
  CHECK(Subset(kListed, Subset::Ids{7, 8, 9, 11}, {}, 0).ranges().size() == 2);
}

TEST_CASE("random lists give what they say") {
  std::mt19937_64 random(3);
  const auto some = [&](uint64_t listed, uint64_t most) {
    Subset::Ids ids(random() % (most + 1));
    for (uint64_t& id : ids) id = random() % listed;
    return ids;
  };
  for (int i = 0; i < 1000; ++i) {
    const uint64_t listed = random() % 60 + 1;
    std::optional<Subset::Ids> include;
    if (i % 2 == 0) include = some(listed, 60);
    const auto exclude = some(listed, i % 3 == 0 ? 0 : 40);
    const uint64_t first = i % 5 == 0 ? random() % 30 : 0;
    const Subset subset(listed, include, exclude, first);
    const auto ids = expected(listed, include, exclude, first);
    REQUIRE(ids_of(subset) == ids);
    REQUIRE(subset.size() == ids.size());
    REQUIRE(subset.is_whole() == (ids.size() == listed));
    for (uint64_t id = 0; id <= listed; ++id) {
      REQUIRE(subset.below(id) == static_cast<uint64_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin()));
    }
  }
}

}  // namespace spdld::subset_test
