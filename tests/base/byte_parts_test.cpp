#include "daemon/base/byte_parts.h"

#include <catch2/catch.hpp>

namespace spdld::byte_parts_test {
namespace {

using Bytes = std::vector<uint8_t>;

TEST_CASE("parts of a file give the bytes that were read, and no others") {
  const Bytes bytes = {2, 3, 4, 8, 9};
  const std::vector<ByteRange> ranges = {{2, 3}, {8, 2}};
  const ByteParts parts(12, ranges, bytes);
  CHECK(!parts.is_whole());
  CHECK(parts.from(0).empty());
  CHECK(parts.next_part(0) == 2);
  CHECK(parts.from(3).size() == 2);
  CHECK(parts.from(3)[0] == 3);
  CHECK(parts.at(8, 2)[1] == 9);
  CHECK(parts.at(8, 3).empty());
  CHECK(parts.at(4, 5).empty());  // over a gap
  CHECK(parts.next_part(5) == 8);
  CHECK(parts.from(10).empty());
  CHECK(parts.next_part(10) == 12);
  CHECK(parts.has({2, 3}));
  CHECK(parts.has({11, 0}));
  CHECK(!parts.has({2, 4}));
}

TEST_CASE("a file is whole where one part has all of its bytes, and where it has none") {
  const Bytes bytes = {1, 2, 3};
  const std::vector<ByteRange> all = {{0, 3}};
  CHECK(ByteParts(3, all, bytes).is_whole());
  CHECK(!ByteParts(4, all, bytes).is_whole());
  CHECK(ByteParts(bytes).is_whole());
  const ByteParts none(0, {}, {});
  CHECK(none.is_whole());
  CHECK(none.from(0).empty());
}

TEST_CASE("ranges are joined over small gaps, and empty ones go") {
  std::vector<ByteRange> ranges = {{20, 5}, {0, 4}, {6, 4}, {40, 0}, {7, 2}};
  join_ranges(ranges, 2);
  CHECK(ranges == std::vector<ByteRange>{{0, 10}, {20, 5}});
}

}  // namespace
}  // namespace spdld::byte_parts_test
