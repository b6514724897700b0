// Pictures and masks in two folders.
#include <catch2/catch.hpp>

#include "tests/source/tables/table_files.h"

namespace spdld::image_pairs_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Texts = std::vector<std::string>;

config::Parameters folders(const std::string& images, const std::string& masks, config::Parameters more = {}) {
  more.emplace("images", images);
  more.emplace("masks", masks);
  more.emplace("extensions", std::string("jpg,png"));
  more.emplace("mask_extensions", std::string("png"));
  return more;
}

struct PairsFolder : TableFolder {
  PairsFolder() {
    for (const char* name : {"b", "a", "deep/a", "a-b"}) {
      file("images/" + std::string(name) + ".jpg", "picture " + std::string(name));
      file("masks/" + std::string(name) + ".png", "mask " + std::string(name));
    }
    file("left/aachen_1_left.png", "left");
    file("left/aachen_1_other.png", "other");
    file("fine/aachen_1_fine.png", "fine");
    file("fine/aachen_1_ids.png", "ids");
  }
};

}  // namespace

TEST_CASE("a picture has the mask of its name, local and in a store") {
  const PairsFolder folder;
  const auto parameters = folders("images", "masks", {{"names", std::string("road,tree")}});
  const auto local = folder.local("image-pairs", "", parameters), remote = folder.remote("image-pairs", "", parameters);
  CHECK(local->fingerprint() == remote->fingerprint());
  for (const auto* listing : {local.get(), remote.get()}) {
    REQUIRE(listing->size() == 4);
    CHECK(listing->missing_count() == 0);
    CHECK(Texts(listing->classes().begin(), listing->classes().end()) == Texts{"road", "tree"});
    const Texts names = {"a-b", "a", "b", "deep/a"};
    for (uint64_t i = 0; i < 4; ++i) {
      CHECK(listing->name(i) == "images/" + names[i] + ".jpg");
      CHECK(contents(*listing, i, {"image", "mask"}) == Texts{"picture " + names[i], "mask " + names[i]});
    }
    CHECK(listing->unchanged());
  }
}

TEST_CASE("pictures of other formats are counted in a remark, unless they may be the masks") {
  PairsFolder folder;
  folder.file("images/c.webp", "x");
  for (const bool is_remote : {false, true}) {
    const auto open = [&](const std::string& images, const std::string& masks) {
      return is_remote ? folder.remote("image-pairs", "", folders(images, masks))
                       : folder.local("image-pairs", "", folders(images, masks));
    };
    const auto pairs = open("images", "masks");
    REQUIRE(pairs->remark_count() == 1);
    CHECK_THAT(pairs->remarks()[0], Contains("1 picture of other formats, such as images/c.webp, is left out"));
  }
  folder.file("both/a.jpg", "x");
  folder.file("both/a.tif", "x");
  config::Parameters together = folders("both", "both");
  together["extensions"] = std::string("jpg");
  together["mask_extensions"] = std::string("tif");
  CHECK(folder.local("image-pairs", "", together)->remark_count() == 0);
}

TEST_CASE("suffixes stand before the endings, and choose the files") {
  const PairsFolder folder;
  const auto listing = folder.local(
      "image-pairs", "",
      folders("left", "fine", {{"image_suffix", std::string("_left")}, {"mask_suffix", std::string("_ids")}}));
  REQUIRE(listing->size() == 1);
  CHECK(listing->missing_count() == 0);
  CHECK(contents(*listing, 0, {"image", "mask"}) == Texts{"left", "ids"});
}

TEST_CASE("a picture without a mask is lost, and so is a second mask") {
  PairsFolder folder;
  folder.file("images/lonely.jpg", "x");
  folder.file("masks/unused.png", "x");
  for (const auto& listing : {folder.local("image-pairs", "", folders("images", "masks")),
                              folder.remote("image-pairs", "", folders("images", "masks"))}) {
    CHECK(listing->size() == 4);
    REQUIRE(listing->missing_count() == 1);
    CHECK(listing->missing()[0] == "the picture images/lonely.jpg has no mask in masks.");
  }
  folder.file("masks/a.PNG", "second");
  CHECK(folder.local("image-pairs", "", folders("images", "masks"))->missing_count() == 2);
  CHECK_THAT(folder.refusal("image-pairs", "", folders("left", "masks")).message, Contains("has a mask in"));
  CHECK_THAT(folder.refusal("image-pairs", "", folders("images", "none")).message, Contains("none"));
  CHECK_THAT(folder.refusal("image-pairs", "", folders("/images", "masks")).message, Contains("source.images must be"));
}

TEST_CASE("a pair that changed is seen") {
  PairsFolder folder;
  KeptUse use;
  const auto parameters = folders("images", "masks");
  const auto first = folder.remote("image-pairs", "", parameters, &use);
  folder.file("masks/a.png", "changed");
  CHECK_FALSE(first->unchanged());
  CHECK_THAT(contents(*first, 1, {"mask"})[0], Contains("was it replaced?"));
  folder.store->erase("set/masks/b.png");
  CHECK(folder.remote("image-pairs", "", parameters, &use)->size() == 3);
  const auto local = folder.local("image-pairs", "", parameters);
  CHECK(local->unchanged());
  folder.file("images/c.jpg", "new");
  CHECK_FALSE(local->unchanged());
}

}  // namespace spdld::image_pairs_test
