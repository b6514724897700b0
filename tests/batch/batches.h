// Batches of every kind of tensor, with a slow model of what must lie in them.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "daemon/batch/contents.h"

namespace spdld::test {

inline constexpr uint32_t kBoxesMax = 5, kTokensMax = 7;

// 0: label, 1: boxes, 2: their offsets, 3: text, 4: its lengths, 5: its mask, 6: sample_id
inline batch::Layout ragged_layout(uint64_t batch_size, uint64_t multiple = 1) {
  using config::DType;
  using Role = batch::Role;
  std::vector<batch::TensorPlace> tensors = {
      {"label", DType::kInt64, {}, 8, 0},
      {"boxes", DType::kInt16, {2}, kBoxesMax * 4, 0, Role::kValues},
      {"boxes.offsets", DType::kInt64, {}, 8, 0, Role::kOffsets, 1},
      {"text", DType::kInt32, {kTokensMax}, kTokensMax * 4, 0, Role::kRows, {}, batch::Padding{multiple, {9, 0, 0, 0}}},
      {"text.lengths", DType::kInt32, {}, 4, 0, Role::kLengths, 3},
      {"text.mask", DType::kBool, {kTokensMax}, kTokensMax, 0, Role::kMask, 3},
      {"sample_id", DType::kInt64, {}, 8, 0}};
  return {std::move(tensors), batch_size, 1 << 20};
}

// What sample `id` has.
inline uint32_t boxes_of(uint64_t id) { return static_cast<uint32_t>(id * 7 % (kBoxesMax + 1)); }
inline uint32_t tokens_of(uint64_t id) { return static_cast<uint32_t>(id * 5 % (kTokensMax + 1)); }
inline int16_t box_at(uint64_t id, uint64_t number) { return static_cast<int16_t>(100 * id + number); }
inline int32_t token_at(uint64_t id, uint64_t number) { return static_cast<int32_t>(1000 * id + number); }

template <typename T>
void put(uint8_t* at, uint64_t index, T value) {
  std::memcpy(at + index * sizeof value, &value, sizeof value);
}
template <typename T>
T get(const uint8_t* at, uint64_t index) {
  T value;
  std::memcpy(&value, at + index * sizeof value, sizeof value);
  return value;
}

// As a stream fills a slot: each sample at its place, and then all of them together.
inline void write(const batch::Layout& layout, batch::Contents& contents, uint8_t* slot,
                  const std::vector<uint64_t>& ids) {
  batch::clear(layout, contents);
  for (uint64_t i = 0; i < ids.size(); i++) {
    const uint64_t id = ids[i];
    put(layout.sample_at(slot, 0, i), 0, static_cast<int64_t>(3 * id));
    put(layout.sample_at(slot, 6, i), 0, static_cast<int64_t>(id));
    for (uint64_t k = 0; k < 2 * boxes_of(id); k++) put(layout.sample_at(slot, 1, i), k, box_at(id, k));
    for (uint64_t k = 0; k < tokens_of(id); k++) put(layout.sample_at(slot, 3, i), k, token_at(id, k));
    contents.lengths_of(layout, 0)[i] = boxes_of(id);
    contents.lengths_of(layout, 1)[i] = tokens_of(id);
  }
}
inline void fill(const batch::Layout& layout, batch::Contents& contents, uint8_t* slot, uint64_t first,
                 uint64_t count) {
  std::vector<uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  write(layout, contents, slot, ids);
  batch::pack(layout, contents, slot, count);
}

inline uint64_t longest(uint64_t first, uint64_t count, uint64_t multiple) {
  uint64_t longest = 0;
  for (uint64_t id = first; id < first + count; id++) longest = std::max<uint64_t>(longest, tokens_of(id));
  return std::min<uint64_t>((longest + multiple - 1) / multiple * multiple, kTokensMax);
}

// Whether the slot has the samples [first, first + count), as its views say.
inline void check(const batch::Layout& layout, const batch::Contents& contents, const uint8_t* slot, uint64_t first,
                  uint64_t count, uint64_t multiple = 1) {
  const auto views = batch::views_of(layout, contents);
  REQUIRE(views.size() == 7);
  const auto at = [&](size_t tensor) { return slot + views[tensor].offset; };
  uint64_t boxes = 0, wrong = 0;
  wrong += get<int64_t>(at(2), 0) != 0;
  const uint64_t length = longest(first, count, multiple), stride = views[3].strides[0];
  CHECK(views[3].shape[1] == length);
  CHECK(views[5].shape[1] == length);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t id = first + i;
    wrong += get<int64_t>(at(0), i) != static_cast<int64_t>(3 * id);
    wrong += get<int64_t>(at(6), i) != static_cast<int64_t>(id);
    for (uint64_t k = 0; k < 2 * boxes_of(id); k++) wrong += get<int16_t>(at(1), 2 * boxes + k) != box_at(id, k);
    boxes += boxes_of(id);
    wrong += get<int64_t>(at(2), i + 1) != static_cast<int64_t>(boxes);
    wrong += get<int32_t>(at(4), i) != static_cast<int32_t>(tokens_of(id));
    for (uint64_t k = 0; k < length; k++) {
      const bool is_there = k < tokens_of(id);
      wrong += get<int32_t>(at(3), i * stride + k) != (is_there ? token_at(id, k) : 9);
      wrong += get<uint8_t>(at(5), i * views[5].strides[0] + k) != (is_there ? 1 : 0);
    }
  }
  CHECK(views[1].shape[0] == boxes);
  CHECK(wrong == 0);
}

}  // namespace spdld::test
