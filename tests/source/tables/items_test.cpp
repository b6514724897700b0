// The listing of items that user code makes, and the records in which their values come.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/source/fetching/fetch_router.h"
#include "daemon/source/joined.h"
#include "daemon/store/packing.h"
#include "proto/crew/record.h"
#include "proto/unique_fd.h"
#include "tests/source/fetch_once.h"
#include "tests/source/temp_folder.h"

namespace spdld::source {
namespace {

using Want = FieldFetch::Want;

config::SourceSpec spec_of(const std::string& call = "photos:train", const std::string& code = "0f",
                           const std::string& gives = "image uint8 [2, 3]; text bytes", int64_t samples = 20) {
  config::SourceSpec spec;
  spec.type = "python";
  spec.uris = {};
  spec.parameters = {{"call", call}, {"code", code}, {"samples", samples}, {"gives", gives}};
  return spec;
}

std::unique_ptr<Listing> listed(const config::SourceSpec& spec) { return open_listing(spec, {}, {}); }

std::string text_of(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

// The record {"abcdef", "x"}, with the table that is told.
std::string record_of(const std::vector<uint64_t>& table = {6, 1}) {
  std::string record(reinterpret_cast<const char*>(table.data()), table.size() * sizeof(uint64_t));
  record.resize(64);
  record += "abcdef";
  record.resize(128);
  return record + "x";
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

TEST_CASE("a data set in user code is listed without being made") {
  const auto listing = listed(spec_of());
  CHECK(listing->size() == 20);
  CHECK(listing->name(3) == "photos:train[3]");
  REQUIRE(listing->fields().size() == 3);
  CHECK(listing->fields()[0].name == "image");
  CHECK(listing->fields()[0].raw == config::RawValues{config::DType::kUint8, std::vector<int64_t>{2, 3}});
  CHECK(listing->fields()[1].name == "text");
  CHECK_FALSE(listing->fields()[1].raw);
  CHECK(listing->fields()[2].name == "__key__");
  CHECK(listing->fields()[2].kind == FieldKind::kText);
  CHECK(listing->unchanged());
  CHECK_FALSE(listing->is_remote());
  CHECK_FALSE(listing->may_lack(0, 0));
  CHECK_FALSE(listing->lacks(0, 0));
  const Locator place = listing->locate(17, 1);
  REQUIRE(place.maker != nullptr);
  CHECK(place.maker->source.empty());
  CHECK(place.path.empty());  // nobody reads it by mistake
  CHECK(place.offset == 17);
  CHECK(place.packed == 1);
  CHECK(listing->locate(17, 2).maker == nullptr);
}

TEST_CASE("another data set, another code and other values have other fingerprints") {
  const std::string mine = listed(spec_of())->fingerprint();
  CHECK(mine.size() == 32);
  CHECK(listed(spec_of())->fingerprint() == mine);
  CHECK(listed(spec_of("photos:other"))->fingerprint() != mine);
  CHECK(listed(spec_of("photos:train", "10"))->fingerprint() != mine);
  CHECK(listed(spec_of("photos:train", "0f", "image uint8 [3, 2]; text bytes"))->fingerprint() != mine);
  CHECK(listed(spec_of("photos:train", "0f", "picture uint8 [2, 3]; text bytes"))->fingerprint() != mine);
  CHECK(listed(spec_of("photos:train", "0f", "image uint8 [2, 3]; text bytes", 21))->fingerprint() != mine);
}

TEST_CASE("in a mix each data set has its own numbers and its name") {
  std::vector<NamedListing> parts;
  for (const char* const name : {"first", "second"}) {
    config::SourceSpec spec = spec_of();
    spec.name = name;
    parts.push_back({name, listed(spec)});
  }
  const auto both = join_listings(std::move(parts));
  CHECK(both->locate(5, 0).maker->source == "first");
  CHECK(both->locate(25, 0).maker->source == "second");
  CHECK(both->locate(25, 0).offset == 5);
  CHECK(both->owner() == "user 0");
}

TEST_CASE("a record's values lie where its table says, or nowhere") {
  const auto value = [](const std::string& record, uint32_t number) -> std::string {
    const auto found = proto::crew::value_in(bytes_of(record), 2, number);
    return found ? text_of(*found) : "none";
  };
  CHECK(value(record_of(), 0) == "abcdef");
  CHECK(value(record_of(), 1) == "x");
  CHECK(value(record_of(), 2) == "none");
  CHECK(value(record_of({6, 0}), 1).empty());
  CHECK(value(record_of({0, 6}), 1) == "abcdef");
  CHECK(value(record_of({6, 2}), 1) == "none");
  CHECK(value(record_of({65, 1}), 0).size() == 65);
  CHECK(value(record_of({66, 1}), 0) == "none");
  CHECK(value(record_of({UINT64_MAX, 1}), 0) == "none");
  CHECK(value(record_of({UINT64_MAX, 1}), 1) == "none");
  CHECK(value(record_of({129, 0}), 1).empty());
  CHECK(value(record_of({129, 1}), 1) == "none");
  CHECK(value(std::string(15, '\0'), 0) == "none");  // too short for its table
  CHECK(value(std::string(16, '\0'), 1).empty());
  CHECK(value("", 0) == "none");
  CHECK(proto::crew::value_offset({}, 2) == 64);
  CHECK(proto::crew::value_offset(std::vector<uint64_t>{64}, 2) == 128);
  CHECK(proto::crew::value_offset(std::vector<uint64_t>{65, 1}, 9) == 320);

  const auto listing = listed(spec_of());
  const Locator place = listing->locate(0, 1);
  CHECK(text_of(place.packing->find(bytes_of(record_of()), 1)->bytes) == "x");
  const auto lie = place.packing->find(bytes_of(record_of({6, 2})), 1);
  REQUIRE_FALSE(lie);
  CHECK(lie.error().trouble == Trouble::kContent);
}

TEST_CASE("of an item that was not made, nothing is read but a kept copy") {
  const auto listing = listed(spec_of());
  LocalFetcher local(1);
  FetchRouter router(local);
  const test::TempFolder folder;
  folder.file("copy", "kept");
  const UniqueFd copy(::open((folder / "copy").c_str(), O_RDONLY | O_CLOEXEC));
  const auto fetched = [&](FieldFetch field) {
    auto request = std::make_unique<FetchRequest>();
    request->listing = listing.get();
    request->sample = 3;
    request->fields = {std::move(field)};
    test::fetch_once(router, *request);
    return request;
  };
  const store::Identity identity = listing->locate(3, 0).identity;
  {
    const auto request = fetched({.field = 0});
    CHECK_FALSE(request->ok);
    CHECK(request->error.trouble == Trouble::kContent);
    CHECK(request->error.message == "user code makes it, and it was not made here.");
  }
  {
    const auto request = fetched({.field = 0, .want = Want::kChanged, .identity = identity});
    CHECK(request->ok);
    CHECK(request->fields[0].unchanged);
    CHECK(request->bytes_of(0).empty());
  }
  CHECK_FALSE(fetched({.field = 0, .want = Want::kChanged, .identity = {.size = 9}})->ok);
  const auto kept = [&](Want want, store::Identity of, uint64_t bytes) {
    return fetched(
        {.field = 0, .want = want, .identity = of, .kept_fd = copy.get(), .kept_offset = 0, .kept_bytes = bytes});
  };
  {
    const auto request = kept(Want::kChanged, identity, 4);
    CHECK(request->ok);
    CHECK(request->fields[0].unchanged);
    CHECK(text_of(request->bytes_of(0)) == "kept");
  }
  {
    const auto request = kept(Want::kBytes, {}, 4);
    CHECK(request->ok);
    CHECK_FALSE(request->fields[0].copy_failed);
    CHECK(text_of(request->bytes_of(0)) == "kept");
  }
  for (const Want want : {Want::kChanged, Want::kBytes}) {
    const auto request = kept(want, identity, 5);  // the copy is cut
    CHECK(request->ok);
    CHECK_FALSE(request->fields[0].unchanged);
    CHECK(request->fields[0].copy_failed);
  }
}

}  // namespace spdld::source
