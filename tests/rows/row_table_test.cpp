// The table of rows beside a slow model that writes every row down.
#include "daemon/rows/row_table.h"

#include <catch2/catch.hpp>
#include <random>

#include "daemon/base/result.h"

namespace spdld::row_table_test {

using namespace spdld;
using namespace spdld::rows;

namespace {

using Random = std::mt19937_64;

uint64_t below(Random& random, uint64_t end) { return random() % end; }

std::vector<uint64_t> lengths_of(Random& random, bool is_of_pictures) {
  std::vector<uint64_t> lengths(below(random, 30));
  const uint64_t longest = 1 + below(random, 40);
  for (uint64_t& length : lengths) {
    length = below(random, 4) == 0 ? 0 : 1 + below(random, longest);
    if (is_of_pictures && length != 0) length = length << 32 | (1 + below(random, longest));
  }
  return lengths;
}

// The starts of the parts along a side, by trying every place.
std::vector<uint64_t> starts_of(uint64_t side, uint64_t size, uint64_t stride, bool keeps_partial) {
  std::vector<uint64_t> starts;
  for (uint64_t start = 0; start + size <= side; start += stride) starts.push_back(start);
  if (!keeps_partial) return starts;
  if (starts.empty()) return {0};
  if (starts.back() + size < side) starts.push_back(starts.back() + stride);
  return starts;
}

std::shared_ptr<const LengthIndex> index_of(Measure measure, const std::vector<uint64_t>& lengths) {
  return std::make_shared<LengthIndex>(measure, lengths);
}

}  // namespace

TEST_CASE("rows: tiles lie on a grid over each picture, in its order") {
  Random random(1);
  for (int trial = 0; trial < 500; trial++) {
    config::RowsSpec spec{.kind = config::RowKind::kTiles, .from = "image"};
    spec.height = static_cast<uint32_t>(1 + below(random, 12)),
    spec.width = static_cast<uint32_t>(1 + below(random, 12));
    spec.stride_y = static_cast<uint32_t>(1 + below(random, spec.height));
    spec.stride_x = static_cast<uint32_t>(1 + below(random, spec.width));
    spec.keeps_partial = below(random, 2) == 0;
    const std::vector<uint64_t> lengths = lengths_of(random, true);
    const RowTable table(spec, index_of(Measure::kPicture, lengths));
    uint64_t row = 0;
    for (uint64_t record = 0; record < lengths.size(); record++) {
      REQUIRE(table.first_row(record) == row);
      const uint64_t height = lengths[record] >> 32, width = lengths[record] & 0xffff'ffff;
      uint64_t number = 0;
      if (height == 0) continue;
      for (const uint64_t y : starts_of(height, spec.height, spec.stride_y, spec.keeps_partial)) {
        for (const uint64_t x : starts_of(width, spec.width, spec.stride_x, spec.keeps_partial)) {
          REQUIRE(row < table.size());
          REQUIRE(table.record_of(row) == record);
          REQUIRE(table.part_of(row) == RowPart{number, static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                                                static_cast<uint32_t>(height), static_cast<uint32_t>(width)});
          row++, number++;
        }
      }
    }
    REQUIRE(table.size() == row);
    REQUIRE(table.first_row(lengths.size()) == row);
  }
}

TEST_CASE("rows: clips go through each video, by frames or by moments") {
  Random random(3);
  for (int trial = 0; trial < 500; trial++) {
    config::RowsSpec spec{.kind = config::RowKind::kClips, .from = "image"};
    spec.clip_frames = 1 + below(random, 10), spec.clip_step = 1 + below(random, spec.clip_frames);
    spec.keeps_partial = below(random, 2) == 0;
    const bool has_rate = below(random, 2) == 0;
    spec.frame_stride = has_rate ? 1 : 1 + below(random, 5);
    spec.fps = has_rate ? 4 : 0;
    std::vector<uint64_t> lengths = lengths_of(random, false);
    if (has_rate)
      for (uint64_t& length : lengths) length *= 250'000'000;  // each is one moment long
    const RowTable table(spec, index_of(has_rate ? Measure::kDuration : Measure::kFrames, lengths));
    uint64_t row = 0;
    for (uint64_t record = 0; record < lengths.size(); record++) {
      REQUIRE(table.first_row(record) == row);
      if (lengths[record] == 0) continue;
      std::vector<uint64_t> frames;  // of a single clip
      for (uint64_t at = 0; at < lengths[record]; at += has_rate ? 250'000'000 : spec.frame_stride)
        frames.push_back(at);
      uint64_t number = 0;
      for (const uint64_t start : starts_of(frames.size(), spec.clip_frames, spec.clip_step, spec.keeps_partial)) {
        REQUIRE(row < table.size());
        REQUIRE(table.record_of(row) == record);
        const RowPart part = table.part_of(row);
        CHECK(part.number == number);
        CHECK(part.length == lengths[record]);
        CHECK(part.start == static_cast<double>(frames.at(start)) / (has_rate ? 1e9 : 1));
        row++, number++;
      }
    }
    REQUIRE(table.size() == row);
  }
}

TEST_CASE("rows: the moments of a rate within a video") {
  CHECK(frames_at_rate(2'000'000'000, 8) == 16);
  CHECK(frames_at_rate(2'000'000'001, 8) == 16);  // rounding of a duration is no moment
  CHECK(frames_at_rate(2'001'000'000, 8) == 17);
  CHECK(frames_at_rate(1'999'999'999, 8) == 16);
  CHECK(frames_at_rate(1, 8) == 1);
  CHECK(frames_at_rate(10'000'000'000, 0.3) == 3);
}

TEST_CASE("rows: windows of each record's bytes") {
  Random random(2);
  std::vector<Span> spans;
  for (int trial = 0; trial < 500; trial++) {
    config::RowsSpec spec{.kind = config::RowKind::kWindows, .from = "txt"};
    spec.length = 1 + below(random, 12);
    spec.stride = 1 + below(random, spec.length);
    spec.keeps_partial = below(random, 2) == 0;
    const std::vector<uint64_t> lengths = lengths_of(random, false);
    const RowTable table(spec, index_of(Measure::kBytes, lengths));
    uint64_t row = 0;
    for (uint64_t record = 0; record < lengths.size(); record++) {
      REQUIRE(table.first_row(record) == row);
      if (lengths[record] == 0) continue;
      uint64_t number = 0, seen_to = 0;
      for (const uint64_t first : starts_of(lengths[record], spec.length, spec.stride, spec.keeps_partial)) {
        const uint64_t count = std::min(spec.length, lengths[record] - first);
        table.spans_of(row, spans);
        REQUIRE(spans == std::vector<Span>{{record, first, count, false}});
        REQUIRE(table.record_of(row) == record);
        REQUIRE(table.part_of(row).number == number++);
        REQUIRE(first <= seen_to);
        seen_to = first + count;
        row++;
      }
      if (spec.keeps_partial) REQUIRE(seen_to == lengths[record]);
    }
    REQUIRE(table.size() == row);
  }
}

TEST_CASE("rows: packed rows hold all records' bytes and separators, each once") {
  constexpr Span kSeparator{UINT64_MAX, 0, 0, true};
  Random random(3);
  std::vector<Span> spans;
  for (int trial = 0; trial < 500; trial++) {
    config::RowsSpec spec{.kind = config::RowKind::kPacked, .from = "txt"};
    spec.length = 1 + below(random, 60);
    spec.keeps_partial = below(random, 2) == 0;
    if (below(random, 2) == 0) spec.separator = static_cast<uint8_t>(below(random, 256));
    const std::vector<uint64_t> lengths = lengths_of(random, false);
    const RowTable table(spec, index_of(Measure::kBytes, lengths));
    std::vector<Span> bytes;  // one by one
    std::vector<uint64_t> starts;
    for (uint64_t record = 0; record < lengths.size(); record++) {
      starts.push_back(bytes.size());
      for (uint64_t at = 0; at < lengths[record]; at++) bytes.push_back({record, at, 1, false});
      if (spec.separator && lengths[record] != 0) bytes.push_back(kSeparator);
    }
    const uint64_t full = bytes.size() / spec.length, some = bytes.size() % spec.length != 0;
    REQUIRE(table.size() == full + (spec.keeps_partial ? some : 0));
    for (uint64_t row = 0; row < table.size(); row++) {
      table.spans_of(row, spans);
      REQUIRE(table.record_of(row) == spans.front().record);
      std::vector<Span> got;
      for (const Span& span : spans) {
        for (uint64_t i = 0; i < span.count; i++) got.push_back({span.record, span.first + i, 1, false});
        if (span.reaches_separator) got.push_back(kSeparator);
      }
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(row * spec.length);
      const auto count = static_cast<std::ptrdiff_t>(std::min(spec.length, bytes.size() - row * spec.length));
      REQUIRE(got == std::vector<Span>(begin, begin + count));
    }
    for (uint64_t record = 0; record < lengths.size(); record++) {
      uint64_t first = 0;
      while (first < table.size() && first * spec.length < starts[record]) first++;
      REQUIRE(table.first_row(record) == first);
    }
  }
}

TEST_CASE("rows: lengths that no table can hold are refused") {
  config::RowsSpec spec{.kind = config::RowKind::kWindows, .from = "txt"};
  spec.length = spec.stride = 1;
  for (const std::vector<uint64_t>& lengths :
       {std::vector<uint64_t>{UINT64_MAX}, {uint64_t{1} << 62, 1}, {1, uint64_t{1} << 62}})
    CHECK_THROWS_AS(RowTable(spec, index_of(Measure::kBytes, lengths)), SetupError);
  CHECK(RowTable(spec, index_of(Measure::kBytes, {uint64_t{1} << 62})).size() == uint64_t{1} << 62);
}

}  // namespace spdld::row_table_test
