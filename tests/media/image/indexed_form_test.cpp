// The form of pictures that are kept with an index: what it takes, how it is kept, and that bytes of no such form are
// refused.
#include "daemon/media/image/forms/indexed_form.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/media/image/one_keeper.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"

namespace spdld::indexed_form_test {
namespace {

using Bytes = std::vector<uint8_t>;
using image::IndexedForm;
using test::OneKeeper;
using Prepared = test::Prepared<IndexedForm, config::CacheForm::kIndexed>;

}  // namespace

TEST_CASE("the indexed form holds a picture's bytes as they are, and takes 1.03 of them", "[indexed]") {
  const Bytes jpeg = test::make_jpeg(300, 200);
  const bool has_room = GENERATE(false, true);
  OneKeeper keeper(has_room);
  const Prepared prepared(jpeg, keeper);
  CHECK(prepared.field.is_prepared);
  CHECK(std::equal(keeper.kept.begin(), keeper.kept.end(), prepared.field.bytes.begin(), prepared.field.bytes.end()));
  CHECK(static_cast<double>(keeper.kept.size()) < 1.03 * static_cast<double>(jpeg.size()));
  const auto parts = IndexedForm::open(keeper.kept);
  REQUIRE(parts);
  CHECK(std::equal(jpeg.begin(), jpeg.end(), parts->content.begin(), parts->content.end()));
  CHECK(parts->index.size() > 100);
  media::Workspace workspace;
  CHECK(IndexedForm({}).prepared_bytes(jpeg, workspace) == keeper.kept.size());
  CHECK(keeper.as_fetched.empty());
}

TEST_CASE("of a progressive picture the indexed form holds a plain one with the same samples", "[indexed]") {
  const Bytes jpeg = test::make_jpeg(300, 200, {.progressive = true});
  const bool has_room = GENERATE(false, true);
  OneKeeper keeper(has_room);
  const Prepared prepared(jpeg, keeper);
  CHECK(prepared.field.is_prepared);
  const auto parts = IndexedForm::open(keeper.kept);
  REQUIRE(parts);
  const auto decoder = image::make_image_decoder();
  const Bytes plain(parts->content.begin(), parts->content.end());
  REQUIRE(decoder->open(plain, true));
  CHECK(decoder->index_bytes() == parts->index.size());
  const PlanesShape shape = *decoder->planes();
  test::PlanesMemory had(shape, 0), want(shape, 0);
  REQUIRE(decoder->decode_planes(had.data()));
  REQUIRE(decoder->open(jpeg, true));
  REQUIRE(decoder->planes() == shape);
  REQUIRE(decoder->decode_planes(want.data()));
  CHECK(std::equal(had.data(), had.data() + had.size(), want.data()));
  PlanesView whole;
  REQUIRE(view_planes(want.data(), want.size(), whole));
  CHECK(test::same_samples(prepared.planes, whole, prepared.decoding.box));
  media::Workspace workspace;
  const auto expected = IndexedForm({}).prepared_bytes(jpeg, workspace);
  REQUIRE(expected);
  CHECK(static_cast<double>(*expected) > 0.9 * static_cast<double>(keeper.kept.size()));
  CHECK(static_cast<double>(*expected) < 1.1 * static_cast<double>(keeper.kept.size()));
  CHECK(keeper.as_fetched.empty());
}

TEST_CASE("a picture without an index is kept as it was fetched, and a picture without room is not kept", "[indexed]") {
  const Bytes unfinished = test::make_jpeg(300, 200, {.progressive = true, .unfinished = true});
  const Bytes separate = test::make_jpeg(300, 200, {.separate_scans = true});
  const Bytes progressive = test::make_jpeg(300, 200, {.progressive = true}), plain = test::make_jpeg(300, 200);
  media::Workspace workspace;
  CHECK(IndexedForm({}).prepared_bytes(separate, workspace) == 0);
  CHECK_FALSE(IndexedForm({}).prepared_bytes(Bytes(100, 7), workspace));
  for (const Bytes& jpeg : {unfinished, separate}) {
    OneKeeper keeper(true);
    CHECK_FALSE(Prepared(jpeg, keeper).field.is_prepared);
    CHECK(keeper.as_fetched == jpeg);
    CHECK(keeper.kept.empty());
  }
  for (const Bytes& jpeg : {progressive, plain}) {
    OneKeeper full(false, false);
    CHECK_FALSE(Prepared(jpeg, full).field.is_prepared);
    CHECK(full.as_fetched.empty());
    CHECK(full.kept.empty());
  }
}

TEST_CASE("bytes of another form are refused", "[indexed]") {
  const Bytes jpeg = test::make_jpeg(120, 90);
  OneKeeper keeper(true);
  const Prepared prepared(jpeg, keeper);
  const Bytes& form = keeper.kept;
  const size_t index_bytes = IndexedForm::open(form)->index.size();
  for (size_t size = 0; size < 8 + index_bytes; ++size) CHECK_FALSE(IndexedForm::open(std::span(form).first(size)));
  for (size_t at = 0; at < 8; ++at) {
    Bytes changed = form;
    changed[at] ^= 0x80;
    const auto parts = IndexedForm::open(changed);
    CHECK((at < 4 || (at > 4 && form.size() < 1 << 15)) == !parts);
  }
  CHECK_FALSE(IndexedForm::open(jpeg));
}

}  // namespace spdld::indexed_form_test
