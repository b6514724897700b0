// Which archives a webdataset's uris stand for, and what their samples are called.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "config/uri_pattern.h"
#include "daemon/source/files/archive_search.h"
#include "daemon/source/files/bounds.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::archive_search_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Names = std::vector<std::string>;

Names names_of(const Listing& listing) {
  Names names;
  for (uint64_t i = 0; i < listing.size(); ++i) names.push_back(listing.name(i));
  return names;
}

void archive(const TempFolder& temp, const std::string& name, const std::string& key) {
  temp.file(name, TarWriter().file(key + ".jpg", key).end().bytes());
}

std::unique_ptr<Listing> open_all(const Names& uris) {
  config::SourceSpec spec;
  spec.type = "webdataset";
  spec.uris = uris;
  return open_listing(spec, {}, {});
}

Error refused(const Names& uris) {
  try {
    open_all(uris);
  } catch (const SetupError& error) {
    return error.error();
  }
  return {Trouble::kInternal, "it was not refused"};
}

}  // namespace

TEST_CASE("braces give the paths that a shell gives") {
  const auto expanded = [](const std::string& pattern) {
    INFO(pattern);
    CHECK(config::pattern_error(pattern).empty());
    const Names paths = config::expand_braces(pattern);
    const config::Expansion all = config::expansion_of(pattern);
    CHECK(all.paths == paths.size());
    uint64_t bytes = 0;
    for (const auto& path : paths) bytes += path.size();
    CHECK(all.bytes >= bytes);
    return paths;
  };
  CHECK(expanded("a.tar") == Names{"a.tar"});
  CHECK(expanded("{8..11}") == Names{"8", "9", "10", "11"});
  CHECK(expanded("{008..011}") == Names{"008", "009", "010", "011"});
  CHECK(expanded("{0..10..4}") == Names{"0", "4", "8"});
  CHECK(expanded("x-{b,a,}.tar") == Names{"x-b.tar", "x-a.tar", "x-.tar"});
  CHECK(expanded("{a,b}{1..2}") == Names{"a1", "a2", "b1", "b2"});
  CHECK(expanded("{train-{00..01},val}/{x,y}") ==
        Names{"train-00/x", "train-00/y", "train-01/x", "train-01/y", "val/x", "val/y"});
  CHECK(expanded("{{0..1},{5..6}}") == Names{"0", "1", "5", "6"});
  CHECK(expanded("{a..b,c}") == Names{"a..b", "c"});
  CHECK(config::expand_braces("/d/{000..999}/{000..999}").size() == 1'000'000);

  CHECK(config::fixed_folder("/d/e/a.tar") == "/d/e/a.tar");
  CHECK(config::fixed_folder("/d/e/a-{0..1}/*.tar") == "/d/e");
  CHECK(config::fixed_folder("/{a,b}") == "/");
  CHECK(config::fixed_folder("/d/e[1]/a") == "/d");
  config::SourceSpec source;
  source.type = "webdataset";
  source.uris = {"/d/a.tar", "/e/{x,y}/*.tar"};
  CHECK(config::places_of(source) == Names{"/d/a.tar", "/e/{x,y}/*.tar", "/e"});
  source.type = "image-folder";
  CHECK(config::places_of(source) == source.uris);
}

TEST_CASE("archives come from a file, a folder or a range") {
  const TempFolder temp;
  for (int i = 8; i <= 11; ++i) {
    const std::string number = std::to_string(i);
    archive(temp, "p-" + number + ".tar", number);
    archive(temp, "z-" + std::string(3 - number.size(), '0') + number + ".tar", number);
  }
  temp.file("p-notes.txt");
  temp.file(".hidden.tar");
  CHECK(names_of(*open("webdataset", temp / "p-9.tar")) == Names{"p-9.tar:9"});
  CHECK(names_of(*open("webdataset", "file://" + (temp / "p-{8..11}.tar"))) ==
        Names{"p-8.tar:8", "p-9.tar:9", "p-10.tar:10", "p-11.tar:11"});
  CHECK(names_of(*open("webdataset", temp / "z-{009..010}.tar")) == Names{"z-009.tar:9", "z-010.tar:10"});
  CHECK(names_of(*open("webdataset", temp / "{z-{009..010},p-8}.tar")) ==
        Names{"z-009.tar:9", "z-010.tar:10", "p-8.tar:8"});
  CHECK(names_of(*open("webdataset", temp.path().string())) == Names{"p-10.tar:10", "p-11.tar:11", "p-8.tar:8",
                                                                     "p-9.tar:9", "z-008.tar:8", "z-009.tar:9",
                                                                     "z-010.tar:10", "z-011.tar:11"});
  CHECK_THAT(refusal("webdataset", temp / "p-{8..12}.tar").message, Contains("p-12.tar does not exist"));
  for (const char* bad : {"p-{8..}.tar", "p-{a..b}.tar", "p-{8..9.tar"}) {
    INFO(bad);
    CHECK_THAT(refusal("webdataset", temp / bad).message, Contains("a range of numbers"));
  }
  CHECK_THAT(refusal("webdataset", temp / "p-{11..8}.tar").message, Contains("not above its last"));
  CHECK_THAT(refusal("webdataset", temp / "p-{0..999999999}.tar").message, Contains("at most 1000000 archives"));
  archive(temp, "literal{1}.tar", "1");
  CHECK(open("webdataset", temp / "literal{1}.tar")->size() == 1);
}

TEST_CASE("wildcards give what fits them, sorted, and nothing hidden") {
  const TempFolder temp;
  for (const char* name : {"a/2.tar", "a/10.tar", "b/1.tar", "b/.hidden.tar", ".c/1.tar", "d/e/1.tar"})
    archive(temp, name, "k");
  temp.file("b/x.txt", "hello");
  temp.folder("empty");
  CHECK(names_of(*open_all({temp / "a/*.tar"})) == Names{"10.tar:k", "2.tar:k"});
  CHECK(names_of(*open_all({temp / "*/*.tar"})) == Names{"a/10.tar:k", "a/2.tar:k", "b/1.tar:k"});
  CHECK(names_of(*open_all({temp / "[ab]/?.tar"})) == Names{"a/2.tar:k", "b/1.tar:k"});
  CHECK(names_of(*open_all({temp / "*/e/*"})) == Names{"1.tar:k"});
  CHECK(names_of(*open_all({temp / "[ab]"})) == Names{"a/10.tar:k", "a/2.tar:k", "b/1.tar:k"});  // folders of archives
  CHECK(names_of(*open_all({temp / "{b,a}/*.tar"})) == Names{"b/1.tar:k", "a/10.tar:k", "a/2.tar:k"});
  CHECK(names_of(*open_all({temp / ".c/*.tar"})) == Names{"1.tar:k"});
  archive(temp, "run[1]/1-x.tar", "k");
  CHECK(names_of(*open_all({temp / "run[1]/1-?.tar"})) == Names{"1-x.tar:k"});  // what exists is taken as it is written

  const Error none = refused({temp / "a/*.tgz"});
  CHECK(none.trouble == Trouble::kNotFound);
  CHECK_THAT(none.message, Contains("source.uri") && Contains("nothing fits") && Contains("a/*.tgz"));
  CHECK_THAT(refused({temp / "{a,b}/2*.tar"}).message, Contains("nothing fits") && Contains("b/2*.tar"));
  CHECK_THAT(refused({temp / "b/*"}).message, Contains("not a tar") && Contains("x.txt"));
  CHECK_THAT(refused({temp / "empt*"}).message, Contains("holds no file named *.tar") && Contains(".tar.gz"));
  for (const char* up : {"a/../b/*.tar", "{.,a}./b/1.tar", "*/../b/1.tar", "{..,a}/x.tar"}) {
    INFO(up);
    CHECK_THAT(refused({temp / up}).message, Contains("may have no \"..\""));
  }
}

TEST_CASE("several uris follow one another, and no archive comes twice") {
  const TempFolder temp, other;
  for (const char* name : {"x/1.tar", "x/2.tar", "y/1.tar"}) archive(temp, name, "k");
  CHECK(names_of(*open_all({temp / "y", temp / "x/{1..2}.tar"})) == Names{"y/1.tar:k", "x/1.tar:k", "x/2.tar:k"});
  CHECK_THAT(refused({temp / "x", temp / "x/2.tar"}).message, Contains("x/2.tar twice"));
  CHECK_THAT(refused({temp / "x/*.tar", temp / "x/[1].tar"}).message, Contains("x/1.tar twice"));
  CHECK(refused({temp / "x", temp / "z"}).trouble == Trouble::kNotFound);
  config::SourceSpec folders;
  folders.type = "image-folder";
  folders.uris = {temp / "x", temp / "y"};
  CHECK_THROWS_WITH(open_listing(folders, {}, {}), Contains("an image-folder is one"));

  // Names and fingerprint know the folders that differ, not where all of them lie.
  for (const char* name : {"x/1.tar", "x/2.tar", "y/1.tar"}) archive(other, name, "k");
  const Names there = {temp / "y", temp / "x"}, here = {other / "y", other / "x"};
  CHECK(open_all(there)->fingerprint() == open_all(here)->fingerprint());
  CHECK(open_all(there)->fingerprint() != open_all({temp / "x", temp / "y"})->fingerprint());
}

TEST_CASE("no names are read outside the folders that a data set must lie in") {
  const TempFolder inside, outside;
  archive(inside, "a/1.tar", "k");
  archive(outside, "secret-1.tar", "k");
  archive(outside, "deeper/secret-2.tar", "k");
  inside.link(outside.path().string(), "link");
  const auto bounds = std::make_shared<const Bounds>(std::vector<Bounds::Folder>{{inside.path()}});
  config::SourceSpec spec;
  spec.type = "webdataset";
  for (const char* uri :
       {"link", "link/*.tar", "link/s*", "*/*.tar", "link/deeper/s*", "l*/[d]*/*", "{link,a}", "lin[k]"}) {
    INFO(uri);
    spec.uris = {inside / uri};
    try {
      open_listing(spec, {}, {}, {}, nullptr, {bounds, {}});
      FAIL("it was not refused");
    } catch (const SetupError& error) {
      CHECK(error.error().trouble == Trouble::kDenied);
      CHECK(std::string(error.what()).find("secret") == std::string::npos);
    }
  }
  spec.uris = {inside / "[a]/*.tar"};
  CHECK(open_listing(spec, {}, {}, {}, nullptr, {bounds, {}})->size() == 1);
}

TEST_CASE("an archive that comes to fit a wildcard is a change") {
  const TempFolder temp;
  archive(temp, "a/1.tar", "k");
  archive(temp, "b/1.tar", "k");
  // File systems count time in steps: what is to change was changed long before.
  const auto settle = [&](const std::string& name) {
    const auto hour_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    std::filesystem::last_write_time(temp.path() / name, hour_ago);
  };
  for (const char* folder : {"", "a", "b"}) settle(folder);
  const auto listing = open_all({temp / "*/*.tar"});
  CHECK(listing->unchanged());
  archive(temp, "b/2.tar", "k");
  CHECK_FALSE(listing->unchanged());
  const auto again = open_all({temp / "*/*.tar"});
  CHECK(again->unchanged());
  archive(temp, "c/1.tar", "k");
  CHECK_FALSE(again->unchanged());
}

TEST_CASE("kept indexes of several uris are taken again") {
  const TempFolder temp, kept;
  for (const char* name : {"x/1.tar", "x/2.tar", "y/1.tar"}) {
    archive(temp, name, "k");
    const auto hour_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    std::filesystem::last_write_time(temp.path() / name, hour_ago);
  }
  config::SourceSpec spec;
  spec.type = "webdataset";
  spec.uris = {temp / "x/*.tar", temp / "y"};
  KeptUse use;
  const auto fresh = open_listing(spec, {}, {}, kept.path(), &use);
  CHECK((use.taken == 0 && use.read == 3));
  const auto again = open_listing(spec, {}, {}, kept.path(), &use);
  CHECK((use.taken == 3 && use.read == 0));
  CHECK(again->fingerprint() == fresh->fingerprint());
  std::swap(spec.uris[0], spec.uris[1]);
  const auto swapped = open_listing(spec, {}, {}, kept.path(), &use);
  CHECK(use.taken == 0);  // another listing
  CHECK(swapped->fingerprint() != fresh->fingerprint());
}

}  // namespace spdld::archive_search_test
