#include "tests/batch/batches.h"

#include "daemon/batch/slot.h"
#include "tests/support/allocations.h"

namespace spdld::contents_test {

using namespace spdld;
using batch::Contents;
using batch::Layout;
using batch::Ranges;
using config::DType;
using memory::Range;

TEST_CASE("a batch is packed: values without gaps, rows as long as the longest, and what describes them") {
  for (const uint64_t multiple : {1, 2, 4}) {
    const Layout layout = test::ragged_layout(8, multiple);
    std::vector<uint8_t> slot(layout.slot_bytes());
    Contents contents;
    for (uint64_t first = 0; first < 40; first += 3) {
      for (const uint64_t count : {8, 5, 1, 0}) {
        std::fill(slot.begin(), slot.end(), uint8_t{0xee});
        test::fill(layout, contents, slot.data(), first, count);
        test::check(layout, contents, slot.data(), first, count, multiple);
      }
    }
  }
}

namespace {

// The bytes of each tensor that count, and its shape.
std::vector<std::vector<uint8_t>> counted(const Layout& layout, const Contents& contents, const uint8_t* slot,
                                          uint64_t valid) {
  std::vector<std::vector<uint8_t>> all;
  const auto views = batch::views_of(layout, contents);
  for (size_t i = 0; i < views.size(); i++) {
    const batch::TensorPlace& place = layout.tensors()[i];
    uint64_t rows = place.role == batch::Role::kOffsets ? valid + 1 : valid;
    if (place.role == batch::Role::kValues) rows = views[i].shape[0];
    const uint8_t* const at = slot + views[i].offset;
    all.emplace_back(at, at + rows * views[i].strides[0] * config::dtype_bytes(place.dtype));
    for (size_t k = 1; k < views[i].rank; k++) all.back().push_back(static_cast<uint8_t>(views[i].shape[k]));
  }
  return all;
}

}  // namespace

TEST_CASE("gaps of absent samples are closed, and the batch is as if they had never been there") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; round++) {
    const uint64_t count = random() % 9, often = random() % 5;
    const Layout layout = test::ragged_layout(8, 1 + round % 3);
    std::vector<uint64_t> ids, kept;
    std::vector<uint32_t> absent;
    for (uint64_t i = 0; i < count; i++) {
      ids.push_back(random() % 50);
      if (random() % 4 < often)
        absent.push_back(static_cast<uint32_t>(i));
      else
        kept.push_back(ids.back());
    }
    std::vector<uint8_t> slot(layout.slot_bytes(), 0xee), wanted_slot(layout.slot_bytes(), 0xdd);
    Contents contents, wanted;
    test::write(layout, contents, slot.data(), ids);
    batch::close_gaps(layout, contents, slot.data(), count, absent);
    batch::pack(layout, contents, slot.data(), kept.size());
    test::write(layout, wanted, wanted_slot.data(), kept);
    batch::pack(layout, wanted, wanted_slot.data(), kept.size());
    CHECK(contents.lengths == wanted.lengths);
    CHECK(counted(layout, contents, slot.data(), kept.size()) ==
          counted(layout, wanted, wanted_slot.data(), kept.size()));
  }
}

TEST_CASE("gaps are closed among rows of the shape that the batch has") {
  batch::TensorPlace shaped{.name = "s", .dtype = DType::kUint8, .sample_shape = {6}, .sample_bytes = 6};
  shaped.shapes = {{6}, {2}};
  const Layout layout({shaped, {"n", DType::kUint8, {}, 1, 0}}, 4, 1 << 20);
  std::vector<uint8_t> slot(layout.slot_bytes());
  Contents contents;
  batch::clear(layout, contents, 1);
  for (uint8_t i = 0; i < 4; i++) {
    layout.sample_at(slot.data(), 0, i, 1)[0] = layout.sample_at(slot.data(), 0, i, 1)[1] = i;
    *layout.sample_at(slot.data(), 1, i) = i;
  }
  const std::vector<uint32_t> absent = {0, 2};
  batch::close_gaps(layout, contents, slot.data(), 4, absent);
  CHECK(std::vector<uint8_t>(slot.begin(), slot.begin() + 4) == std::vector<uint8_t>{1, 1, 3, 3});
  CHECK(*layout.sample_at(slot.data(), 1, 0) == 1);
  CHECK(*layout.sample_at(slot.data(), 1, 1) == 3);
}

TEST_CASE("a batch knows which row a sample has, and how many rows fill it up") {
  batch::Batch batch;
  batch.slice = {.first = 16, .count = 8, .padded = 3, .of = {0, 21}};
  CHECK(batch.valid() == 8);
  CHECK(batch.padded() == 3);
  CHECK(batch.row_of(7) == 7);
  batch.absent = {1, 2, 6};
  CHECK(batch.valid() == 5);
  CHECK(batch.padded() == 2);
  CHECK(batch.absent_in(2, 4) == 1);
  CHECK(batch.absent_in(3, 3) == 0);
  CHECK(batch.row_of(0) == 0);
  CHECK(batch.row_of(3) == 1);
  CHECK(batch.row_of(7) == 4);
}

TEST_CASE("where nothing varies, a batch looks as its layout says, and nothing is allocated") {
  const Layout layout({{"image", DType::kFloat32, {2, 3}, 24, 0}, {"label", DType::kInt64, {}, 8, 0}}, 4, 1 << 20);
  std::vector<uint8_t> slot(layout.slot_bytes());
  Contents contents;
  const long before = test::allocations();
  batch::clear(layout, contents);
  batch::pack(layout, contents, slot.data(), 3);
  const auto views = batch::views_of(layout, contents);
  const Ranges ranges = batch::ranges_of(layout, contents, 3);
  const long after = test::allocations();
  CHECK(after == before);
  REQUIRE(views.size() == 2);
  CHECK(views[0].rank == 3);
  CHECK(views[0].shape == std::array<uint64_t, batch::kRankMax>{4, 2, 3});
  CHECK(views[0].strides == std::array<uint64_t, batch::kRankMax>{6, 3, 1});
  CHECK(views[1].offset == 128);
  REQUIRE(ranges.count == 1);
  CHECK(ranges.list()[0] == Range{0, 128 + 3 * 8});
}

TEST_CASE("what counts of a slot is listed, and close parts are one") {
  constexpr uint64_t kLarge = 1u << 20;
  const Layout layout({{"a", DType::kUint8, {kLarge}, kLarge, 0},
                       {"b", DType::kUint8, {kLarge}, kLarge, 0},
                       {"c", DType::kUint8, {}, 1, 0},
                       {"d", DType::kInt64, {}, 8, 0}},
                      8, 1ull << 30);
  const auto list = [&](uint64_t valid) {
    const Ranges ranges = batch::ranges_of(layout, {}, valid);
    return std::vector<Range>(ranges.list().begin(), ranges.list().end());
  };
  CHECK(list(8) == std::vector<Range>{{0, 16 * kLarge + 128 + 64}});
  CHECK(list(3) == std::vector<Range>{{0, 3 * kLarge}, {8 * kLarge, 3 * kLarge}, {16 * kLarge, 128 + 24}});
  CHECK(list(0).empty());
}

TEST_CASE("of a ragged output the values that are there count, not its capacity") {
  using Role = batch::Role;
  constexpr uint64_t kMost = 100'000;
  const Layout layout(
      {{"v", DType::kUint8, {}, kMost, 0, Role::kValues}, {"v.offsets", DType::kInt64, {}, 8, 0, Role::kOffsets, 0}}, 4,
      1 << 20);
  std::vector<uint8_t> slot(layout.slot_bytes());
  Contents contents;
  batch::clear(layout, contents);
  for (uint64_t i = 0; i < 4; i++) contents.lengths_of(layout, 0)[i] = static_cast<uint32_t>(i);
  batch::pack(layout, contents, slot.data(), 4);
  const Ranges ranges = batch::ranges_of(layout, contents, 4);
  REQUIRE(ranges.count == 2);
  CHECK(ranges.list()[0] == Range{0, 6});
  CHECK(ranges.list()[1] == Range{layout.tensors()[1].offset, 5 * 8});
  CHECK(layout.views()[0].shape[0] == 4 * kMost);
  CHECK(layout.length_max(0) == kMost);
  batch::clear(layout, contents);
  CHECK(contents.views.empty());  // the next batch's are not known yet
}

TEST_CASE("a batch of more tensors or dimensions than the protocol has is refused") {
  std::vector<batch::TensorPlace> many(65, {"t", DType::kUint8, {}, 1, 0});
  CHECK_THROWS_WITH(Layout(many, 1, 1 << 20), Catch::Contains("65 tensors"));
  many.pop_back();
  CHECK_NOTHROW(Layout(many, 1, 1 << 20));
  CHECK_THROWS_WITH(Layout({{"deep", DType::kUint8, {1, 1, 1, 1, 1, 1, 1, 1}, 1, 0}}, 1, 1 << 20),
                    Catch::Contains("'deep'"));
}

TEST_CASE("the samples of a batch have its shape, and lie without gaps") {
  const Layout layout({{.name = "image",
                        .dtype = DType::kUint16,
                        .sample_shape = {4, 5, 1},
                        .sample_bytes = 24,
                        .shapes = {{2, 3, 1}, {4, 3, 1}, {2, 5, 1}}},
                       {.name = "label", .dtype = DType::kInt64, .sample_shape = {}, .sample_bytes = 8}},
                      4, 1 << 20);
  CHECK(layout.has_shapes());
  CHECK(layout.tensors()[1].offset == 128);  // behind four samples of the largest shape
  std::vector<uint8_t> slot(layout.slot_bytes());
  Contents contents;
  const std::array<std::array<uint64_t, 3>, 3> sizes = {{{2, 3, 12}, {4, 3, 24}, {2, 5, 20}}};
  for (const uint32_t shape : {1U, 0U, 2U}) {
    const auto [height, width, bytes] = sizes.at(shape);
    batch::clear(layout, contents, shape);
    batch::pack(layout, contents, slot.data(), 3);
    const auto views = batch::views_of(layout, contents);
    CHECK(views[0].shape == std::array<uint64_t, batch::kRankMax>{4, height, width, 1});
    CHECK(views[0].strides == std::array<uint64_t, batch::kRankMax>{height * width, width, 1, 1});
    CHECK(views[1].shape[0] == 4);
    CHECK(layout.bytes_of(0, shape) == bytes);
    CHECK(layout.sample_at(slot.data(), 0, 2, shape) == slot.data() + 2 * bytes);
    CHECK(layout.sample_at(slot.data(), 1, 2, shape) == slot.data() + 128 + 16);
    const Ranges ranges = batch::ranges_of(layout, contents, 3);
    REQUIRE(ranges.count == 1);
    CHECK(ranges.list()[0] == Range{0, 128 + 3 * 8});
  }
}

TEST_CASE("a batch may have shapes and samples that differ in length") {
  const Layout layout(
      {{.name = "image", .dtype = DType::kUint8, .sample_shape = {2, 2}, .sample_bytes = 4, .shapes = {{1, 2}, {2, 2}}},
       {.name = "text", .dtype = DType::kUint8, .sample_shape = {5}, .sample_bytes = 5, .padding = batch::Padding{}}},
      2, 1 << 20);
  std::vector<uint8_t> slot(layout.slot_bytes());
  Contents contents;
  batch::clear(layout, contents, 0);
  contents.lengths_of(layout, 0)[0] = 1;
  contents.lengths_of(layout, 0)[1] = 3;
  batch::pack(layout, contents, slot.data(), 2);
  const auto views = batch::views_of(layout, contents);
  CHECK(views[0].shape == std::array<uint64_t, batch::kRankMax>{2, 1, 2});
  CHECK(views[1].shape == std::array<uint64_t, batch::kRankMax>{2, 3});
}

}  // namespace spdld::contents_test
