#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <utility>
#include <vector>

#include "config/text/local_path.h"
#include "tests/source/temp_folder.h"

namespace spdld::image_folder_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

using Samples = std::vector<std::pair<std::string, int64_t>>;  // relative path, class

Samples samples_of(const Listing& listing) {
  FieldId id = 0;
  REQUIRE(listing.find_field("class", &id) != nullptr);
  Samples all;
  for (uint64_t i = 0; i < listing.size(); ++i) all.emplace_back(listing.name(i), listing.integer(i, id));
  return all;
}

bool is_picture(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.ends_with(".jpg") || name.ends_with(".jpeg");
}

// torchvision's find_classes and make_dataset, written down once more with the standard library: os.walk's folders
// sorted by their path, each one's names sorted.
Samples expected_samples(const fs::path& root) {
  std::vector<std::string> classes;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.is_directory()) classes.push_back(entry.path().filename().string());
  }
  std::sort(classes.begin(), classes.end());
  Samples all;
  for (size_t i = 0; i < classes.size(); ++i) {
    std::vector<std::pair<std::string, std::string>> found;  // folder, name
    const auto options = fs::directory_options::follow_directory_symlink;
    for (const auto& entry : fs::recursive_directory_iterator(root / classes[i], options)) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_directory() && is_picture(name)) found.emplace_back(entry.path().parent_path().string(), name);
    }
    std::sort(found.begin(), found.end());
    for (const auto& [folder, name] : found) {
      all.emplace_back((fs::path(folder) / name).lexically_relative(root).string(), static_cast<int64_t>(i));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("hidden folders are no classes, and hidden files no pictures") {
  const TempFolder temp;
  for (const char* name : {"a/1.jpg", "a/._1.jpg", "a/.2.jpg.Xy1z.jpg", "a/.ipynb_checkpoints/1-checkpoint.jpg",
                           "b/1.jpg", ".hidden/1.jpg", ".jpg/1.jpg", "b/.DS_Store"})
    temp.file(name);
  temp.link("a", ".link");
  temp.link("../a/1.jpg", "b/.1.jpg");
  temp.link("../a", "b/.a");
  const auto listing = open("image-folder", temp.path().string());
  CHECK(std::vector<std::string>(listing->classes().begin(), listing->classes().end()) ==
        std::vector<std::string>{"a", "b"});
  REQUIRE(listing->size() == 2);
  CHECK(listing->name(0) == "a/1.jpg");
  CHECK(listing->name(1) == "b/1.jpg");
  CHECK(listing->remark_count() == 0);
  const TempFolder hidden;
  hidden.file(".x/1.jpg");
  CHECK_THAT(refusal("image-folder", hidden.path().string()).message, Contains("holds no folder"));
}

TEST_CASE("classes are the folders in order, samples the pictures in order of folder and name") {
  const TempFolder temp;
  for (const char* name : {"dog/b.jpg", "dog/a.JPEG", "dog/notes.txt", "dog/x/1.jpg", "dog/x-y/2.jpg", "dog/x/z/3.Jpg",
                           "dog/c.jpg.part", "cat/10.jpg", "cat/9.jpg", "cat/.jpg", "Zebra/a.jpg", "loose.jpg"}) {
    temp.file(name);
  }
  const auto listing = open("image-folder", temp.path().string());
  CHECK(samples_of(*listing) == Samples{{"Zebra/a.jpg", 0},
                                        {"cat/10.jpg", 1},
                                        {"cat/9.jpg", 1},
                                        {"dog/a.JPEG", 2},
                                        {"dog/b.jpg", 2},
                                        {"dog/x/1.jpg", 2},
                                        {"dog/x-y/2.jpg", 2},  // "x" < "x-y" < "x/z": '-' comes before '/'
                                        {"dog/x/z/3.Jpg", 2}});
  CHECK(std::vector<std::string>(listing->classes().begin(), listing->classes().end()) ==
        std::vector<std::string>{"Zebra", "cat", "dog"});
  CHECK(listing->remark_count() == 0);
}

TEST_CASE("random trees with links are listed as torchvision lists them") {
  std::mt19937 random(4711);
  const std::vector<std::string> parts = {"a", "b",        "a-b", "a.b", "A", "1",    "10",
                                          "2", "\xc3\xa4", "z_",  "a b", "~", "d.jpg"};
  const auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  for (int tree = 0; tree < 20; ++tree) {
    const TempFolder temp, elsewhere;
    temp.file("first/sample.jpg");
    elsewhere.file("linked/deep/1.jpg");
    elsewhere.file("linked/0.jpeg");
    for (int i = 0; i < 60; ++i) {
      std::string path = any(parts);
      for (uint32_t depth = random() % 4; depth > 0; --depth) path += "/" + any(parts);
      temp.file(path + "/" + "f" + any(parts) + any({".jpg", ".JPG", ".jpeg", ".png", ""}) + any({"", "", "x"}));
    }
    temp.link(elsewhere / "linked", "first/link");
    temp.link(elsewhere / "linked", "link-class");
    temp.link(elsewhere / "linked/0.jpeg", "first/link.jpg");
    temp.link(elsewhere / "gone", "first/broken.jpg");
    temp.link(elsewhere / "gone", "broken-class");
    const auto listing = open("image-folder", temp.path().string());
    REQUIRE(samples_of(*listing) == expected_samples(temp.path()));
  }
}

TEST_CASE("fields: image is an locator, class a number, path the name") {
  const TempFolder temp;
  temp.file("a/1.jpg");
  temp.file("b/2.jpg");
  for (const std::string& uri : {temp.path().string(), temp.path().string() + "/", "file://" + temp.path().string()}) {
    const auto listing = open("image-folder", uri);
    FieldId image = 9, label = 9, path = 9;
    REQUIRE(listing->find_field("image", &image) != nullptr);
    REQUIRE(listing->find_field("class", &label) != nullptr);
    REQUIRE(listing->find_field("path", &path) != nullptr);
    CHECK(listing->find_field("mask", nullptr) == nullptr);
    CHECK(listing->find_field("image", nullptr)->kind == FieldKind::kFetched);
    CHECK(listing->find_field("class", nullptr)->kind == FieldKind::kInteger);
    CHECK(listing->find_field("path", nullptr)->kind == FieldKind::kText);
    const Locator locator = listing->locate(1, image);
    CHECK(std::string(locator.folder) + locator.path.data() == temp / "b/2.jpg");  // ends in NUL
    CHECK(std::string(locator.folder) == temp / "b/");
    CHECK(locator.path == "2.jpg");
    CHECK(locator.offset == 0);
    CHECK(locator.length == -1);
    CHECK(listing->locate(1, label).path.empty());
    CHECK(listing->name(1) == "b/2.jpg");
    CHECK(listing->memory_bytes() > 0);
  }
}

TEST_CASE("a class without pictures keeps its number and gets a remark") {
  const TempFolder temp;
  temp.folder("a");
  temp.file("b/1.jpg");
  temp.folder("c");
  temp.file("d/2.jpg");
  temp.folder("e");
  const auto listing = open("image-folder", temp.path().string());
  CHECK(samples_of(*listing) == Samples{{"b/1.jpg", 1}, {"d/2.jpg", 3}});
  CHECK(listing->classes().size() == 5);
  REQUIRE(listing->remark_count() == 3);
  CHECK_THAT(listing->remarks()[0], Contains("class folder a") && Contains(".jpg, .jpeg"));
}

TEST_CASE("links that lead back are passed over with a remark") {
  const TempFolder temp;
  temp.file("a/x/1.jpg");
  temp.link("..", "a/x/up");
  temp.link(temp.path().string(), "b");
  temp.link(".", "a/self");
  const auto listing = open("image-folder", temp.path().string());
  CHECK(samples_of(*listing) == Samples{{"a/x/1.jpg", 0}});
  CHECK(listing->remark_count() == 4);  // three links, and the class b without a picture
  CHECK_THAT(listing->remarks()[0], Contains("link to a folder above"));
}

TEST_CASE("only the first hundred remarks are kept, all are counted") {
  const TempFolder temp;
  for (int i = 0; i < 130; ++i) temp.folder("empty" + std::to_string(i));
  temp.file("full/1.jpg");
  const auto listing = open("image-folder", temp.path().string());
  CHECK(listing->remark_count() == 130);
  CHECK(listing->remarks().size() == 100);
  CHECK(samples_of(*listing) == Samples{{"full/1.jpg", 130}});
}

TEST_CASE("pictures of other formats are counted in a remark, links and kept folders as well") {
  const TempFolder temp, kept, elsewhere;
  for (const char* name : {"a/1.jpg", "a/z.png", "b/1.jpg", "b/x/2.TIFF", "b/notes.txt", "b/.3.png"}) temp.file(name);
  elsewhere.file("4.webp");
  temp.link(elsewhere / "4.webp", "a/4.webp");
  config::SourceSpec spec;
  spec.type = "image-folder";
  spec.uris = {temp.path().string()};
  for (int round = 0; round < 2; ++round) {
    const auto listing = open_listing(spec, {}, {}, kept.path());
    REQUIRE(listing->remark_count() == 1);
    CHECK_THAT(listing->remarks()[0], Contains("3 pictures of other formats, such as a/4.webp, are left out"));
  }
}

TEST_CASE("the extensions can be chosen") {
  const TempFolder temp;
  temp.file("a/1.jpg");
  temp.file("a/2.PNG");
  temp.file("a/3.webp");
  const auto names = [&](const std::string& extensions) {
    return samples_of(*open("image-folder", temp.path().string(), {{"extensions", extensions}}));
  };
  CHECK(names("png") == Samples{{"a/2.PNG", 0}});
  CHECK(names(" .WebP , jpg,") == Samples{{"a/1.jpg", 0}, {"a/3.webp", 0}});
  CHECK_THAT(refusal("image-folder", temp.path().string(), {{"extensions", std::string(" , .")}}).message,
             Contains("source.extensions"));
}

TEST_CASE("the fingerprint tells names and classes, not the place or the order of reading") {
  const TempFolder one, two;
  for (const TempFolder* temp : {&one, &two}) {
    for (int i = 0; i < 40; ++i) temp->file("c" + std::to_string(i % 7) + "/" + std::to_string(i) + ".jpg");
  }
  const std::string before = open("image-folder", one.path().string())->fingerprint();
  CHECK(before.size() == 32);
  CHECK(before.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(open("image-folder", two.path().string())->fingerprint() == before);
  fs::rename(two.path() / "c3/3.jpg", two.path() / "c3/4.jpg");
  CHECK(open("image-folder", two.path().string())->fingerprint() != before);
  fs::rename(two.path() / "c3/4.jpg", two.path() / "c3/3.jpg");
  CHECK(open("image-folder", two.path().string())->fingerprint() == before);
  two.folder("a-new-class-without-a-picture");
  CHECK(open("image-folder", two.path().string())->fingerprint() != before);
}

TEST_CASE("the fingerprint keeps its meaning over versions") {
  const TempFolder temp;
  temp.file("a/1.jpg");
  temp.file("b/2.jpg");
  CHECK(open("image-folder", temp.path().string())->fingerprint() == "615bb8e0ab7c5eecdf207928c4138bce");
}

TEST_CASE("names are held in little memory") {
  const TempFolder temp;
  for (int i = 0; i < 2000; ++i) {
    temp.file("n0144076" + std::to_string(i % 4) + "/n01440764_" + std::to_string(10000 + i) + ".JPEG", "");
  }
  const auto listing = open("image-folder", temp.path().string());
  REQUIRE(listing->size() == 2000);
  CHECK(listing->memory_bytes() / listing->size() < 30);
}

TEST_CASE("a folder that can't be listed is refused with a sentence") {
  const TempFolder temp;
  temp.file("file.jpg");
  const Error missing = refusal("image-folder", temp / "nothing");
  CHECK(missing.trouble == Trouble::kNotFound);
  CHECK_THAT(missing.message, Contains(temp / "nothing") && Contains("does not exist"));
  CHECK_THAT(refusal("image-folder", temp / "file.jpg").message, Contains("is not a folder"));
  CHECK_THAT(refusal("image-folder", temp.path().string()).message, Contains("holds no folder"));
  temp.file("a/readme.txt");
  const Error empty = refusal("image-folder", temp.path().string());
  CHECK(empty.trouble == Trouble::kUsage);
  CHECK_THAT(empty.message, Contains("none of the 1 class folders") && Contains(".jpg, .jpeg"));
}

TEST_CASE("a stop ends the listing, and progress tells how many were found") {
  const TempFolder temp;
  for (int i = 0; i < 30; ++i) temp.file("c" + std::to_string(i % 3) + "/" + std::to_string(i) + ".jpg");
  uint64_t last = 0, total = 1;
  std::string counted;
  open("image-folder", temp.path().string(), {},
       [&](std::string_view what, uint64_t done, uint64_t all) { counted = what, last = done, total = all; });
  CHECK(counted == "pictures");
  CHECK(last == 30);
  CHECK(total == 0);

  std::stop_source stop;
  stop.request_stop();
  try {
    open("image-folder", temp.path().string(), {}, {}, stop.get_token());
    FAIL("it was not stopped");
  } catch (const SetupError& error) {
    CHECK(error.trouble() == Trouble::kStopping);
  }
}

TEST_CASE("uris: the rule of config's local_path_of() is the daemon's as well, in its sentences") {
  const TempFolder temp;
  temp.file("a b/one/1.jpg");
  CHECK(open("image-folder", "file://localhost" + temp.path().string() + "/a%20b")->size() == 1);
  for (const std::string uri : {"ftp://bucket/a", "file://machine/a", "relative/path", "", "~/a", "file:///a%2",
                                "file:///a%zz", "file:///a%00", "/a\n"}) {
    INFO(uri);
    const auto [path, fault] = config::local_path_of(uri, "");
    REQUIRE(!fault.empty());
    CHECK(refusal("image-folder", uri).message == "source.uri \"" + uri + "\": " + fault + ".");
  }
  CHECK_THAT(refusal("image-folder", "s3://bucket/a").message, Contains("s3://"));
  CHECK_THAT(refusal("hdf5", "/").message, Contains("image-folder") && Contains("webdataset"));
}

}  // namespace spdld::image_folder_test
