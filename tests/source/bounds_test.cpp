// Data sets that may only hold what lies in some folders, whatever their links say.
#include "daemon/source/bounds.h"

#include <fcntl.h>

#include <catch2/catch.hpp>

#include "daemon/source/fetcher.h"
#include "daemon/source/sample_list.h"
#include "proto/unique_fd.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/support/tar_writer.h"

namespace spdld::bounds_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

std::unique_ptr<Listing> open_within(const TempFolder& temp, const std::string& type, const std::string& name) {
  config::SourceSpec spec;
  spec.type = type;
  spec.uris = {temp / name};
  const std::vector<std::filesystem::path> folders = {temp / "open"};
  return open_listing(spec, {}, {}, {}, nullptr, std::make_shared<Bounds>(folders));
}

Error refusal_within(const TempFolder& temp, const std::string& type, const std::string& name) {
  try {
    open_within(temp, type, name);
  } catch (const SetupError& e) {
    return e.error();
  }
  return {};
}

}  // namespace

TEST_CASE("what lies within bounds is told by where it really is") {
  const TempFolder temp;
  temp.file("open/file");
  temp.file("open2/file");
  temp.link("../open2/file", "open/out");
  temp.link("../open/file", "open2/in");
  temp.link("open", "alias");
  const Bounds bounds({temp / "alias", temp / "nowhere"});
  CHECK(bounds.holds(temp / "open/file"));
  CHECK(bounds.holds(temp / "open"));
  CHECK(bounds.holds(temp / "open2/in"));
  CHECK_FALSE(bounds.holds(temp / "open/out"));
  CHECK_FALSE(bounds.holds(temp / "open2/file"));
  CHECK_FALSE(bounds.holds(temp / "open/../open2/file"));
  CHECK_FALSE(bounds.holds(temp / "open/none"));
  CHECK_FALSE(bounds.holds(temp.path().string()));
  const auto opened = [&](const std::string& name) {
    return UniqueFd(::open((temp / name).c_str(), O_RDONLY | O_CLOEXEC));
  };
  CHECK(bounds.holds(opened("open/file").get()));
  CHECK(bounds.holds(opened("open").get()));
  CHECK_FALSE(bounds.holds(opened("open/out").get()));
  CHECK_FALSE(bounds.holds(opened("open2").get()));
  CHECK_FALSE(bounds.holds(-1));
  CHECK_FALSE(Bounds({}).holds(temp / "open"));
  CHECK(Bounds({"/"}).holds(temp / "open"));
  CHECK_NOTHROW(bounds.check(temp / "open/none"));
  CHECK_THROWS_AS(bounds.check(temp / "open/out"), SetupError);
}

TEST_CASE("a link out of bounds refuses its data set, one that stays inside does not") {
  const TempFolder temp;
  temp.file("open/good/a/1.jpg");
  temp.link("1.jpg", "open/good/a/2.jpg");
  temp.link("a", "open/good/b");
  CHECK(open_within(temp, "image-folder", "open/good")->size() == 4);

  temp.file("closed/c/1.jpg");
  temp.file("open/picture/a/1.jpg");
  temp.link(temp / "closed/c/1.jpg", "open/picture/a/2.jpg");
  temp.file("open/class/a/1.jpg");
  temp.link(temp / "closed/c", "open/class/b");
  temp.file("open/deep/a/1.jpg");
  temp.link(temp / "closed", "open/deep/a/closed");
  temp.folder("open/tars");
  TarWriter().file("1.jpg", "x").end().save(temp / "closed/x.tar");
  temp.link(temp / "closed/x.tar", "open/tars/x.tar");
  for (const auto& [type, name, where] : {std::tuple("image-folder", "open/picture", "open/picture/a/2.jpg"),
                                          std::tuple("image-folder", "open/class", "open/class/b"),
                                          std::tuple("image-folder", "open/deep", "open/deep/a/closed"),
                                          std::tuple("webdataset", "open/tars", "open/tars/x.tar")}) {
    const Error error = refusal_within(temp, type, name);
    CHECK(error.trouble == Trouble::kDenied);
    CHECK_THAT(error.message, Contains(std::string(where) + " leads out of the folders"));
  }
}

TEST_CASE("a picture or a list that leads out of bounds after the listing is not read") {
  const TempFolder temp;
  temp.file("open/set/a/1.jpg", "seen");
  temp.file("closed/1.jpg", "secret");
  temp.file("closed/list", "0\n");
  temp.file("open/list", "0\n");
  const auto listing = open_within(temp, "image-folder", "open/set");
  LocalFetcher fetcher(1);
  FetchRequest request = request_for(*listing, 0, wanted(*listing, {"image"}));
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  CHECK(text(request.bytes[0]) == "seen");
  std::filesystem::remove(temp / "open/set/a/1.jpg");
  temp.link(temp / "closed/1.jpg", "open/set/a/1.jpg");
  fetch_now(fetcher, request);
  CHECK_FALSE(request.ok);
  CHECK(request.error.trouble == Trouble::kContent);
  CHECK_THAT(request.error.message, Contains("leads out of the folders"));
  // Nor is a copy that somebody keeps of what the link leads to.
  const auto unbound = open("image-folder", temp / "open/set");
  FetchRequest other = request_for(*unbound, 0, wanted(*unbound, {"image"}));
  fetch_now(fetcher, other);
  REQUIRE(text(other.bytes[0]) == "secret");
  request.fields[0].want = FieldFetch::Want::kChanged;
  request.fields[0].identity = other.fields[0].identity;
  fetch_now(fetcher, request);
  CHECK_FALSE(request.ok);
  CHECK_FALSE(fetcher.fetch_at_hand(request));

  Stamps stamps;
  CHECK(read_sample_list(temp / "open/list", "order.include", *listing, stamps, {}) == std::vector<uint64_t>{0});
  temp.link(temp / "closed/list", "open/linked");
  CHECK_THROWS_WITH(read_sample_list(temp / "open/linked", "order.include", *listing, stamps, {}),
                    Contains("open/linked leads out of the folders"));
}

}  // namespace spdld::bounds_test
