// Masks of objects, drawn from polygons and run lengths. tests/pixels compares many of them with pycocotools.
#include "daemon/media/image/operations/views/object_mask.h"

#include <catch2/catch.hpp>
#include <string>

namespace spdld::object_mask_test {
namespace {

using image::ObjectMask;

constexpr Size kPicture{6, 4};

// The lines of the mask: "#" inside of the object, and "." outside.
std::string text_of(const ObjectMask& mask, const Size& size = kPicture) {
  std::string text;
  for (int y = 0; y < size.height; ++y) {
    const uint8_t* const row = mask.row(y);
    for (int x = 0; x < size.width; ++x) text += row != nullptr && row[x] == 1 ? '#' : '.';
    text += ' ';
  }
  return text;
}

struct Drawn {
  ObjectMask mask;
  Drawn() {
    mask.open(kPicture);
    mask.begin();
  }
  std::string polygon(const std::vector<double>& corners) {
    const Status added = mask.add_polygon(corners);
    return added ? text_of(mask) : added.error().message;
  }
  std::string runs(const std::vector<uint32_t>& runs) {
    const Status added = mask.add_runs(runs);
    return added ? text_of(mask) : added.error().message;
  }
  std::string packed(const std::string& packed) {
    const Status added = mask.add_packed_runs(packed);
    return added ? text_of(mask) : added.error().message;
  }
};

TEST_CASE("a polygon has the pixels whose middles it has", "[mask]") {
  CHECK(Drawn().polygon({1, 1, 4, 1, 4, 3, 1, 3}) == "...... .###.. .###.. ...... ");
  CHECK(Drawn().polygon({1, 3, 4, 3, 4, 1, 1, 1}) == "...... .###.. .###.. ...... ");
  CHECK(Drawn().polygon({0, 0, 6, 0, 6, 4, 0, 4}) == "###### ###### ###### ###### ");
  CHECK(Drawn().polygon({-9, -9, 99, -9, 99, 99, -9, 99}) == "###### ###### ###### ###### ");
  // A corner is rounded to a fifth of a pixel: half a pixel, or 2.5 fifths, to 3 of them.
  CHECK(Drawn().polygon({0.5, 0, 4, 0, 4, 3, 0.5, 3}) == ".###.. .###.. .###.. ...... ");
  CHECK(Drawn().polygon({9, 0, 12, 0, 12, 4}) == "...... ...... ...... ...... ");
  CHECK(Drawn().polygon({2, 2, 2, 2, 2, 2}) == "...... ...... ...... ...... ");
}

TEST_CASE("an object has all of its polygons, and the next one has none of them", "[mask]") {
  Drawn drawn;
  drawn.polygon({0, 0, 2, 0, 2, 2, 0, 2});
  CHECK(drawn.polygon({4, 2, 6, 2, 6, 4, 4, 4}) == "##.... ##.... ....## ....## ");
  drawn.mask.begin();
  CHECK(text_of(drawn.mask) == "...... ...... ...... ...... ");
  CHECK(drawn.polygon({1, 1, 4, 1, 4, 2, 1, 2}) == "...... .###.. ...... ...... ");
  // Without pixels on a line there is no row.
  CHECK(drawn.mask.row(0) == nullptr);
  CHECK(drawn.mask.row(1) != nullptr);
}

TEST_CASE("polygons that are none are refused", "[mask]") {
  using Catch::Contains;
  CHECK_THAT(Drawn().polygon({1, 1, 4, 1}), Contains("4 numbers") && Contains("three corners"));
  CHECK_THAT(Drawn().polygon({1, 1, 4, 1, 4, 3, 1}), Contains("7 numbers"));
  CHECK_THAT(Drawn().polygon({}), Contains("0 numbers"));
  CHECK_THAT(Drawn().polygon({1, 1, 4, 1, 4, 3e8}), Contains("too far away"));
  CHECK_THAT(Drawn().polygon({1, 1, 4, 1, 4, std::numeric_limits<double>::infinity()}), Contains("too far away"));
}

TEST_CASE("runs go down the columns", "[mask]") {
  CHECK(Drawn().runs({5, 6, 13}) == "..#... .##... .##... .#.... ");
  CHECK(Drawn().runs({0, 24}) == "###### ###### ###### ###### ");
  CHECK(Drawn().runs({24}) == "...... ...... ...... ...... ");
  CHECK(Drawn().runs({0, 1, 0, 1, 22}) == "#..... #..... ...... ...... ");
  CHECK(Drawn().runs({5, 6, 12}) == "its counts are 23 pixels together, and the picture has 24");
  CHECK_THAT(Drawn().runs({4294967295U, 4294967295U}), Catch::Contains("8589934590 pixels together"));
  CHECK_THAT(Drawn().runs({}), Catch::Contains("0 pixels together"));
}

// As pycocotools packs the runs [5, 6, 13] and, where the fourth run is a difference to the second, [5, 6, 3, 2, 8].
TEST_CASE("packed runs have five bits in a character, and differences", "[mask]") {
  CHECK(Drawn().packed("56=") == Drawn().runs({5, 6, 13}));
  CHECK(Drawn().packed("563L5") == Drawn().runs({5, 6, 3, 2, 8}));
  CHECK(Drawn().packed("h0") == "...... ...... ...... ...... ");  // 24 has six bits with its sign
  CHECK_THAT(Drawn().packed("56"), Catch::Contains("11 pixels together"));
  CHECK_THAT(Drawn().packed("56=P"), Catch::Contains("end within a number"));
  CHECK_THAT(Drawn().packed("PPPPPPPP0"), Catch::Contains("too large"));
  CHECK_THAT(Drawn().packed("5\x7f"), Catch::Contains("stands for no bits"));
  CHECK_THAT(Drawn().packed("5 "), Catch::Contains("stands for no bits"));
  CHECK_THAT(Drawn().packed("O"), Catch::Contains("a run of -1 pixels"));
  CHECK_THAT(Drawn().packed("ooo0"), Catch::Contains("a run of 32767 pixels"));
}

TEST_CASE("the work for a picture's objects is bounded", "[mask]") {
  ObjectMask mask;
  mask.open({1000, 1000});
  mask.begin();
  const auto square = [&](double side) {
    return mask.add_polygon(std::vector<double>{0, 0, side, 0, side, side, 0, side});
  };
  CHECK(square(1e6));  // 80 million
  const Status refused = square(3e6);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().trouble == Trouble::kContent);
  CHECK_THAT(refused.error().message, Catch::Contains("too large to be drawn"));
  mask.open({1000, 1000});
  mask.begin();
  CHECK(square(2e3));
  CHECK_FALSE(square(1e8));
}

}  // namespace
}  // namespace spdld::object_mask_test
