#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "daemon/mixing/operation.h"
#include "tests/support/distributions.h"

namespace spdld::mixing_test {

using namespace spdld;

namespace {

std::unique_ptr<mixing::Operation> make(const std::string& op, double alpha,
                                        const std::vector<config::Signature>& images) {
  config::BatchOperationSpec spec;
  spec.op = op;
  spec.parameters["alpha"] = alpha;
  return mixing::make_operation({spec, images});
}

config::Signature picture(config::DType dtype, config::Layout layout, int64_t height, int64_t width) {
  if (layout == config::Layout::kNchw) return config::tensor(dtype, {3, height, width}, layout);
  return config::tensor(dtype, {height, width, 3}, layout);
}

}  // namespace

TEST_CASE("cutmix's box lies in the picture, and lam is the part that is the sample's own") {
  constexpr int64_t kHeight = 12, kWidth = 20;
  const auto cutmix = make("cutmix", 1,
                           {picture(config::DType::kUint8, config::Layout::kNhwc, kHeight, kWidth),
                            picture(config::DType::kInt16, config::Layout::kNchw, kHeight, kWidth)});
  double sum = 0;
  for (uint64_t position = 0; position < 300; position++) {
    const mixing::Mix mix = cutmix->draw({1, 0, position});
    std::vector<uint8_t> own(kHeight * kWidth * 3), partner(own.size(), 1);
    std::vector<int16_t> planes(own.size()), others(own.size(), 1);
    cutmix->mix(mix, 0, own.data(), std::array<const uint8_t*, 1>{partner.data()});
    cutmix->mix(mix, 1, reinterpret_cast<uint8_t*>(planes.data()),
                std::array{reinterpret_cast<const uint8_t*>(others.data())});
    size_t replaced = 0;
    for (uint64_t y = 0; y < kHeight; y++)
      for (uint64_t x = 0; x < kWidth; x++) {
        const bool inside = x >= mix.box.left && x < mix.box.right && y >= mix.box.top && y < mix.box.bottom;
        replaced += inside;
        for (uint64_t c = 0; c < 3; c++) {
          REQUIRE(own[(y * kWidth + x) * 3 + c] == inside);
          REQUIRE(planes[(c * kHeight + y) * kWidth + x] == inside);
        }
      }
    REQUIRE(std::abs(mix.lam - (1 - static_cast<double>(replaced) / (kHeight * kWidth))) < 1e-12);
    sum += mix.lam;
  }
  CHECK(sum / 300 > 0.5);  // boxes that reach beyond the picture are cut off
  CHECK(sum / 300 < 0.8);
}

TEST_CASE("draws are the position's own, and those of each operation its own") {
  const auto image = picture(config::DType::kFloat32, config::Layout::kNchw, 8, 8);
  const auto mixup = make("mixup", 0.4, {image});
  CHECK(mixup->draw({1, 2, 3}).lam == mixup->draw({1, 2, 3}).lam);
  CHECK(mixup->draw({1, 2, 3}).lam != mixup->draw({1, 2, 4}).lam);
  CHECK(mixup->draw({1, 2, 3}).lam != mixup->draw({1, 3, 3}).lam);
  CHECK(mixup->draw({1, 2, 3}).lam != mixup->draw({2, 2, 3}).lam);
}

// --- mosaic ---

namespace {

constexpr int64_t kHigh = 10, kWide = 14;

std::unique_ptr<mixing::Operation> make_mosaic(const config::Signature& image, const std::vector<double>& center,
                                               double min_size = 1, double min_area = 1, double min_part = 0,
                                               BoxFormat format = BoxFormat::kXyxy) {
  config::BatchOperationSpec spec;
  spec.op = "mosaic";
  spec.parameters = {{"center", center}, {"min_size", min_size}, {"min_area", min_area}, {"min_part", min_part}};
  return mixing::make_operation({spec, {image}, format});
}

// Where the pixel (x, y) of a mosaic comes from: a picture, and its pixel.
struct Source {
  size_t picture;
  int64_t x, y;
};
Source source_of(const mixing::Mix& mix, int64_t x, int64_t y) {
  const auto meet_x = static_cast<int64_t>(mix.x), meet_y = static_cast<int64_t>(mix.y);
  const bool is_right = x >= meet_x, is_lower = y >= meet_y;
  return {static_cast<size_t>((is_right ? 1 : 0) + (is_lower ? 2 : 0)), is_right ? x - meet_x : x + kWide - meet_x,
          is_lower ? y - meet_y : y + kHigh - meet_y};
}

}  // namespace

TEST_CASE("a mosaic has the corners of four pictures around the place where they meet") {
  const auto layout = GENERATE(config::Layout::kNhwc, config::Layout::kNchw);
  const auto mosaic = make_mosaic(picture(config::DType::kInt16, layout, kHigh, kWide), {0, 1});
  const auto at = [&](int64_t x, int64_t y, int64_t c) {
    const bool is_planar = layout == config::Layout::kNchw;
    return static_cast<size_t>(is_planar ? (c * kHigh + y) * kWide + x : (y * kWide + x) * 3 + c);
  };
  for (uint64_t position = 0; position < 200; ++position) {
    const mixing::Mix mix = mosaic->draw({1, 0, position});
    std::array<std::vector<int16_t>, 4> pictures;
    for (size_t i = 0; i < 4; ++i)
      for (size_t pixel = 0; pixel < size_t{3} * kHigh * kWide; ++pixel)
        pictures[i].push_back(static_cast<int16_t>(1000 * i + pixel));
    std::vector<int16_t> made = pictures[0];
    std::array<const uint8_t*, 3> partners{};
    for (size_t i = 0; i < 3; ++i) partners[i] = reinterpret_cast<const uint8_t*>(pictures[i + 1].data());
    mosaic->mix(mix, 0, reinterpret_cast<uint8_t*>(made.data()), partners);
    int64_t own = 0;
    for (int64_t y = 0; y < kHigh; ++y)
      for (int64_t x = 0; x < kWide; ++x) {
        const Source from = source_of(mix, x, y);
        own += from.picture == 0 ? 1 : 0;
        for (int64_t c = 0; c < 3; ++c) REQUIRE(made[at(x, y, c)] == pictures[from.picture][at(from.x, from.y, c)]);
      }
    REQUIRE(std::abs(mix.lam - static_cast<double>(own) / (kHigh * kWide)) < 1e-12);
  }
}

TEST_CASE("the place where a mosaic's pictures meet is uniform") {
  constexpr int64_t kSide = 100'000;
  const auto mosaic =
      make_mosaic(picture(config::DType::kUint8, config::Layout::kNhwc, kSide, 2 * kSide), {0.25, 0.75});
  std::vector<double> xs, ys;
  for (uint64_t position = 0; position < 100'000; ++position) {
    const mixing::Mix mix = mosaic->draw({3, 1, position});
    xs.push_back((static_cast<double>(mix.x) + 0.5) / (2 * kSide));
    ys.push_back((static_cast<double>(mix.y) + 0.5) / kSide);
  }
  CHECK(test::uniform_distance(xs, 0.25, 0.75) < test::kUniformMost);
  CHECK(test::uniform_distance(ys, 0.25, 0.75) < test::kUniformMost);
}

TEST_CASE("boxes of a mosaic lie where the pixels of their objects lie") {
  const auto format = GENERATE(BoxFormat::kXyxy, BoxFormat::kXywh, BoxFormat::kCxcywh);
  const auto mosaic =
      make_mosaic(picture(config::DType::kUint8, config::Layout::kNhwc, kHigh, kWide), {0, 1}, 1, 1, 0, format);
  const auto* const lists = mosaic->lists();
  REQUIRE(lists != nullptr);
  const Corners box{3, 2, 9, 7};
  float numbers[4];
  write_box(format, box, numbers);
  const auto* const row = reinterpret_cast<const uint8_t*>(numbers);
  for (uint64_t position = 0; position < 100; ++position) {
    const mixing::Mix mix = mosaic->draw({1, 0, position});
    // The mask of the object that fills the box.
    std::vector<uint8_t> mask(kHigh * kWide), moved(mask.size(), 7);
    for (int64_t y = 2; y < 7; ++y)
      for (int64_t x = 3; x < 9; ++x) mask[static_cast<size_t>(y * kWide + x)] = 1;
    const std::array<mixing::ListRows, 4> rows = {{{row, 1}, {row, 1}, {row, 1}, {row, 1}}};
    std::vector<mixing::TakenRow> taken;
    lists->choose(mix, {rows, {}}, 4, {}, taken);
    for (uint32_t from = 0; from < 4; ++from) {
      lists->write_mask(mix, from, mask.data(), moved.data());
      int64_t left = kWide, top = kHigh, right = 0, bottom = 0;
      for (int64_t y = 0; y < kHigh; ++y)
        for (int64_t x = 0; x < kWide; ++x) {
          const Source of = source_of(mix, x, y);
          const bool inside = of.picture == from && of.x >= 3 && of.x < 9 && of.y >= 2 && of.y < 7;
          REQUIRE(moved[static_cast<size_t>(y * kWide + x)] == (inside ? 1 : 0));
          if (!inside) continue;
          left = std::min(left, x), right = std::max(right, x + 1);
          top = std::min(top, y), bottom = std::max(bottom, y + 1);
        }
      const bool is_there = right > left;
      const auto is_it = [&](const mixing::TakenRow& one) { return one.from == from; };
      REQUIRE(std::count_if(taken.begin(), taken.end(), is_it) == (is_there ? 1 : 0));
      if (!is_there) continue;
      float out[4];
      lists->write_box(mix, from, row, nullptr, reinterpret_cast<uint8_t*>(out));
      const Corners seen = corners_of(format, out);
      CHECK(std::array{seen.x1, seen.y1, seen.x2, seen.y2} ==
            std::array{static_cast<float>(left), static_cast<float>(top), static_cast<float>(right),
                       static_cast<float>(bottom)});
    }
  }
}

TEST_CASE("a mosaic drops boxes that are nearly cut away, and boxes for which there is no room") {
  const auto image = picture(config::DType::kUint8, config::Layout::kNhwc, kHigh, kWide);
  const mixing::Mix mix{.x = 7, .y = 5};  // of the own picture, its lower right quarter is seen: from (7, 5) on
  // So many of their pixels are left: none of 30, 9 of 24, 35 of 35, 1 of 4, and a column of 5 of 10.
  const float boxes[] = {0, 0, 6, 5, 4, 4, 10, 8, 7, 5, 14, 10, 6, 4, 8, 6, 6, 5, 8, 10};
  const auto places = [&](const mixing::Operation& mosaic, uint64_t most) {
    const mixing::ListRows none, own{reinterpret_cast<const uint8_t*>(boxes), 5};
    std::vector<mixing::TakenRow> taken;
    const std::array rows = {own, none, none, none};
    mosaic.lists()->choose(mix, {rows, {}}, most, {}, taken);
    std::vector<uint32_t> found;
    for (const auto& row : taken) found.push_back(row.place);
    return found;
  };
  using Places = std::vector<uint32_t>;
  CHECK(places(*make_mosaic(image, {0, 1}), 9) == Places{1, 2, 3, 4});
  CHECK(places(*make_mosaic(image, {0, 1}, 1, 1, 0.3), 9) == Places{1, 2, 4});
  CHECK(places(*make_mosaic(image, {0, 1}, 1, 1, 0.4), 9) == Places{2, 4});
  CHECK(places(*make_mosaic(image, {0, 1}, 3), 9) == Places{1, 2});
  CHECK(places(*make_mosaic(image, {0, 1}, 1, 9), 9) == Places{1, 2});
  CHECK(places(*make_mosaic(image, {0, 1}, 1, 9.5), 9) == Places{2});
  CHECK(places(*make_mosaic(image, {0, 1}), 2) == Places{1, 2});
}

// --- copy-paste ---

namespace {

std::unique_ptr<mixing::Operation> make_copy_paste(config::Layout layout, int64_t min_pixels = 1) {
  config::BatchOperationSpec spec;
  spec.op = "copy-paste";
  spec.parameters = {{"min_pixels", min_pixels}};
  return mixing::make_operation({spec, {picture(config::DType::kUint8, layout, kHigh, kWide)}, BoxFormat::kXyxy});
}

// Objects that fill their boxes.
struct Objects {
  std::vector<float> boxes;
  std::vector<uint8_t> masks;
  void add(int64_t left, int64_t top, int64_t right, int64_t bottom) {
    for (const int64_t side : {left, top, right, bottom}) boxes.push_back(static_cast<float>(side));
    for (int64_t y = 0; y < kHigh; ++y)
      for (int64_t x = 0; x < kWide; ++x) masks.push_back(x >= left && x < right && y >= top && y < bottom ? 1 : 0);
  }
  uint32_t count() const { return static_cast<uint32_t>(boxes.size() / 4); }
  mixing::ListRows box_rows() const { return {reinterpret_cast<const uint8_t*>(boxes.data()), count()}; }
  mixing::ListRows mask_rows() const { return {masks.data(), count()}; }
};

using Rows = std::vector<std::pair<uint32_t, uint32_t>>;

struct Pasted {
  Rows rows;
  std::vector<uint8_t> shade;
};

Pasted paste(const mixing::Operation& operation, const mixing::Mix& mix, const Objects& own, const Objects& other,
             uint64_t most = 99) {
  Pasted pasted{{}, std::vector<uint8_t>(kHigh * kWide, 9)};
  const std::array boxes = {own.box_rows(), other.box_rows()}, masks = {own.mask_rows(), other.mask_rows()};
  std::vector<mixing::TakenRow> taken = {{7, 7}};  // of another sample
  operation.lists()->choose(mix, {boxes, masks}, most, pasted.shade, taken);
  operation.lists()->cast({{}, masks}, std::span(taken).subspan(1), pasted.shade);
  for (const auto& row : std::span(taken).subspan(1)) pasted.rows.emplace_back(row.from, row.place);
  CHECK((taken.front().from == 7 && taken.front().place == 7));
  return pasted;
}

}  // namespace

TEST_CASE("copy-paste covers a sample's picture and objects with objects of its partner") {
  const auto layout = GENERATE(config::Layout::kNhwc, config::Layout::kNchw);
  const auto operation = make_copy_paste(layout);
  Objects own, other;
  own.add(0, 0, 4, 4), own.add(6, 5, 9, 9), own.add(12, 0, 14, 2);
  other.add(2, 1, 10, 9);  // the only one, so it is always pasted: it covers the second object, and a part of the first
  const mixing::Mix mix = operation->draw({1, 2, 3});
  const Pasted pasted = paste(*operation, mix, own, other);
  CHECK(pasted.rows == Rows{{0, 0}, {0, 2}, {1, 0}});
  mixing::Mix shaded = mix;
  shaded.shade = pasted.shade;
  std::vector<uint8_t> mine(3 * kHigh * kWide, 1);
  const std::vector<uint8_t> theirs(mine.size(), 2);
  operation->mix(shaded, 0, mine.data(), std::array{theirs.data()});
  const auto* const lists = operation->lists();
  std::vector<uint8_t> mask(kHigh * kWide);
  lists->write_mask(shaded, 0, own.masks.data(), mask.data());
  for (int64_t y = 0; y < kHigh; ++y)
    for (int64_t x = 0; x < kWide; ++x) {
      const bool covered = x >= 2 && x < 10 && y >= 1 && y < 9;
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t at = layout == config::Layout::kNchw ? (c * kHigh + y) * kWide + x : (y * kWide + x) * 3 + c;
        REQUIRE(mine[static_cast<size_t>(at)] == (covered ? 2 : 1));
      }
      REQUIRE(mask[static_cast<size_t>(y * kWide + x)] == (x < 4 && y < 4 && !covered ? 1 : 0));
    }
  lists->write_mask(shaded, 1, other.masks.data(), mask.data());
  CHECK(mask == other.masks);
  const auto box_of = [&](uint32_t from, const Objects& of, size_t place) {
    std::array<float, 4> box{};
    lists->write_box(shaded, from, reinterpret_cast<const uint8_t*>(&of.boxes[4 * place]),
                     &of.masks[kHigh * kWide * place], reinterpret_cast<uint8_t*>(box.data()));
    return box;
  };
  CHECK(box_of(0, own, 0) == std::array<float, 4>{0, 0, 4, 4});  // its corner is covered alone
  CHECK(box_of(0, own, 2) == std::array<float, 4>{12, 0, 14, 2});
  CHECK(box_of(1, other, 0) == std::array<float, 4>{2, 1, 10, 9});
}

TEST_CASE("a box of copy-paste is drawn around the pixels that are left of its object") {
  const auto operation = make_copy_paste(config::Layout::kNhwc);
  Objects own, other;
  own.add(2, 2, 8, 6);
  own.boxes = {2.25, 1.75, 8, 6};
  other.add(5, 0, 14, 10);
  mixing::Mix mix = operation->draw({1, 2, 3});
  const Pasted pasted = paste(*operation, mix, own, other);
  mix.shade = pasted.shade;
  float box[4];
  const auto* const row = reinterpret_cast<const uint8_t*>(own.boxes.data());
  operation->lists()->write_box(mix, 0, row, own.masks.data(), reinterpret_cast<uint8_t*>(box));
  CHECK(std::array{box[0], box[1], box[2], box[3]} == std::array<float, 4>{2, 2, 5, 6});
  const std::vector<uint8_t> nothing(kHigh * kWide);
  mix.shade = nothing;
  operation->lists()->write_box(mix, 0, row, own.masks.data(), reinterpret_cast<uint8_t*>(box));
  CHECK(std::array{box[0], box[1], box[2], box[3]} == std::array<float, 4>{2.25, 1.75, 8, 6});
}

TEST_CASE("copy-paste keeps to the room of the lists, and drops objects that are nearly covered") {
  Objects own, other, none;
  own.add(0, 0, 4, 4), own.add(3, 3, 6, 6), own.add(8, 8, 9, 9);
  other.add(0, 0, 3, 4);
  const auto rows = [&](int64_t min_pixels, uint64_t most, const Objects& of) {
    const auto operation = make_copy_paste(config::Layout::kNhwc, min_pixels);
    return paste(*operation, operation->draw({1, 1, 1}), own, of, most).rows;
  };
  CHECK(rows(1, 99, other) == Rows{{0, 0}, {0, 1}, {0, 2}, {1, 0}});
  CHECK(rows(2, 99, other) == Rows{{0, 0}, {0, 1}, {1, 0}});
  CHECK(rows(5, 99, other) == Rows{{0, 1}, {1, 0}});  // 4 pixels are left of the first one
  CHECK(rows(1, 2, other) == Rows{{0, 0}, {1, 0}});
  CHECK(rows(1, 1, other) == Rows{{1, 0}});
  CHECK(rows(1, 99, none) == Rows{{0, 0}, {0, 1}, {0, 2}});
}

// Of n objects each is drawn by at least one of n numbers.
TEST_CASE("copy-paste draws each object of the partner alike") {
  constexpr uint64_t kDraws = 100'000;
  const auto operation = make_copy_paste(config::Layout::kNhwc);
  Objects other;
  for (int64_t i = 0; i < 4; ++i) other.add(i, i, i + 1, i + 1);
  std::vector<double> counts(4);
  double pasted = 0;
  for (uint64_t position = 0; position < kDraws; ++position)
    for (const auto& [from, place] : paste(*operation, operation->draw({2, 0, position}), {}, other).rows) {
      REQUIRE(from == 1);
      ++counts[place], ++pasted;
    }
  const double chance = 1 - std::pow(0.75, 4), wanted = chance * kDraws;
  for (const double count : counts) CHECK(std::abs(count - wanted) < 4 * std::sqrt(wanted * (1 - chance)));
}

}  // namespace spdld::mixing_test
