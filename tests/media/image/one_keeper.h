// A picture that gets a prepared form.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "config/spec.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/programs/decodings.h"
#include "daemon/media/node.h"
#include "tests/support/one_keeper.h"

namespace spdld::test {

// A picture's field after a box of it was decoded.
template <typename Form, config::CacheForm kForm>
struct Prepared {
  media::Field field;
  image::Decoding decoding;
  PlanesView planes;
  Prepared(const std::vector<uint8_t>& jpeg, OneKeeper& keeper) {
    const auto decoder = image::make_image_decoder();
    field.bytes = jpeg, field.keeper = &keeper, field.form = kForm;
    REQUIRE(decoder->open(jpeg, true));
    decoding.box = {20, 30, 40, 50};
    const auto shape = decoder->planes();
    REQUIRE(shape);
    const auto prepared = Form::prepare(*shape, field, *decoder, decoding);
    REQUIRE(prepared);
    planes = *prepared;
    CHECK(planes.shape == *shape);
  }
};

}  // namespace spdld::test
