#include "daemon/source/tables/row_places.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "daemon/source/tables/columns.h"

namespace spdld::row_places_test {

using source::RowPlaces;
using source::RowSet;

namespace {

void check_same(const std::vector<RowPlaces::Place>& wanted) {
  RowPlaces places;
  for (const auto& place : wanted) places.add(place.offset, place.length);
  places.fit();
  REQUIRE(places.size() == wanted.size());
  bool is_same = true;
  for (uint64_t row = 0; row < wanted.size(); ++row) is_same &= places[row] == wanted[row];
  CHECK(is_same);
}

}  // namespace

TEST_CASE("rows are where they were added, whatever lies between them and however long they are") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const uint64_t between = round % 3 * 8, rows = random() % 200;
    const unsigned odd_percent = round % 4 * 5;
    std::vector<RowPlaces::Place> wanted;
    uint64_t end = random() % 1000;
    for (uint64_t row = 0; row < rows; ++row) {
      const bool is_odd = random() % 100 < odd_percent;
      const uint64_t length = random() % 100 < odd_percent ? random() % UINT32_MAX : random() % 70'000;
      wanted.push_back({end + (is_odd ? random() % (uint64_t{1} << 40) : 0), static_cast<uint32_t>(length)});
      end = wanted.back().offset + wanted.back().length + between;
    }
    check_same(wanted);
  }
}

TEST_CASE("rows may lie in any order, and several in one place") {
  check_same({});
  check_same(std::vector<RowPlaces::Place>(40, {0, 0}));
  std::vector<RowPlaces::Place> backwards;
  for (uint64_t row = 100; row-- > 0;) backwards.push_back({row * 1000, 10});
  check_same(backwards);
  check_same({17, {UINT64_MAX - UINT32_MAX, UINT32_MAX}});
}

TEST_CASE("short rows that follow one another take three bytes each, and long ones five") {
  constexpr uint64_t kRows = 160'000;
  for (const uint32_t length : {200u, 200'000u}) {
    RowPlaces places;
    for (uint64_t row = 0; row < kRows; ++row) places.add(row * (length + 16), length);
    places.fit();
    CHECK(places.memory_bytes() == (length == 200 ? 3 : 5) * kRows);
  }
}

TEST_CASE("a set of rows has the rows that were added, one by one or many at once") {
  for (const uint64_t first : {0u, 1u, 63u, 64u, 65u, 130u}) {
    for (const uint64_t end : {0u, 1u, 64u, 65u, 127u, 128u, 129u, 400u}) {
      RowSet many, one_by_one;
      for (RowSet* rows : {&many, &one_by_one}) rows->add(7);
      many.add_all(first, end);
      for (uint64_t row = first; row < end; ++row) one_by_one.add(row);
      CHECK(many == one_by_one);
      const uint64_t added = end > first ? end - first : 0;
      CHECK(many.count() == added + (7 < first || 7 >= end ? 1 : 0));
      for (uint64_t row = 0; row < 420; ++row) CHECK(many.has(row) == (row == 7 || (row >= first && row < end)));
    }
  }
}

}  // namespace spdld::row_places_test
