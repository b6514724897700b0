#include "daemon/source/alternatives.h"

#include <catch2/catch.hpp>
#include <vector>

#include "daemon/source/joined.h"
#include "daemon/source/opening/opening.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::alternatives_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Names = std::vector<std::string>;

config::SourceSpec source_of(const std::string& type, const std::string& uri, const std::string& name = {}) {
  config::SourceSpec spec;
  spec.type = type;
  spec.uris = {uri};
  spec.name = name;
  return spec;
}

// The samples' bytes of a field; an error's sentence where it can't be had.
Names contents(const Listing& listing, const std::string& field) {
  LocalFetcher fetcher(2);
  Names all;
  for (uint64_t i = 0; i < listing.size(); ++i) {
    FetchRequest request = request_for(listing, i, wanted(listing, {field}));
    fetch_now(fetcher, request);
    all.push_back(request.ok ? text(request.bytes[0]) : request.error.message);
  }
  return all;
}

}  // namespace

TEST_CASE("a sample gives the first of the fields that it has") {
  const TempFolder temp;
  TarWriter()
      .file("1.png", "png 1")
      .file("1.jpg", "jpg 1")
      .file("2.jpeg", "jpeg 2")
      .file("2.cls", "2")
      .file("3.png", "png 3")
      .file("4.cls", "4")
      .end()
      .save(temp.path() / "a.tar");
  const std::vector<config::SourceSpec> specs = {source_of("webdataset", temp / "a.tar")};
  const auto plain = open_listings(specs, {}, {});
  const Names asked = {"jpg;jpeg;png", "png;jpg", "cls", "jpg;jpeg;png", "gif;tiff", "path;jpg"};
  const auto listing = open_listings(specs, {}, {}, {}, nullptr, asked);
  CHECK(listing->fields().size() == plain->fields().size() + 3);  // gif;tiff is nowhere
  CHECK(listing->find_field("gif;tiff", nullptr) == nullptr);
  const Names first = contents(*listing, "jpg;jpeg;png"), other = contents(*listing, "png;jpg");
  CHECK(Names(first.begin(), first.begin() + 3) == Names{"jpg 1", "jpeg 2", "png 3"});
  CHECK_THAT(first[3], Contains("a.tar:4 has no \"jpg;jpeg;png\""));
  CHECK(other[0] == "png 1");
  CHECK_THAT(other[1], Contains("a.tar:2 has no \"png;jpg\""));
  CHECK(contents(*listing, "jpg")[0] == "jpg 1");

  CHECK(listing->fingerprint() == plain->fingerprint());
  CHECK(listing->size() == plain->size());
  CHECK(listing->name(2) == plain->name(2));
  CHECK(listing->remark_count() == plain->remark_count());
  CHECK(listing->memory_bytes() == plain->memory_bytes());
  CHECK(listing->archive_starts().size() == plain->archive_starts().size());
  CHECK(listing->unchanged());
}

TEST_CASE("sources of a mix each give what they have of several fields") {
  const TempFolder temp;
  TarWriter().file("1.jpg", "jpg 1").end().save(temp.path() / "a.tar");
  TarWriter().file("1.png", "png 1").end().save(temp.path() / "b.tar");
  temp.file("c/x/1.jpg", "image 1");
  const std::vector<config::SourceSpec> specs = {source_of("webdataset", temp / "a.tar", "a"),
                                                 source_of("webdataset", temp / "b.tar", "b"),
                                                 source_of("image-folder", temp / "c", "c")};
  const Names asked = {"jpg;png;image", "jpg;png"};
  const auto listing = open_listings(specs, {}, {}, {}, nullptr, asked);
  CHECK(contents(*listing, "jpg;png;image") == Names{"jpg 1", "png 1", "image 1"});
  CHECK(listing->find_field("jpg;png", nullptr) == nullptr);
  CHECK_THAT(why_no_field(*listing, "jpg;png"), Contains("source 'c' has none"));
  CHECK(listing->parts().size() == 3);
}

}  // namespace spdld::alternatives_test
