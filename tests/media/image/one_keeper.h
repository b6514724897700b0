// A place for one prepared form of a picture, and a picture that gets it.
#pragma once

#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "config/spec.h"
#include "daemon/media/image/decodings.h"
#include "daemon/media/image/image_decoder.h"
#include "daemon/media/node.h"

namespace spdld::test {

// Keeps one form, in memory of its own or in the memory that it is given.
class OneKeeper final : public media::Keeper {
 public:
  explicit OneKeeper(bool has_room, bool has_disk = true) : has_room_(has_room), has_disk_(has_disk) {}
  uint8_t* reserve(size_t bytes) override {
    if (!has_room_) return nullptr;
    room_.assign(bytes, 0x99);
    return room_.data();
  }
  bool may_keep(size_t) override { return has_room_ || has_disk_; }
  bool takes(size_t) override { return has_disk_; }
  void keep(const uint8_t* memory, size_t bytes) override { kept.assign(memory, memory + bytes); }
  void keep_as_fetched(std::span<const uint8_t> content) override { as_fetched.assign(content.begin(), content.end()); }

  std::vector<uint8_t> kept, as_fetched;

 private:
  bool has_room_, has_disk_;
  std::vector<uint8_t> room_;
};

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
