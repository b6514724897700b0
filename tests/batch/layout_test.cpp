#include "daemon/batch/layout.h"

#include <catch2/catch.hpp>
#include <vector>

#include "daemon/base/result.h"

using spdld::batch::Layout;
using spdld::batch::TensorPlace;
using spdld::config::DType;

TEST_CASE("tensors lie one after the other, aligned, without overlapping") {
  const Layout layout(
      {{"a", DType::kUint8, {3}, 3, 0}, {"b", DType::kFloat32, {2, 2}, 16, 0}, {"c", DType::kInt64, {}, 8, 0}}, 5,
      1 << 20);
  uint64_t end = 0;
  for (const auto& tensor : layout.tensors()) {
    CHECK(tensor.offset % spdld::batch::kAlignment == 0);
    CHECK(tensor.offset >= end);
    end = tensor.offset + 5 * tensor.sample_bytes;
  }
  CHECK(layout.slot_bytes() >= end);
  CHECK(layout.slot_bytes() % 4096 == 0);
  std::vector<uint8_t> memory(layout.slot_bytes());
  uint8_t* const slot = memory.data();
  CHECK(layout.sample_at(slot, 1, 4) - slot == static_cast<ptrdiff_t>(layout.tensors()[1].offset + 64));
}

TEST_CASE("a batch larger than allowed, or than numbers go, is refused with its output's name") {
  const std::vector<TensorPlace> tensors = {{"image", DType::kUint8, {1000}, 1000, 0}};
  CHECK_NOTHROW(Layout(tensors, 10, 10'000));
  CHECK_THROWS_WITH(Layout(tensors, 11, 10'000), Catch::Contains("'image'"));
  // The bound is of all tensors together.
  const std::vector<TensorPlace> two = {tensors.front(), {"mask", DType::kUint8, {1000}, 1000, 0}};
  CHECK_NOTHROW(Layout(two, 10, 21'000));
  CHECK_THROWS_WITH(Layout(two, 10, 15'000), Catch::Contains("'mask'"));
  CHECK_THROWS_WITH(Layout({{"huge", DType::kUint8, {}, 1ull << 62, 0}}, 8, 1ull << 40), Catch::Contains("'huge'"));
}
