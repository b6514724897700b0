// five-crop and ten-crop: which pixels their pieces have, and which part of the picture is decoded for them.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/media/chain.h"
#include "daemon/media/node.h"
#include "tests/support/image_programs.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::pieces_test {
namespace {

using test::noise;
using test::program_of;
using test::render;

struct Piece {
  int x, y;
  bool mirrored = false, flipped = false;
};

// The pieces of 8 x 5 pixels, cut out of the rows one by one.
std::vector<uint8_t> cut(const PixelRows& rows, const std::vector<Piece>& pieces) {
  std::vector<uint8_t> all;
  for (const Piece& piece : pieces) {
    for (int y = 0; y < 5; ++y) {
      const uint8_t* row = rows.row(piece.y + (piece.flipped ? 4 - y : y)) + 3 * piece.x;
      for (int x = 0; x < 8; ++x) {
        const uint8_t* pixel = row + 3 * (piece.mirrored ? 7 - x : x);
        all.insert(all.end(), pixel, pixel + 3);
      }
    }
  }
  return all;
}

const std::string kFive = "{ op = \"five-crop\", size = [5, 8] }";

// The middle of 25 x 14 is at (8.5, 4.5), which torchvision rounds to the even (8, 4). The middle of the mirrored
// picture is at the same place of that: at 25 - 8 - 8 = 9 of the picture itself.
const std::vector<Piece> kCorners = {{0, 0}, {17, 0}, {0, 9}, {17, 9}, {8, 4}};

TEST_CASE("the corners and the middle of a picture are five pieces", "[pieces]") {
  const PixelRows rows = noise({25, 14}, 4);
  const auto program = program_of(kFive);
  CHECK(program.tensor().shape == std::vector<int64_t>{5, 5, 8, 3});
  const auto made = render(program, rows);
  CHECK(made.tensor == cut(rows, kCorners));
  CHECK(made.geometry.decoded == Box{0, 0, 25, 14});
}

TEST_CASE("ten pieces are those of the picture and of its mirrored one", "[pieces]") {
  const PixelRows rows = noise({25, 14}, 4);
  std::vector<Piece> across = kCorners, down = kCorners;
  for (const Piece& piece : {Piece{17, 0}, Piece{0, 0}, Piece{17, 9}, Piece{0, 9}, Piece{9, 4}})
    across.push_back({piece.x, piece.y, true, false});
  for (const Piece& piece : {Piece{0, 9}, Piece{17, 9}, Piece{0, 0}, Piece{17, 0}, Piece{8, 5}})
    down.push_back({piece.x, piece.y, false, true});
  const auto program = program_of("{ op = \"ten-crop\", size = [5, 8] }");
  CHECK(program.tensor().shape == std::vector<int64_t>{10, 5, 8, 3});
  CHECK(render(program, rows).tensor == cut(rows, across));
  CHECK(render(program_of("{ op = \"ten-crop\", size = [5, 8], vertical_flip = true }"), rows).tensor ==
        cut(rows, down));
}

TEST_CASE("pieces of the picture's own size are the picture", "[pieces]") {
  const PixelRows rows = noise({8, 5}, 4);
  CHECK(render(program_of(kFive), rows).tensor == cut(rows, std::vector<Piece>(5)));
}

// What a chain gives with `end` behind five-crop is what it gives for each piece that a crop alone cuts out.
void check_alone(const std::string& before, const std::string& end, const PixelRows& rows) {
  CAPTURE(before, end);
  const auto pieces = render(program_of(before + kFive + end), rows).tensor;
  const auto middle = render(program_of(before + "{ op = \"center-crop\", size = [5, 8] }" + end), rows).tensor;
  REQUIRE(pieces.size() == 5 * middle.size());
  CHECK(std::memcmp(pieces.data() + 4 * middle.size(), middle.data(), middle.size()) == 0);
}

TEST_CASE("pieces are what a single crop is behind other operations", "[pieces]") {
  const PixelRows rows = noise({61, 47}, 4);
  const std::string normalize =
      ", { op = \"normalize\", mean = [0.5, 0.4, 0.3], std = [0.2, 0.3, 0.4], layout = \"NCHW\" }";
  for (const std::string& end : {std::string(), normalize, std::string(", { op = \"convert\", layout = \"NCHW\" }")})
    for (const char* before :
         {"", "{ op = \"resize\", size = 20 }, ", "{ op = \"resize\", size = 20, filter = \"bicubic\" }, ",
          "{ op = \"resize\", size = 20 }, { op = \"invert\", p = 1 }, ", "{ op = \"vertical-flip\", p = 1 }, ",
          "{ op = \"center-crop\", size = [20, 70] }, ", "{ op = \"pad\", padding = 3, mode = \"reflect\" }, "})
      check_alone(before, end, rows);
  check_alone("{ op = \"invert\", p = 1 }, { op = \"grayscale\", channels = 1 }, ", "", rows);
}

TEST_CASE("a picture is decoded smaller only as far as all pieces allow it", "[pieces]") {
  const auto reduction = [](const std::string& ops) {
    const test::PictureChain program(test::output_of(ops, ", fast = true"));
    image::Geometry geometry;
    program.resolve({800, 640}, {}, geometry);
    return geometry.reduction;
  };
  CHECK(reduction("{ op = \"resize\", size = 80 }, " + kFive) == 4);
  CHECK(reduction(kFive) == 1);
}

test::PictureChain grid_of(const std::string& parameters, const std::string& decode = "") {
  return test::PictureChain(test::output_of("{ op = \"grid\", " + parameters + " }", decode, "ragged = true\n"));
}

TEST_CASE("the tiles of a grid are what a resize of the whole picture has there", "[pieces]") {
  const PixelRows rows = noise({50, 21}, 4);
  for (const char* filter : {"bilinear", "bicubic", "nearest"}) {
    const std::string by = std::string(", filter = \"") + filter + "\" }";
    const auto made = render(
        grid_of(std::string("size = 16, tiles_max = 6, thumbnail = \"last\", filter = \"") + filter + "\""), rows);
    const auto thumbnail = render(program_of("{ op = \"resize\", size = [16, 16]" + by), rows).tensor;
    CAPTURE(filter);
    CHECK(made.geometry.grid == std::array<int32_t, 4>{1, 2, 21, 50});
    REQUIRE(made.geometry.pieces.size() == 3);
    const auto all = render(program_of("{ op = \"resize\", size = [16, 32]" + by), rows).tensor;
    constexpr size_t kRow = 16 * 3, kTile = 16 * kRow;
    for (size_t tile = 0; tile < 2; ++tile)
      for (size_t y = 0; y < 16; ++y)
        REQUIRE(std::memcmp(made.tensor.data() + tile * kTile + y * kRow, all.data() + (2 * y + tile) * kRow, kRow) ==
                0);
    CHECK(std::memcmp(made.tensor.data() + 2 * kTile, thumbnail.data(), kTile) == 0);
  }
}

TEST_CASE("a tile beside the picture is black", "[pieces]") {
  const PixelRows rows = noise({10, 60}, 4);
  const auto made = render(grid_of("size = 20, grids = [\"1x3\", \"1x5\"], rule = \"resolution\""), rows);
  CHECK(made.geometry.grid == std::array<int32_t, 4>{1, 3, 60, 10});
  constexpr size_t kTile = 20 * 20 * 3;
  const auto is_black = [&](size_t tile) {
    return std::all_of(made.tensor.begin() + static_cast<std::ptrdiff_t>(tile * kTile),
                       made.tensor.begin() + static_cast<std::ptrdiff_t>((tile + 1) * kTile),
                       [](uint8_t value) { return value == 0; });
  };
  CHECK(is_black(0));
  CHECK_FALSE(is_black(1));
  CHECK(is_black(2));
}

TEST_CASE("a grid's picture is decoded smaller as far as its tiles allow it, whatever its thumbnail", "[pieces]") {
  const auto reduction = [](const std::string& parameters) {
    const auto program = grid_of("size = 50, thumbnail = \"first\", " + parameters, ", fast = true");
    image::Geometry geometry;
    program.resolve({800, 800}, {}, geometry);
    return geometry.reduction;
  };
  CHECK(reduction("grids = [\"2x2\", \"1x9\"]") == 4);
  CHECK(reduction("grids = [\"4x4\", \"1x9\"]") == 2);
}

// Runs a chain on one picture, as a decode thread does.
struct Ran {
  Status status;
  std::vector<uint8_t> tensor;
  uint32_t length;               // of the sample
  std::array<int32_t, 4> extra;  // a further tensor
};
Ran run(const std::string& ops, const std::vector<uint8_t>& png, uint64_t length_max = 0,
        config::TooLong too_long = config::TooLong::kBad) {
  const config::OutputSpec output = test::output_of(ops, "", length_max > 0 ? "ragged = true\n" : "");
  const config::Followed followed = config::follow(output.ops, config::start_of(output.ops), output.varying.form);
  const media::Chain chain(output.ops, followed, output.name);
  Ran ran{Done{}, std::vector<uint8_t>(test::PictureChain(output).tensor().bytes(), 0x5C), 77, {}};
  media::Workspace workspace;
  media::Field field{.bytes = png};
  media::TensorOut out[] = {{.memory = ran.tensor.data()}, {.memory = reinterpret_cast<uint8_t*>(ran.extra.data())}};
  if (length_max > 0) out[0].length_max = length_max, out[0].length = &ran.length, out[0].too_long = too_long;
  media::Value value{.bytes = png};
  const Draws draws;
  ran.status = chain.run(value, {0, draws, workspace, &field, out});
  return ran;
}

TEST_CASE("a picture that is smaller than a piece is bad content", "[pieces]") {
  const std::vector<uint8_t> png = test::make_png(8, 5).bytes;
  CHECK(run(kFive, png).status);
  for (const char* size : {"[6, 8]", "[5, 9]"}) {
    const Status status = run(std::string("{ op = \"ten-crop\", size = ") + size + " }", png).status;
    REQUIRE_FALSE(status);
    CHECK(status.error().trouble == Trouble::kContent);
    CHECK_THAT(status.error().message, Catch::Contains("8 x 5 pixels"));
  }
}

TEST_CASE("a sample has as many places as pieces, and no more than it may have", "[pieces]") {
  const std::vector<uint8_t> png = test::make_png(40, 10).bytes;
  const std::string ops = "{ op = \"grid\", size = 4, tiles_max = 6, thumbnail = \"last\", shape = \"tiles\" }";
  constexpr size_t kTile = 4 * 4 * 3;
  const Ran whole = run(ops, png, 7);
  REQUIRE(whole.status);
  CHECK(whole.length == 5);
  CHECK(whole.extra == std::array<int32_t, 4>{1, 4, 10, 40});
  const auto untouched_from = [](const Ran& ran, size_t tile) {
    return std::all_of(ran.tensor.begin() + static_cast<std::ptrdiff_t>(tile * kTile), ran.tensor.end(),
                       [](uint8_t value) { return value == 0x5C; });
  };
  CHECK(untouched_from(whole, 5));
  const Ran cut = run(ops, png, 2, config::TooLong::kCut);
  REQUIRE(cut.status);
  CHECK(cut.length == 2);
  CHECK(untouched_from(cut, 2));
  CHECK(std::memcmp(cut.tensor.data(), whole.tensor.data(), 2 * kTile) == 0);
  const Ran bad = run(ops, png, 2);
  REQUIRE_FALSE(bad.status);
  CHECK(bad.status.error().trouble == Trouble::kContent);
  CHECK_THAT(bad.status.error().message, Catch::Contains("5 is above length_max = 2"));
}

}  // namespace
}  // namespace spdld::pieces_test
