// Fields that are fetched in parts, from local files and from stores.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "daemon/source/fetching/fetch_router.h"
#include "tests/source/fetch_once.h"
#include "tests/source/fetching.h"
#include "tests/source/made_listing.h"
#include "tests/source/temp_folder.h"

namespace spdld::parts_test {
namespace {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Want = FieldFetch::Want;

FieldFetch parts_of(std::vector<ByteRange> parts, uint64_t whole_max = 0) {
  FieldFetch field;
  field.want = Want::kParts;
  field.parts = std::move(parts);
  field.whole_max = whole_max;
  return field;
}

// Each byte tells its place.
std::string content_of(size_t bytes) {
  std::string content(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) content[i] = static_cast<char>(i * 7 + i / 251);
  return content;
}

std::string joined(const std::string& content, const std::vector<ByteRange>& parts) {
  std::string text;
  for (const ByteRange& part : parts) text += content.substr(part.offset, part.bytes);
  return text;
}

struct Local {
  Local() : content(content_of(50'000)) {
    temp.file("a", content);
    path = temp / "a";
    Locator file;
    file.path = path;
    listing.places = {file};
  }
  FetchRequest fetch(const FieldFetch& field) {
    FetchRequest request = request_for(listing, 0, {field});
    fetch_now(fetcher, request);
    return request;
  }

  const TempFolder temp;
  const std::string content;
  std::string path;
  MadeListing listing{1};
  LocalFetcher fetcher{1, 40'000};
};

}  // namespace

TEST_CASE("parts of a file come one behind another, in rising order, and joined") {
  Local local;
  const FetchRequest request = local.fetch(parts_of({{30'000, 10}, {5, 10}, {10, 20}, {100, 0}}));
  INFO(request.error.message);
  REQUIRE(request.ok);
  const FieldFetch& field = request.fields[0];
  const std::vector<ByteRange> parts = {{5, 25}, {30'000, 10}};
  CHECK(field.parts == parts);
  CHECK_FALSE(field.is_whole);
  CHECK(field.content_bytes == local.content.size());
  CHECK(field.identity.size == local.content.size());
  CHECK(text(request.bytes[0]) == joined(local.content, parts));
}

TEST_CASE("parts end where the file ends") {
  Local local;
  const FetchRequest request = local.fetch(parts_of({{49'990, 100}, {60'000, 5}, {UINT64_MAX - 1, 5}}));
  REQUIRE(request.ok);
  const std::vector<ByteRange> parts = {{49'990, 10}};
  CHECK(request.fields[0].parts == parts);
  CHECK(text(request.bytes[0]) == local.content.substr(49'990));
}

TEST_CASE("a file that is small enough is read whole in place of its parts") {
  Local local;
  const std::string small = content_of(1'000);
  local.temp.file("a", small);
  const FetchRequest request = local.fetch(parts_of({{0, 100}}, 1'000));
  REQUIRE(request.ok);
  CHECK(request.fields[0].is_whole);
  CHECK(text(request.bytes[0]) == small);
}

TEST_CASE("parts of a larger file than the limit come, and parts that are larger do not") {
  Local local;
  CHECK(local.fetch(parts_of({{10'000, 40'000}})).ok);
  const FetchRequest request = local.fetch(parts_of({{0, UINT64_MAX}}));
  REQUIRE_FALSE(request.ok);
  CHECK(request.error.trouble == Trouble::kContent);
  CHECK_THAT(request.error.message, Catch::Contains("50000 bytes of it are needed, more than the limit of 40000"));
}

TEST_CASE("parts of one file are not those of a file that has replaced it") {
  Local local;
  FetchRequest request = local.fetch(parts_of({{0, 10}}));
  FieldFetch field = parts_of({{20, 10}});
  field.is_of_identity = true;
  field.identity = request.fields[0].identity;
  request = local.fetch(field);
  REQUIRE(request.ok);
  CHECK_FALSE(request.fields[0].is_other);
  CHECK(text(request.bytes[0]) == local.content.substr(20, 10));
  local.temp.file("a", content_of(49'999));
  request = local.fetch(field);
  REQUIRE(request.ok);
  CHECK(request.fields[0].is_other);
  CHECK(request.bytes[0].size() == 0);
}

TEST_CASE("parts of an object come from its store, close parts with one read") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(1'000, 200'000)};
  FetchRequest request = request_for(listing, 0, {parts_of({{0, 100}, {5'000, 50}, {150'000, 100'000}})});
  fetch_now(house.router, request);
  INFO(request.error.message);
  REQUIRE(request.ok);
  const std::vector<ByteRange> parts = {{0, 100}, {5'000, 50}, {150'000, 50'000}};
  CHECK(request.fields[0].parts == parts);
  CHECK(request.fields[0].content_bytes == 200'000);
  CHECK(text(request.bytes[0]) == joined(house.content.substr(1'000, 200'000), parts));
  const auto asked = house.store.asked();
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].bytes == 5'050);
  CHECK(asked[1].offset == 151'000);
  CHECK(request.fields[0].identity == house.store.identity("a.tar"));
}

TEST_CASE("nothing is asked of a store for parts of an object that was replaced") {
  House house;
  MadeListing listing(1);
  listing.places = {house.at(1'000, 200'000)};
  FieldFetch field = parts_of({{0, 100}});
  field.is_of_identity = true;
  field.identity = house.store.identity("a.tar");
  field.identity.size += 1;
  FetchRequest request = request_for(listing, 0, {field});
  fetch_now(house.router, request);
  REQUIRE(request.ok);
  CHECK(request.fields[0].is_other);
  CHECK(house.store.asked().empty());
}

}  // namespace spdld::parts_test
