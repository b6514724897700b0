// Bytes that a store has in its own memory.
#include <catch2/catch.hpp>

#include "tests/source/fetching.h"
#include "tests/source/made_listing.h"

namespace spdld::at_hand_test {

using namespace spdld::source;
using namespace spdld::test;

TEST_CASE("a store's bytes are borrowed until the request is fetched again") {
  House house;
  MadeListing listing(2);
  listing.places = {house.at(0, -1), house.at(5'000, -1)};
  for (Locator& place : listing.places) place.is_value = true;
  house.store.lend(std::make_shared<const std::string>("lent"));
  FetchRequest request = request_for(listing, 0, fields_of(2));
  REQUIRE(house.router.fetch_at_hand(request));
  for (const size_t i : {0u, 1u}) CHECK(text(request.bytes_of(i)) == "lent");
  const std::weak_ptr<const void> kept = request.borrowed[0].keeper;
  house.store.lend(nullptr);
  CHECK_FALSE(kept.expired());
  CHECK_FALSE(house.router.fetch_at_hand(request));
  CHECK(kept.expired());
  fetch_now(house.router, request);
  REQUIRE(request.ok);
  for (const size_t i : {0u, 1u}) CHECK(request.bytes_of(i).size() == house.content.size() - i * 5'000);
}

}  // namespace spdld::at_hand_test
