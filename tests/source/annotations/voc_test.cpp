// Data sets in the form of PASCAL VOC.
#include <catch2/catch.hpp>

#include "daemon/source/annotations/voc_annotation.h"
#include "tests/source/tables/table_files.h"

namespace spdld::voc_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Texts = std::vector<std::string>;

std::string object(const std::string& name, const std::string& corners, const std::string& rest = "") {
  return "<object><name>" + name + "</name><bndbox>" + corners + "</bndbox>" + rest + "</object>";
}
std::string corners(const std::string& x1, const std::string& y1, const std::string& x2, const std::string& y2) {
  return "<xmin>" + x1 + "</xmin><ymin>" + y1 + "</ymin><xmax>" + x2 + "</xmax><ymax>" + y2 + "</ymax>";
}
std::string annotation(const std::string& objects) {
  return "<annotation><filename>other.jpg</filename><size><width>9</width></size>" + objects + "</annotation>";
}

struct VocFolder : TableFolder {
  VocFolder() {
    file("ImageSets/Main/train.txt", "b\r\na  1\n\nc -1");
    file("ImageSets/Segmentation/val.txt", "a\n");
    const std::string part = "<part><name>head</name><bndbox>" + corners("0", "0", "1", "1") + "</bndbox></part>";
    file("Annotations/a.xml",
         annotation(object(" dog\n", corners("1", "2.50", "3", " 4 "), "<difficult>1</difficult>" + part) +
                    object("person", corners("48", "240", "195", "371.125"), "<truncated>1</truncated>")));
    file("Annotations/b.xml", annotation(""));
    file("Annotations/c.xml", annotation(object("cat", corners("1", "1", "9", "9"))));
    for (const char* name : {"a", "b", "c"}) {
      file("JPEGImages/" + std::string(name) + ".jpg", "picture " + std::string(name));
      file("SegmentationClass/" + std::string(name) + ".png", "classes " + std::string(name));
      file("SegmentationObject/" + std::string(name) + ".png", "objects " + std::string(name));
    }
  }
  static config::Parameters with(config::Parameters parameters) {
    parameters.emplace("set", std::string("Main/train"));
    parameters.emplace("ending", std::string("jpg"));
    return parameters;
  }
  std::unique_ptr<Listing> local(const config::Parameters& parameters = {}) const {
    return TableFolder::local("voc", "", with(parameters));
  }
  std::unique_ptr<Listing> remote(KeptUse* use = nullptr) const {
    return TableFolder::remote("voc", "", with({}), use);
  }
  std::string refused(const config::Parameters& parameters = {}) const {
    return refusal("voc", "", with(parameters)).message;
  }
  // The sentence about what is lost, where c's objects are these.
  std::string lost(const std::string& objects) {
    file("Annotations/c.xml", annotation(objects));
    return only_remark();
  }
  std::string only_remark() const {
    const auto listing = local();
    return listing->missing_count() == 1 ? listing->missing()[0] : std::to_string(listing->missing_count()) + " lost";
  }
};

}  // namespace

TEST_CASE("a name of a list is a sample, with the objects of its annotation, local and in a store") {
  const VocFolder folder;
  const auto local = folder.local(), remote = folder.remote();
  CHECK(local->fingerprint() == remote->fingerprint());
  for (const auto* listing : {local.get(), remote.get()}) {
    REQUIRE(listing->size() == 3);
    CHECK(listing->missing_count() == 0);
    CHECK(listing->name(0) == "JPEGImages/b.jpg");
    CHECK(listing->classes().size() == 20);
    CHECK(listing->classes()[11] == "dog");
    CHECK(contents(*listing, 1,
                   {"image", "boxes", "labels", "classes", "difficult", "truncated", "class_mask", "object_mask"}) ==
          Texts{"picture a", "[[1,2.5,3,4],[48,240,195,371.125]]", "[11,14]", R"(["dog","person"])", "[1,0]", "[0,1]",
                "classes a", "objects a"});
    CHECK(contents(*listing, 0, {"boxes", "image"}) == Texts{"[]", "picture b"});
    CHECK(listing->unchanged());
  }
  CHECK(remote->store_concurrency() > 0);
}

TEST_CASE("a list, the classes and the objects are chosen") {
  VocFolder folder;
  CHECK(folder.local({{"set", std::string("Segmentation/val")}})->size() == 1);
  const auto easy = folder.local({{"difficult", std::string("drop")}});
  CHECK(contents(*easy, 1, {"labels"}) == Texts{"[14]"});
  CHECK(easy->fingerprint() != folder.local()->fingerprint());
  const auto own = folder.local({{"names", std::string("person,dog,cat")}});
  CHECK(Texts(own->classes().begin(), own->classes().end()) == Texts{"person", "dog", "cat"});
  CHECK(contents(*own, 1, {"labels"}) == Texts{"[1,0]"});
  folder.file("JPEGImages/a.png", "another");
  const auto png = folder.local({{"set", std::string("Segmentation/val")}, {"ending", std::string("png")}});
  CHECK(contents(*png, 0, {"image"}) == Texts{"another"});
}

TEST_CASE("an object of VOC that is wrong is lost, and its file and number are named") {
  VocFolder folder;
  const std::string good = corners("1", "1", "2", "2");
  for (const auto& [objects, words] : std::vector<std::pair<std::string, std::string>>{
           {"<object/>", "the object 1 has no name"},
           {object("cat", good) + object("", good), "the object 2 has no name"},
           {"<object><name>cat</name></object>", "the object 1 has no bndbox with a number xmin"},
           {object("cat", corners("1", "nan", "2", "2")), "has no bndbox with a number ymin"},
           {object("cat", corners("1", "1", "2px", "2")), "has no bndbox with a number xmax"},
           {object("cat", corners("1", "1", "2", "1e999")), "has no bndbox with a number ymax"},
           {object("cat", corners("3", "1", "2", "2")), "has a bndbox that ends before it begins"},
           {object("cat", good + "<xmin>1</xmin>"), "has an element twice"},
           {object("cat", good, "<difficult>yes</difficult>"), "difficult or truncated that is neither 0 nor 1"},
           {object(std::string(5000, 'c'), good), "has an element with a text that is too long"},
           {object("unicorn", good), "\"unicorn\" has none of the classes of PASCAL VOC: list yours in `names`"}}) {
    INFO(objects);
    const std::string sentence = folder.lost(objects);
    CHECK_THAT(sentence, Contains(words) && Contains("Annotations/c.xml: ") && Catch::EndsWith("."));
  }
}

TEST_CASE("a file of VOC that is wrong loses its picture") {
  VocFolder folder;
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "<part>";
  for (const auto& [content, words] :
       std::vector<std::pair<std::string, std::string>>{{"", "is damaged in line 1"},
                                                        {"<annotation>", "is damaged"},
                                                        {"<html></html>", "its root is another"},
                                                        {"<!DOCTYPE a><annotation/>", "has a document type"},
                                                        {annotation(deep), "elements in one another"}}) {
    INFO(content);
    folder.file("Annotations/c.xml", content);
    CHECK(folder.local()->size() == 2);
    CHECK_THAT(folder.only_remark(), Contains(words) && Contains("c.xml"));
  }
  folder.file("Annotations/c.xml", annotation(object("cat", corners("1", "1", "9", "9"))));
  for (const auto& [list, words] : std::vector<std::pair<std::string, std::string>>{
           {"a\n../a\n", "line 2: \"../a\" is no name of a picture"},
           {"a\n/a\n", "line 2: \"/a\" is no name"},
           {"a\nc\na 1\n", "line 3: the name a stands there for the second time"}}) {
    folder.file("ImageSets/Main/train.txt", list);
    CHECK_THAT(folder.only_remark(), Contains(words));
  }
  folder.file("ImageSets/Main/train.txt", "a\nnone\n");
  CHECK_THAT(folder.refused(), Contains("Annotations/none.xml does not exist"));
  folder.file("ImageSets/Main/train.txt", "\n");
  CHECK_THAT(folder.refused(), Contains("names no picture"));
  for (const char* set : {"Main/none", "../Main/train", "", "Main/"})
    CHECK_THAT(folder.refused({{"set", std::string(set)}}), Contains("set") || Contains("none.txt"));
}

TEST_CASE("a second listing of VOC in a store reads what changed") {
  VocFolder folder;
  KeptUse use;
  const auto first = folder.remote(&use);
  CHECK(use.read == 3);
  const size_t reads = folder.store->count("read");
  const auto second = folder.remote(&use);
  CHECK(use.taken == 3);
  CHECK(folder.store->count("read") == reads);
  CHECK(second->fingerprint() == first->fingerprint());
  folder.file("Annotations/c.xml", annotation(object("dog", corners("1", "1", "9", "9"))));
  CHECK_FALSE(first->unchanged());
  const auto third = folder.remote(&use);
  CHECK(use.taken == 2);
  CHECK(folder.store->count("read") == reads + 1);
  CHECK(contents(*third, 2, {"labels"}) == Texts{"[11]"});
  CHECK(third->fingerprint() != first->fingerprint());
}

}  // namespace spdld::voc_test
