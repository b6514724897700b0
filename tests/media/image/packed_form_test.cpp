// The form of pictures whose coefficients are packed: what it takes, how it is kept, and that bytes of no such form are
// refused.
#include "daemon/media/image/forms/packed_form.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/media/image/one_keeper.h"
#include "tests/support/makers/jpeg_maker.h"

namespace spdld::packed_form_test {
namespace {

using Bytes = std::vector<uint8_t>;
using image::PackedForm;
using test::OneKeeper;
using Prepared = test::Prepared<PackedForm, config::CacheForm::kPacked>;

}  // namespace

TEST_CASE("the packed form is kept, and opened", "[packed]") {
  const bool has_room = GENERATE(false, true), progressive = GENERATE(false, true);
  const Bytes jpeg = test::make_jpeg(300, 200, {.progressive = progressive});
  OneKeeper keeper(has_room);
  const Prepared prepared(jpeg, keeper);
  CHECK(prepared.field.is_prepared);
  CHECK(std::equal(keeper.kept.begin(), keeper.kept.end(), prepared.field.bytes.begin(), prepared.field.bytes.end()));
  const auto parts = PackedForm::open(keeper.kept);
  REQUIRE(parts);
  CHECK(parts->shape == PlanesShape{{300, 200}, 2, 2, false});
  CHECK(parts->packed.size() > jpeg.size() / 2);
  media::Workspace workspace;
  const auto expected = PackedForm({}).prepared_bytes(jpeg, workspace);
  REQUIRE(expected);
  CHECK(keeper.kept.size() < *expected * 3 / 2);
  CHECK(keeper.kept.size() > *expected / 3);
  CHECK(keeper.as_fetched.empty());
  const auto decoder = image::make_image_decoder();
  const auto size = decoder->open_packed(parts->packed, parts->shape);
  REQUIRE(size);
  CHECK(*size == Size{300, 200});
  PixelRows rows;
  CHECK(decoder->decode({0, 0, 9, 9}, rows).error().trouble == Trouble::kInternal);
}

TEST_CASE("a picture that can't be packed is kept as it was fetched, and a picture without room is not kept",
          "[packed]") {
  const Bytes separate = test::make_jpeg(300, 200, {.separate_scans = true}), plain = test::make_jpeg(300, 200);
  media::Workspace workspace;
  CHECK(PackedForm({}).prepared_bytes(separate, workspace) == 0);
  CHECK_FALSE(PackedForm({}).prepared_bytes(Bytes(100, 7), workspace));
  OneKeeper keeper(true), full(false, false);
  CHECK_FALSE(Prepared(separate, keeper).field.is_prepared);
  CHECK(keeper.as_fetched == separate);
  CHECK(keeper.kept.empty());
  CHECK_FALSE(Prepared(plain, full).field.is_prepared);
  CHECK(full.as_fetched.empty());
  CHECK(full.kept.empty());
}

TEST_CASE("bytes of another form are not taken for packed coefficients", "[packed]") {
  const Bytes jpeg = test::make_jpeg(120, 90);
  OneKeeper keeper(true);
  const Prepared prepared(jpeg, keeper);
  const Bytes& form = keeper.kept;
  for (size_t size = 0; size < 16; ++size) CHECK_FALSE(PackedForm::open(std::span(form).first(size)));
  const auto decoder = image::make_image_decoder();
  for (size_t at = 0; at < 15; ++at) {
    Bytes changed = form;
    changed[at] ^= 0x88;
    const auto parts = PackedForm::open(changed);
    CHECK_FALSE((parts && decoder->open_packed(parts->packed, parts->shape)));
  }
  CHECK_FALSE(PackedForm::open(jpeg));
}

}  // namespace spdld::packed_form_test
