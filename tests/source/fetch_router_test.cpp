#include "daemon/source/fetching/fetch_router.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <thread>
#include <vector>

#include "proto/unique_fd.h"
#include "tests/source/fetching.h"
#include "tests/source/made_listing.h"
#include "tests/source/temp_folder.h"
#include "tests/support/soon.h"

namespace spdld::fetch_router_test {
namespace {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

FetchRequest fetched(House& house, const Listing& listing, const std::vector<FieldFetch>& fields) {
  FetchRequest request = request_for(listing, 0, fields);
  fetch_now(house.router, request);
  return request;
}

UniqueFd copy_of(const TempFolder& temp, const std::string& content) {
  temp.file("copy", content);
  return UniqueFd(::open((temp / "copy").c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

TEST_CASE("fields that lie close together come with one read, each with its identity") {
  House house;
  MadeListing listing(4);
  listing.places = {house.at(2'000, 500), house.at(512, 100), house.at(10'000, 7), house.at(200'000, 50'000)};
  const FetchRequest request = fetched(house, listing, fields_of(4));
  REQUIRE(request.ok);
  for (size_t i = 0; i < 4; ++i) {
    const Locator& place = listing.places[i];
    CHECK(text(request.bytes[i]) == house.content.substr(place.offset, static_cast<size_t>(place.length)));
    CHECK(request.fields[i].identity == house.store.identity("a.tar"));
  }
  const auto asked = house.store.asked();
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].offset == 512);
  CHECK(asked[0].bytes == 10'007 - 512);
  CHECK(asked[1].offset == 200'000);
  CHECK(house.router.statistics().samples.value() == 1);
}

TEST_CASE("a field that is wanted twice comes twice") {
  House house;
  MadeListing listing(2);
  listing.places = {house.at(0, 100), house.at(0, 100)};
  const FetchRequest request = fetched(house, listing, fields_of(2));
  REQUIRE(request.ok);
  for (size_t i = 0; i < 2; ++i) CHECK(text(request.bytes[i]) == house.content.substr(0, 100));
}

TEST_CASE("a member without a byte is an empty text, and nothing is asked for it") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(512, 0)};
  const FetchRequest request = fetched(house, listing, fields_of(1));
  INFO(request.error.message);
  CHECK(request.ok);
  CHECK(request.bytes[0].size() == 0);
  CHECK(request.fields[0].identity == house.store.identity("a.tar"));
  CHECK(house.store.asked().empty());
}

TEST_CASE("local and remote fields of one sample come together") {
  const TempFolder temp;
  temp.file("local", "here");
  House house;
  MadeListing listing(2);
  const std::string path = temp / "local";
  Locator file;
  file.path = path;
  listing.places = {file, house.at(5, 10)};
  const FetchRequest request = fetched(house, listing, fields_of(2));
  INFO(request.error.message);
  REQUIRE(request.ok);
  CHECK(text(request.bytes[0]) == "here");
  CHECK(text(request.bytes[1]) == house.content.substr(5, 10));
}

TEST_CASE("a kept copy is read in place of the store, and the store in place of a damaged copy") {
  const TempFolder temp;
  House house;
  MadeListing listing(1);
  listing.places = {house.at(100, 50)};
  const UniqueFd copy = copy_of(temp, "--a copy");
  for (const auto want : {FieldFetch::Want::kBytes, FieldFetch::Want::kChanged}) {
    std::vector<FieldFetch> fields = fields_of(1);
    fields[0].want = want;
    fields[0].identity = house.store.identity("a.tar");
    fields[0].kept_fd = copy.get();
    fields[0].kept_offset = 2, fields[0].kept_bytes = 6;
    const size_t before = house.store.asked().size();
    FetchRequest request = fetched(house, listing, fields);
    REQUIRE(request.ok);
    CHECK(text(request.bytes[0]) == "a copy");
    CHECK(request.fields[0].unchanged == (want == FieldFetch::Want::kChanged));
    CHECK(house.store.asked().size() == before);
    fields[0].kept_bytes = 1'000;  // the copy is shorter
    request = fetched(house, listing, fields);
    REQUIRE(request.ok);
    CHECK(request.fields[0].copy_failed);
    CHECK_FALSE(request.fields[0].unchanged);
    CHECK(text(request.bytes[0]) == house.content.substr(100, 50));
    CHECK(house.store.asked().size() == before + 1);
  }
}

TEST_CASE("whether a copy is still right is decided by the listing, without a request") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(100, 50)};
  std::vector<FieldFetch> fields = fields_of(1);
  fields[0].want = FieldFetch::Want::kChanged;
  fields[0].identity = house.store.identity("a.tar");
  FetchRequest request = fetched(house, listing, fields);
  REQUIRE(request.ok);
  CHECK(request.fields[0].unchanged);
  CHECK(request.bytes[0].size() == 0);
  CHECK(house.store.asked().empty());
  request.fields[0].unchanged = false;
  CHECK(house.router.fetch_at_hand(request));
  CHECK(request.fields[0].unchanged);

  fields[0].identity.changed += 2;
  request = request_for(listing, 0, fields);
  CHECK_FALSE(house.router.fetch_at_hand(request));
  request = fetched(house, listing, fields);
  REQUIRE(request.ok);
  CHECK_FALSE(request.fields[0].unchanged);
  CHECK(text(request.bytes[0]) == house.content.substr(100, 50));
  CHECK(request.fields[0].identity == house.store.identity("a.tar"));
}

TEST_CASE("an object of another identity, a missing one and a missing field are bad content") {
  House house;
  MadeListing listing(1);
  const auto error_at = [&](const Locator& place) {
    listing.places = {place};
    const FetchRequest request = fetched(house, listing, fields_of(1));
    REQUIRE_FALSE(request.ok);
    CHECK(request.error.trouble == Trouble::kContent);
    return request.error.message;
  };
  Locator other = house.at(0, 10);
  other.identity.changed += 2;
  CHECK_THAT(error_at(other), Contains("was it replaced?"));
  CHECK_THAT(error_at(house.at(299'999, 2)), Contains("was it replaced?"));
  CHECK_THAT(error_at(house.at(300'001, 1)), Contains("was it replaced?"));
  Locator counted = house.at(0, 10);
  counted.object_bytes = 5;
  CHECK_THAT(error_at(counted), Contains("was it replaced?"));
  Locator gone = house.at(0, 10);
  gone.path = "gone";
  CHECK_THAT(error_at(gone), Contains("s3://bucket/gone"));
  error_at(Locator{});
  house.store.put("large", std::string(2 << 20, 'x'));
  CHECK_THAT(error_at(house.at(0, -1, "large")), Contains("more than the limit"));
  Locator unknown = house.at(0, -1, "large");
  unknown.identity = {};
  CHECK_THAT(error_at(unknown), Contains("too long"));
  house.store.put("empty", "");
  CHECK_THAT(error_at(house.at(0, -1, "empty")), Contains("is empty"));
  CHECK(house.router.statistics().samples.value() == 0);
}

TEST_CASE("a store that is down is a trouble that passes") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(0, 10)};
  house.store.fail(1, {Trouble::kTransient, "it is down."});
  FetchRequest request = fetched(house, listing, fields_of(1));
  CHECK_FALSE(request.ok);
  CHECK(request.error.trouble == Trouble::kTransient);
  fetch_now(house.router, request);  // the same request once more
  REQUIRE(request.ok);
  CHECK(text(request.bytes[0]) == house.content.substr(0, 10));
}

TEST_CASE("a row is gathered from pieces of several objects, with the bytes between them") {
  House house;
  house.store.put("b.tar", "0123456789");
  MadeListing listing(1);
  Locator first = house.at(10, 5), second = house.at(5, 3, "b.tar"), third = house.at(0, 0, "b.tar"),
          last = house.at(17, 4);
  first.followed_by = '\n';
  third.followed_by = 0;
  listing.pieces = {first, second, third, last};
  const FetchRequest request = fetched(house, listing, fields_of(1));
  INFO(request.error.message);
  REQUIRE(request.ok);
  CHECK(text(request.bytes[0]) ==
        house.content.substr(10, 5) + "\n567" + std::string(1, '\0') + house.content.substr(17, 4));
  CHECK(house.store.count("read") == 2);
}

TEST_CASE("two requests for the same bytes ask once") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(100, 5'000)};
  house.store.hold(true);
  Waiter waiter;
  std::deque<FetchRequest> requests(5);
  for (FetchRequest& request : requests) {
    request = request_for(listing, 0, fields_of(1));
    request.observer = &waiter;
    house.router.fetch(request);
  }
  REQUIRE(soon([&] { return house.store.waiting() == 1; }));
  house.store.hold(false);
  REQUIRE(waiter.wait(5));
  for (const FetchRequest& request : requests) {
    REQUIRE(request.ok);
    CHECK(text(request.bytes[0]) == house.content.substr(100, 5'000));
    CHECK(request.fields[0].identity == house.store.identity("a.tar"));
  }
  CHECK(house.store.asked().size() == 1);
  CHECK(house.router.statistics().shared.value() == 4);
}

TEST_CASE("where the first of two requests for the same bytes fails, the second asks by itself") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(100, 5'000)};
  house.store.hold(true);
  house.store.fail(1, {Trouble::kTransient, "it is down."});
  Waiter waiter;
  std::deque<FetchRequest> requests(3);
  for (FetchRequest& request : requests) {
    request = request_for(listing, 0, fields_of(1));
    request.observer = &waiter;
    house.router.fetch(request);
  }
  house.store.hold(false);
  REQUIRE(waiter.wait(3));
  CHECK_FALSE(requests[0].ok);
  for (size_t i = 1; i < 3; ++i) {
    REQUIRE(requests[i].ok);
    CHECK(text(requests[i].bytes[0]) == house.content.substr(100, 5'000));
  }
  CHECK(house.router.statistics().shared.value() == 0);
}

TEST_CASE("where nobody wants the first of several requests any more, one of the others asks for all") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(100, 5'000)};
  house.store.hold(true);
  house.store.fail(1, {Trouble::kStopping, "it was stopped."});
  Waiter waiter;
  std::deque<FetchRequest> requests(4);
  for (FetchRequest& request : requests) {
    request = request_for(listing, 0, fields_of(1));
    request.observer = &waiter;
    house.router.fetch(request);
  }
  house.store.hold(false);
  REQUIRE(waiter.wait(4));
  CHECK_FALSE(requests[0].ok);
  for (size_t i = 1; i < 4; ++i) {
    REQUIRE(requests[i].ok);
    CHECK(text(requests[i].bytes[0]) == house.content.substr(100, 5'000));
  }
  CHECK(house.store.asked().size() == 2);
  CHECK(house.router.statistics().shared.value() == 2);
}

TEST_CASE("bytes that a request lends serve others until it lets go of them") {
  House house;
  MadeListing listing(2);
  listing.places = {house.at(100, 5'000), house.at(200'000, 300)};
  FetchRequest first = request_for(listing, 0, fields_of(2));
  first.lends_bytes = true;
  fetch_now(house.router, first);
  REQUIRE(first.ok);
  const auto asked_for_another = [&] {
    const size_t before = house.store.asked().size();
    const FetchRequest other = fetched(house, listing, fields_of(2));
    REQUIRE(other.ok);
    for (size_t i = 0; i < 2; ++i) {
      const Locator& place = listing.places[i];
      CHECK(text(other.bytes[i]) == house.content.substr(place.offset, static_cast<size_t>(place.length)));
      CHECK(other.fields[i].identity == house.store.identity("a.tar"));
    }
    return house.store.asked().size() - before;
  };
  CHECK(asked_for_another() == 0);
  CHECK(asked_for_another() == 0);
  CHECK(house.router.statistics().shared.value() == 4);
  fetch_now(house.router, first);  // its bytes are read anew, and lent again
  CHECK(asked_for_another() == 0);
  house.router.end_loan(first);
  house.router.end_loan(first);
  CHECK(asked_for_another() == 2);
}

TEST_CASE("a request that waits for another one's bytes ends at once where nobody wants it any more") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(100, 5'000)};
  house.store.hold(true);
  std::atomic<bool> is_unwanted{false};
  Waiter first_waiter, waiter;
  FetchRequest first = request_for(listing, 0, fields_of(1));
  first.observer = &first_waiter;
  house.router.fetch(first);
  std::deque<FetchRequest> requests(2);
  const auto begin = [&](FetchRequest& request) {
    request = request_for(listing, 0, fields_of(1));
    request.observer = &waiter;
    request.is_unwanted = &is_unwanted;
    house.router.fetch(request);
  };
  begin(requests[0]);
  house.router.drop_unwanted();  // it is wanted
  is_unwanted = true;
  begin(requests[1]);  // too late: it does not wait at all
  REQUIRE(waiter.wait(1));
  house.router.drop_unwanted();
  REQUIRE(waiter.wait(2));
  for (const FetchRequest& request : requests) {
    CHECK_FALSE(request.ok);
    CHECK(request.error.trouble == Trouble::kStopping);
  }
  house.store.hold(false);
  REQUIRE(first_waiter.wait(1));
  CHECK(first.ok);
  CHECK(house.store.asked().size() == 1);
}

TEST_CASE("threads that want, lend and drop the same bytes all get them") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(100, 50'000)};
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      FetchRequest request = request_for(listing, 0, fields_of(1));
      std::atomic<bool> is_unwanted{false};
      request.lends_bytes = true;
      request.is_unwanted = &is_unwanted;
      for (int i = 0; i < 300; ++i) {
        is_unwanted = number == 0 && i % 3 == 0;
        Waiter waiter;
        request.observer = &waiter;
        house.router.fetch(request);
        if (!waiter.wait(1)) return void(wrong += 1'000);  // an assertion is for the main thread
        wrong += request.ok ? text(request.bytes[0]) != house.content.substr(100, 50'000) : !is_unwanted;
        house.router.drop_unwanted();
        house.router.end_loan(request);
      }
    });
  threads.clear();
  CHECK(wrong == 0);
  CHECK(house.router.statistics().shared.value() > 0);
}

TEST_CASE("requests wait for room in the budget, and all of them come") {
  House house;
  MadeListing listing(2);
  listing.places = {house.at(0, 40'000), house.at(200'000, 40'000)};
  ByteBudget budget(120'000);  // of one request, which takes 100,000
  struct Giver final : FetchObserver {
    void on_fetched(FetchRequest& request) override {
      is_right = is_right && request.ok && request.bytes[1].size() == 40'000;
      request.budget->give_back(request);
      ++count;
    }
    std::atomic<int> count{0};
    std::atomic<bool> is_right{true};
  } giver;
  house.store.hold(true);  // so that the first one has the room until all others have asked for it
  std::deque<FetchRequest> requests(20);
  for (FetchRequest& request : requests) {
    request = request_for(listing, 0, fields_of(2));
    request.budget = &budget;
    request.observer = &giver;
    house.router.fetch(request);
  }
  house.store.hold(false);
  REQUIRE(soon([&] { return giver.count == 20; }));
  CHECK(giver.is_right);
  CHECK(budget.bytes() == 0);
  CHECK(budget.bytes_peak() <= 120'000);
  CHECK(budget.waits() > 0);
}

TEST_CASE("bytes whose size is not known wait for room as well, and are asked for once more") {
  House house;
  MadeListing listing(1);
  Locator unknown = house.at(0, -1);
  unknown.identity = {};
  listing.places = {unknown};
  ByteBudget budget(400'000);  // of one request, which takes 375,000
  struct Holder final : ByteBudget::Holder {
    void on_room() override {}
  } holder;
  REQUIRE(budget.hold(holder, 100'000));
  Waiter waiter;
  FetchRequest request = request_for(listing, 0, fields_of(1));
  request.budget = &budget;
  request.observer = &waiter;
  house.router.fetch(request);
  REQUIRE(soon([&] { return budget.waits() == 1; }));
  budget.give_back(holder);
  REQUIRE(waiter.wait(1));
  REQUIRE(request.ok);
  CHECK(text(request.bytes[0]) == house.content);
  CHECK(request.fields[0].identity == house.store.identity("a.tar"));
  CHECK(house.store.count("read") == 2);
  CHECK(request.held_bytes() == 375'000);
  budget.give_back(request);
}

}  // namespace spdld::fetch_router_test
