#include "daemon/source/joined.h"
#include "daemon/source/opening/opening.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::joined_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

// Two folders with some classes in common, one sample of a class each way.
struct Folders {
  Folders() {
    for (const char* name : {"x/dog/0.jpg", "x/dog/1.jpg", "x/eel/2.jpg", "y/ant/0.jpg", "y/dog/9.jpg", "y/fox/1.jpg"})
      temp.file(name);
    temp.folder("y/empty");
  }
  std::vector<NamedListing> parts(const std::string& first = "one", const std::string& second = "two") const {
    std::vector<NamedListing> both;
    both.push_back({first, open("image-folder", temp / "x")});
    both.push_back({second, open("image-folder", temp / "y")});
    return both;
  }
  std::vector<config::SourceSpec> specs() const {
    std::vector<config::SourceSpec> both(2);
    both[0].type = both[1].type = "image-folder";
    both[0].uris = {temp / "x"}, both[1].uris = {temp / "y"};
    both[0].name = "one", both[1].name = "two";
    both[1].on_missing = config::OnMissing::kWarn;  // of the empty class
    return both;
  }
  TempFolder temp;
};

FieldId id_of(const Listing& listing, const std::string& name) {
  FieldId id = 0;
  REQUIRE(listing.find_field(name, &id) != nullptr);
  return id;
}

std::string content_path(const Listing& listing, uint64_t sample, FieldId field) {
  const Locator locator = listing.locate(sample, field);
  return std::string(locator.folder) + std::string(locator.path);
}

}  // namespace

TEST_CASE("listings one behind the other") {
  const Folders folders;
  const auto listing = join_listings(folders.parts());
  REQUIRE(listing->size() == 6);
  CHECK(listing->name(0) == "one/dog/0.jpg");
  CHECK(listing->name(2) == "one/eel/2.jpg");
  CHECK(listing->name(3) == "two/ant/0.jpg");
  CHECK(listing->name(5) == "two/fox/1.jpg");
  CHECK(content_path(*listing, 1, id_of(*listing, "image")) == folders.temp / "x/dog/1.jpg");
  CHECK(content_path(*listing, 4, id_of(*listing, "image")) == folders.temp / "y/dog/9.jpg");
  REQUIRE(listing->parts().size() == 2);
  CHECK(listing->parts()[1].name == "two");
  CHECK(listing->parts()[1].first == 3);
  CHECK(listing->parts()[1].listing->name(0) == "ant/0.jpg");
  CHECK(listing->memory_bytes() > listing->parts()[0].listing->memory_bytes());
  const auto starts = listing->archive_starts();
  CHECK(std::vector<uint64_t>(starts.begin(), starts.end()) == std::vector<uint64_t>{0, 2, 3, 4, 5, 5});
}

TEST_CASE("classes are united by name, and `source` is the number of the part") {
  const auto listing = join_listings(Folders().parts());
  const auto classes = listing->classes();
  CHECK(std::vector<std::string>(classes.begin(), classes.end()) ==
        std::vector<std::string>{"ant", "dog", "eel", "empty", "fox"});
  const FieldId of_class = id_of(*listing, "class"), of_source = id_of(*listing, "source");
  std::vector<int64_t> numbers, sources;
  for (uint64_t i = 0; i < 6; ++i) {
    numbers.push_back(listing->integer(i, of_class));
    sources.push_back(listing->integer(i, of_source));
  }
  CHECK(numbers == std::vector<int64_t>{1, 1, 2, 0, 1, 4});
  CHECK(sources == std::vector<int64_t>{0, 0, 0, 1, 1, 1});
  CHECK(listing->fields()[of_source].kind == FieldKind::kInteger);
  CHECK(listing->locate(0, of_source).path.empty());
}

TEST_CASE("fields are those that all have, and a sentence says who lacks one") {
  TempFolder temp;
  const auto archive = [&](const std::string& name, const std::vector<std::string>& extensions) {
    TarWriter tar;
    for (const auto& extension : extensions) tar.file("a." + extension, extension);
    tar.end().save(temp / name);
    return open("webdataset", temp / name);
  };
  std::vector<NamedListing> parts;
  parts.push_back({"web", archive("1.tar", {"txt", "jpg", "source"})});
  parts.push_back({"books", archive("2.tar", {"cls", "jpg", "source"})});
  const auto listing = join_listings(std::move(parts));
  std::vector<std::string> names;
  for (const auto& field : listing->fields()) names.push_back(field.name);
  CHECK(names == std::vector<std::string>{"jpg", "path", "source"});
  CHECK(listing->integer(1, id_of(*listing, "source")) == 1);
  CHECK(listing->locate(1, id_of(*listing, "jpg")).length == 3);
  CHECK_THAT(why_no_field(*listing, "txt"), Contains("source 'books' has none (it has cls, jpg, source, path)"));
  CHECK_THAT(why_no_field(*listing, "cls"), Contains("source 'web' has none"));
  CHECK(why_no_field(*open("webdataset", temp / "1.tar"), "cls").empty());

  const Folders folders;
  std::vector<NamedListing> kinds;
  kinds.push_back({"folder", open("image-folder", folders.temp / "x")});
  kinds.push_back({"tar", archive("3.tar", {"class"})});
  const auto mixed = join_listings(std::move(kinds));
  CHECK(mixed->find_field("class", nullptr) == nullptr);
  CHECK(mixed->classes().empty());
  CHECK(why_no_field(*mixed, "class") == "it is a number in source 'folder' and bytes in source 'tar'");
}

TEST_CASE("the fingerprint is of all parts, their names and their order") {
  const Folders folders;
  const std::string print = join_listings(folders.parts())->fingerprint();
  CHECK(print.size() == 32);
  CHECK(join_listings(folders.parts())->fingerprint() == print);
  CHECK(join_listings(folders.parts("one", "three"))->fingerprint() != print);
  auto turned = folders.parts();
  std::swap(turned[0], turned[1]);
  const auto joined = join_listings(std::move(turned));
  CHECK(joined->fingerprint() != print);
  folders.temp.file("y/fox/2.jpg");
  CHECK(join_listings(folders.parts())->fingerprint() != print);
}

TEST_CASE("a change of any part is a change, and remarks name their part") {
  const Folders folders;
  const auto listing = join_listings(folders.parts());
  CHECK(listing->unchanged());
  REQUIRE(listing->remark_count() == 1);
  CHECK_THAT(listing->remarks()[0], Catch::StartsWith("two: "));
  REQUIRE(listing->missing_count() == 1);
  CHECK(listing->missing()[0] == listing->remarks()[0]);
  folders.temp.file("y/fox/new.jpg");
  CHECK_FALSE(listing->unchanged());
}

TEST_CASE("sources are listed one after the other, and errors name theirs") {
  const Folders folders;
  auto specs = folders.specs();
  uint64_t told = 0;
  const auto listing = open_listings(specs, [&](std::string_view, uint64_t done, uint64_t) { told = done; }, {});
  CHECK(listing->size() == 6);
  CHECK(told == 3);
  CHECK(listing->fingerprint() == join_listings(folders.parts())->fingerprint());
  const auto one = open_listings(std::span(specs).first(1), {}, {});
  CHECK(one->parts().empty());
  CHECK(one->name(0) == "dog/0.jpg");
  specs[1].on_missing = config::OnMissing::kRefuse;
  try {
    open_listings(specs, {}, {});
    FAIL("it was not refused");
  } catch (const SetupError& error) {
    CHECK(error.error().trouble == Trouble::kContent);
    CHECK_THAT(error.error().message, Catch::StartsWith("source 'two': ") && Catch::Contains("class folder empty"));
  }
  specs[1].uris = {folders.temp / "nowhere"};
  try {
    open_listings(specs, {}, {});
    FAIL("it was not refused");
  } catch (const SetupError& error) {
    CHECK(error.error().trouble == Trouble::kNotFound);
    CHECK_THAT(error.error().message, Catch::StartsWith("source 'two': "));
  }
}

}  // namespace spdld::joined_test
