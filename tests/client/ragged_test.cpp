// Ragged and padded batches: what the C and the C++ interface say of them, and which descriptors are refused.
#include <cstring>
#include <limits>
#include <spdld.hpp>

#include "tests/client/session.h"
#include "tests/support/ragged_batches.h"

namespace spdld::ragged_test {

using namespace spdld::test;
using proto::DType;
using proto::Role;

namespace {

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
// The result of the first next.
spdld_result next_of(FakeScript script) {
  const Attached attached(std::move(script));
  return next_result(attached.loader, 2000);
}
spdld_result next_of(std::function<void(FakeReady&)> tamper) { return next_of(ragged_script(std::move(tamper))); }

}  // namespace

TEST_CASE("rows are cut to the valid samples, offsets to one more, and values not at all") {
  for (const uint64_t valid : {4, 3, 1, 0}) {
    FakeScript script = ragged_script();
    script.valid_in_last_step = valid;
    Attached attached(script);
    REQUIRE(spdld_seek(attached.loader.get(), 0, 4) == SPDLD_OK);
    const test::Batch batch = next(attached.loader);
    const auto rows = static_cast<int64_t>(valid);
    spdld_tensor values = no_tensor(), offsets = no_tensor(), text = no_tensor(), lengths = no_tensor();
    REQUIRE(spdld_batch_find(batch.get(), "boxes", &values) == SPDLD_OK);
    CHECK(values.role == SPDLD_VALUES);
    CHECK(std::string(values.of).empty());
    CHECK(values.shape[0] == boxes_in(4, valid));
    CHECK(values.shape[1] == 2);
    REQUIRE(spdld_batch_find_part(batch.get(), "boxes", SPDLD_OFFSETS, &offsets) == SPDLD_OK);
    CHECK(std::string(offsets.name) == "boxes.offsets");
    CHECK(std::string(offsets.of) == "boxes");
    REQUIRE(offsets.shape[0] == rows + 1);
    for (int64_t i = 0; i < rows; ++i) {
      const auto* offset = static_cast<const int64_t*>(offsets.address);
      CHECK(offset[i + 1] - offset[i] == boxes_of(4, static_cast<uint64_t>(i)));
      for (int64_t k = 2 * offset[i]; k < 2 * offset[i + 1]; ++k)
        CHECK(static_cast<const float*>(values.address)[k] == 400.0F + static_cast<float>(k));
    }
    REQUIRE(spdld_batch_find(batch.get(), "text", &text) == SPDLD_OK);
    CHECK(text.role == SPDLD_ROWS);
    CHECK(text.shape[0] == rows);
    CHECK(text.shape[1] == 8);
    REQUIRE(spdld_batch_find_part(batch.get(), "text", SPDLD_LENGTHS, &lengths) == SPDLD_OK);
    CHECK(lengths.shape[0] == rows);
    CHECK(lengths.dtype == SPDLD_INT32);
    spdld_tensor mask = no_tensor();
    REQUIRE(spdld_batch_find_part(batch.get(), "text", SPDLD_MASK, &mask) == SPDLD_OK);
    CHECK(mask.dtype == SPDLD_BOOL);
    CHECK(mask.shape[0] == rows);
    CHECK(mask.shape[1] == 8);
  }
}

TEST_CASE("shapes follow the batch") {
  Attached attached(ragged_script());
  for (uint64_t step = 0; step < 5; ++step) {
    const test::Batch batch = next(attached.loader);
    spdld_tensor text = no_tensor(), values = no_tensor();
    REQUIRE(spdld_batch_find(batch.get(), "text", &text) == SPDLD_OK);
    CHECK(text.shape[1] == static_cast<int64_t>(step + 4));
    CHECK(text.strides[0] == static_cast<int64_t>(step + 4));
    REQUIRE(spdld_batch_find(batch.get(), "boxes", &values) == SPDLD_OK);
    CHECK(values.shape[0] == boxes_in(step, 4));
  }
}

TEST_CASE("a part that the batch lacks is not found") {
  Attached attached(ragged_script());
  const test::Batch batch = next(attached.loader);
  spdld_tensor tensor = no_tensor();
  CHECK(spdld_batch_find_part(batch.get(), "boxes", SPDLD_LENGTHS, &tensor) == SPDLD_NOT_FOUND);
  CHECK(spdld_batch_find_part(batch.get(), "nothing", SPDLD_OFFSETS, &tensor) == SPDLD_NOT_FOUND);
  CHECK(std::string(spdld_last_error()).find("\"nothing\"") != std::string::npos);
  CHECK(spdld_batch_find_part(batch.get(), nullptr, SPDLD_OFFSETS, &tensor) == SPDLD_INVALID);
  CHECK(spdld_batch_find_part(batch.get(), "boxes", SPDLD_OFFSETS, nullptr) == SPDLD_INVALID);
}

TEST_CASE("a tensor is filled in as far as the caller's structure reaches") {
  Attached attached(ragged_script());
  const test::Batch batch = next(attached.loader);
  spdld_tensor tensor = {};
  CHECK(spdld_batch_find(batch.get(), "boxes", &tensor) == SPDLD_INVALID);
  CHECK(std::string(spdld_last_error()).find("struct_size") != std::string::npos);
  tensor.role = SPDLD_MASK;
  tensor.struct_size = offsetof(spdld_tensor, role);
  REQUIRE(spdld_batch_find(batch.get(), "boxes", &tensor) == SPDLD_OK);
  CHECK(tensor.shape[1] == 2);
  CHECK(tensor.role == SPDLD_MASK);
  CHECK(tensor.struct_size == offsetof(spdld_tensor, role));
}

TEST_CASE("the C++ interface has parts as well") {
  Attached attached(ragged_script());
  spdld_batch* raw = nullptr;
  REQUIRE(spdld_next(attached.loader.get(), 5000, &raw) == SPDLD_OK);
  const spdld::Batch batch(raw);
  CHECK(batch["boxes"].role == SPDLD_VALUES);
  const auto offsets = batch.part("boxes", SPDLD_OFFSETS);
  REQUIRE(offsets);
  CHECK(offsets->shape[0] == 5);
  CHECK_FALSE(batch.part("boxes", SPDLD_MASK));
}

TEST_CASE("every type has a name and a size") {
  for (int number = SPDLD_UINT8; number <= SPDLD_COMPLEX128; ++number) {
    const auto dtype = static_cast<spdld_dtype>(number);
    INFO(number);
    CHECK(std::string(spdld_dtype_name(dtype)) == proto::name_of(static_cast<DType>(number)));
    CHECK(spdld_dtype_bytes(dtype) == proto::bytes_of(static_cast<DType>(number)));
    FakeScript script;
    script.tamper = [number](FakeReady& ready) {
      ready.tensors[1] = {"image", static_cast<DType>(number), {4, 4}, {}, 128};
    };
    Attached attached(script);
    const test::Batch batch = next(attached.loader);
    spdld_tensor tensor = no_tensor();
    REQUIRE(spdld_batch_find(batch.get(), "image", &tensor) == SPDLD_OK);
    CHECK(tensor.dtype == dtype);
  }
  CHECK(std::string(spdld_dtype_name(static_cast<spdld_dtype>(SPDLD_COMPLEX128 + 1))) == "unknown");
  CHECK(std::string(spdld_dtype_name(static_cast<spdld_dtype>(256))) == "unknown");
  CHECK(spdld_dtype_bytes(static_cast<spdld_dtype>(-1)) == 0);
  CHECK(std::string(spdld_dtype_name(SPDLD_BOOL)) == "bool");
}

TEST_CASE("a descriptor whose parts do not fit is refused") {
  struct Hostile {
    const char* what;
    std::function<void(FakeReady&)> tamper;
  };
  // 2: boxes, 3: their offsets, 4: text, 5: its lengths, 6: its mask
  const Hostile hostile[] = {
      {"an unknown role", [](FakeReady& ready) { ready.tensors[4].role = static_cast<Role>(5); }},
      {"values without offsets", [](FakeReady& ready) { ready.tensors.erase(ready.tensors.begin() + 3); }},
      {"offsets of nothing", [](FakeReady& ready) { ready.tensors[3].of = "nothing"; }},
      {"offsets without a name of theirs", [](FakeReady& ready) { ready.tensors[3].of.clear(); }},
      {"offsets of rows", [](FakeReady& ready) { ready.tensors[2].role = Role::rows; }},
      {"lengths of values", [](FakeReady& ready) { ready.tensors[5].of = "boxes"; }},
      {"a mask of itself", [](FakeReady& ready) { ready.tensors[6].of = "text.mask"; }},
      {"rows that describe another", [](FakeReady& ready) { ready.tensors[4].of = "boxes"; }},
      {"one offset too few", [](FakeReady& ready) { ready.tensors[3].shape = {4}; }},
      {"offsets in two dimensions",
       [](FakeReady& ready) {
         ready.tensors[3].shape = {5, 1};
       }},
      {"offsets of another type", [](FakeReady& ready) { ready.tensors[3].dtype = DType::int32; }},
      {"one length too few", [](FakeReady& ready) { ready.tensors[5].shape = {3}; }},
      {"lengths in two dimensions",
       [](FakeReady& ready) {
         ready.tensors[5].shape = {4, 1};
       }},
      {"a mask of another shape",
       [](FakeReady& ready) {
         ready.tensors[6].shape = {4, 5};
       }},
      {"a mask of more dimensions",
       [](FakeReady& ready) {
         ready.tensors[6].shape = {4, 4, 1};
       }},
      {"values beyond the slot", [](FakeReady& ready) { ready.tensors[2].shape[0] = (4096 - kRaggedValues) / 8 + 1; }},
      {"very many values", [](FakeReady& ready) { ready.tensors[2].shape[0] = kHuge; }},
      {"values at a place beyond the slot", [](FakeReady& ready) { ready.tensors[2].offset = 4096; }},
      {"more values than the offsets say", [](FakeReady& ready) { ready.tensors[2].shape[0]++; }},
      {"fewer values than the offsets say", [](FakeReady& ready) { ready.tensors[2].shape[0]--; }},
      {"offsets beyond the slot", [](FakeReady& ready) { ready.tensors[3].offset = 4096 - 32; }},
      {"a negative stride of the offsets", [](FakeReady& ready) { ready.tensors[3].strides = {kHuge}; }},
      {"a stride of the offsets that leads out", [](FakeReady& ready) { ready.tensors[3].strides = {1000}; }},
      {"nine dimensions", [](FakeReady& ready) { ready.tensors[2].shape.assign(9, 1); }},
      {"the same bytes for ever",
       [](FakeReady& ready) {
         ready.tensors[4].shape = {4, 1ull << 40};
         ready.tensors[4].strides = {0, 0};
       }},
  };
  CHECK(next_of(ragged_script()) == SPDLD_OK);
  for (const Hostile& one : hostile) {
    INFO(one.what);
    CHECK(next_of(one.tamper) == SPDLD_INTERNAL);
  }
}

TEST_CASE("offsets that lead out of their values are refused") {
  const std::vector<std::vector<int64_t>> hostile = {{1, 1, 2, 4, 6}, {0, 3, 2, 4, 6},  {0, 1, 2, 4, 7},
                                                     {0, 1, 2, 4, 5}, {-1, 0, 1, 3, 6}, {0, 1, 1ll << 62, 4, 6}};
  for (const std::vector<int64_t>& offsets : hostile) {
    FakeScript script = ragged_script();
    script.write = [&offsets](unsigned char* slot, uint64_t) {
      std::memcpy(slot + kRaggedOffsets, offsets.data(), offsets.size() * sizeof(int64_t));
    };
    CHECK(next_of(script) == SPDLD_INTERNAL);
  }
}

}  // namespace spdld::ragged_test
