// Pictures without classes, in one folder with all folders in it.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/source/tables/table_files.h"

namespace spdld::images_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Texts = std::vector<std::string>;

struct ImagesFolder : TableFolder {
  ImagesFolder() {
    for (const char* name : {"b.jpg", "a.JPG", "deep/a.jpg", "deep/er/c.jpg", "a-b/x.jpeg"})
      file("flat/" + std::string(name), "picture " + std::string(name));
    file("flat/note.txt", "no picture");
    file("flat/.hidden.jpg", "hidden");
    file("flat/.cache/x.jpg", "hidden");
  }
  const Texts names = {"a.JPG", "b.jpg", "a-b/x.jpeg", "deep/a.jpg", "deep/er/c.jpg"};
  const config::Parameters jpegs = {{"extensions", std::string("jpg,jpeg")}};
};

}  // namespace

TEST_CASE("pictures of a flat folder are samples without classes, local and in a store") {
  const ImagesFolder folder;
  const auto local = folder.local("images", "flat", folder.jpegs),
             remote = folder.remote("images", "flat", folder.jpegs);
  CHECK(local->fingerprint() == remote->fingerprint());
  for (const auto* listing : {local.get(), remote.get()}) {
    REQUIRE(listing->size() == folder.names.size());
    CHECK(listing->missing_count() == 0);
    CHECK(listing->classes().empty());
    CHECK(listing->find_field("class", nullptr) == nullptr);
    for (uint64_t i = 0; i < listing->size(); ++i) {
      CHECK(listing->name(i) == folder.names[i]);
      CHECK(contents(*listing, i, {"image"}) == Texts{"picture " + folder.names[i]});
    }
    CHECK(listing->unchanged());
  }
}

TEST_CASE("a flat folder that gained or lost a picture has changed") {
  ImagesFolder folder;
  const auto local = folder.local("images", "flat", folder.jpegs);
  folder.file("flat/c.jpg", "new");
  CHECK_FALSE(local->unchanged());
  const auto again = folder.local("images", "flat", folder.jpegs);
  CHECK(again->size() == folder.names.size() + 1);
  CHECK(again->fingerprint() != local->fingerprint());
}

TEST_CASE("pictures of other formats in a flat folder are counted in a remark") {
  ImagesFolder folder;
  for (const char* name : {"flat/a.png", "flat/deep/b.WEBP", "flat/.x.png", "flat/table.csv"}) folder.file(name, "x");
  const auto local = folder.local("images", "flat", folder.jpegs),
             remote = folder.remote("images", "flat", folder.jpegs);
  for (const auto* listing : {local.get(), remote.get()}) {
    CHECK(listing->size() == folder.names.size());
    CHECK(listing->missing_count() == 0);
    REQUIRE(listing->remark_count() == 1);
    CHECK_THAT(listing->remarks()[0], Contains("2 pictures of other formats, such as a.png, are left out") &&
                                          Contains("Write extensions = \"jpg,jpeg,png\""));
  }
  const auto all = folder.local("images", "flat", {{"extensions", std::string("jpg,jpeg,png,webp")}});
  CHECK(all->size() == folder.names.size() + 2);
  CHECK(all->remark_count() == 0);
}

TEST_CASE("a link round to a flat folder is passed over, and a folder without a picture is refused") {
  ImagesFolder folder;
  std::filesystem::create_directory_symlink("..", folder.temp / "flat/deep/round");
  const auto local = folder.local("images", "flat", folder.jpegs);
  CHECK(local->size() == folder.names.size());
  REQUIRE(local->remarks().size() == 1);
  CHECK_THAT(local->remarks()[0], Contains("deep/round is a link to a folder above it"));
  folder.file("empty/note.txt", "x");
  CHECK_THROWS_WITH(folder.local("images", "empty", folder.jpegs), Contains("holds no file ending in"));
  CHECK_THROWS_WITH(folder.local("images", "nowhere", folder.jpegs), Contains("does not exist"));
  CHECK_THAT(folder.refusal("images", "empty", folder.jpegs).message, Contains("has a name that ends in"));
}

}  // namespace spdld::images_test
