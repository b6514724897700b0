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
           {object("cat", good, "<difficult>perhaps</difficult>"),
            "difficult or truncated that is no number and no known word"},
           {object("cat", good, "<truncated>nan</truncated>"), "difficult or truncated that is no number"},
           {object(std::string(5000, 'c'), good), "has an element with a text that is too long"},
           {object("unicorn", good), "\"unicorn\" has none of the classes of PASCAL VOC: list yours in `names`"}}) {
    INFO(objects);
    const std::string sentence = folder.lost(objects);
    CHECK_THAT(sentence, Contains(words) && Contains("Annotations/c.xml: ") && Catch::EndsWith("."));
  }
}

TEST_CASE("objects behind a lost object are read as if the lost object were not there") {
  const std::string good = corners("1", "1", "2", "2");
  for (const std::string& lost :
       {object("cat", good + "<xmin>1</xmin>"), object("cat", good, "<name>dog</name>"), object("", good),
        std::string("<object/>"), std::string("<object><name>cat</name><bndbox><xmin>1</xmin></bndbox></object>"),
        object("cat", good, "<difficult>perhaps</difficult>"),
        object("cat", good + "<xmin>1</xmin>", "<difficult>1</difficult>")}) {
    INFO(lost);
    VocFolder folder;
    const std::string sentence = folder.lost(lost + object("dog", corners("3", "4", "5", "6")));
    CHECK_THAT(sentence, Contains("the object 1"));
    CHECK_THAT(sentence, !Contains("the object 2"));
  }
}

TEST_CASE("a file of VOC that is wrong loses its picture") {
  VocFolder folder;
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "<part>";
  for (const auto& [content, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "is damaged in line 1"},
           {"<annotation>", "is damaged"},
           {"<html></html>", "its root is another"},
           {"<!DOCTYPE a><annotation/>", "has a document type"},
           {"<Annotation/>", "its root is another"},
           {R"(<?xml version="1.0" encoding="UTF-7"?><annotation/>)", R"(has the encoding "UTF-7", which is not read)"},
           {"<?xml version='1.0' encoding='GB2312'?><annotation>\xff\xff",
            "bytes that have no meaning in its encoding, GB2312"},
           {"<annotation>\xe9</annotation>", "is damaged in line 1"},
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
           {"a\nc\na  1\n", "line 3: the name a stands there for the second time"}}) {
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

TEST_CASE("a flag of VOC may be a part, or a word of a tool") {
  VocFolder folder;
  const std::string good = corners("1", "+6.5", "40.25", "30");
  for (const auto& [written, flag] : std::vector<std::pair<std::string, std::string>>{
           {"0.0597", "1"}, {"0.0", "0"}, {"-1", "0"}, {"Unspecified", "0"}, {"", "0"}, {"True", "1"}, {"no", "0"}}) {
    INFO(written);
    folder.file("Annotations/c.xml", annotation(object("cat", good, "<truncated>" + written + "</truncated>")));
    const auto listing = folder.local();
    CHECK(listing->missing_count() == 0);
    CHECK(contents(*listing, 2, {"boxes", "truncated"}) == Texts{"[[1,6.5,40.25,30]]", "[" + flag + "]"});
  }
}

TEST_CASE("an annotation of VOC is read in the encoding that it names, and under a root of any name") {
  VocFolder folder;
  const auto cat = [](const std::string& name, const std::string& root = "annotation") {
    return "<" + root + "><folder>x</folder>" + object(name, corners("1", "1", "9", "9")) + "</" + root + ">";
  };
  const auto utf16 = [](const std::string& ascii) {
    std::string wide;
    for (const char c : ascii) wide.append(1, c).append(1, '\0');
    return wide;
  };
  const auto named = [](const std::string& encoding) {
    return "<?xml version='1.0' encoding='" + encoding + "' standalone=\"yes\" ?>";
  };
  const Texts classes = {R"(["caf)"
                         "\xc3\xa9"
                         R"("])"},
              chinese = {"[\"\xe7\x8c\xab\"]"};
  for (const auto& [content, expected] : std::vector<std::pair<std::string, Texts>>{
           {named("ISO-8859-1") + cat("caf\xe9"), classes},
           {named("windows-1252") + cat("caf\xe9"), classes},
           {named("utf-8") + cat("caf\xc3\xa9"), classes},
           {"\xef\xbb\xbf" + named("ISO-8859-1") + cat("caf\xc3\xa9"), classes},  // the mark counts
           {named("utf-16") + cat("caf\xc3\xa9"), classes},                       // a tool converted the file
           {named("GB2312") + cat("\xc3\xa8"), chinese},
           {named("GBK") + cat("\xc3\xa8", "Annotation"), chinese},
           {"\xff\xfe" + utf16(named("UTF-16") + cat("dog", "root")), {"[\"dog\"]"}},
           {utf16(cat("dog")), {"[\"dog\"]"}},
           {cat("dog", "xml_of-a-tool"), {"[\"dog\"]"}}}) {
    INFO(content);
    folder.file("Annotations/c.xml", content);
    const auto listing = folder.local({{"names", std::string("caf\xc3\xa9,\xe7\x8c\xab,dog,person")}});
    CHECK(listing->missing_count() == 0);
    CHECK(contents(*listing, 2, {"classes"}) == expected);
  }
}

TEST_CASE("a list of classes numbers the objects of VOC, and is watched as the other files are") {
  VocFolder folder;
  folder.file("map.json",
              R"({"0": ["cat", "felis"], "1": ["person", "homo"], "2": ["dog", "canis"], "3": ["ox", "bos"]})");
  config::SourceSpec spec;
  spec.type = "voc";
  spec.uris = {folder.temp.path().string()};
  spec.parameters = VocFolder::with({});
  const auto plain = open_listing(spec, {}, {});
  spec.classes = folder.temp / "map.json";
  const auto listing = open_listing(spec, {}, {});
  CHECK(Texts(listing->classes().begin(), listing->classes().end()) == Texts{"felis", "homo", "canis", "bos"});
  CHECK(contents(*listing, 1, {"labels", "classes"}) == Texts{"[2,1]", R"(["dog","person"])"});
  CHECK(listing->fingerprint() != plain->fingerprint());
  CHECK(listing->unchanged());
  spec.classes = "\ncat\nperson\ndog\nox";
  CHECK(open_listing(spec, {}, {})->fingerprint() != listing->fingerprint());  // other names for people
  folder.file("map.json", R"(["cat", "dog"])");
  CHECK_FALSE(listing->unchanged());
  spec.classes = folder.temp / "map.json";
  CHECK_THROWS_WITH(open_listing(spec, {}, {}), Contains("\"person\" has none of the classes that `classes` lists"));
}

TEST_CASE("names in a list of VOC may have blanks, and flags behind them are left out") {
  VocFolder folder;
  const auto names = [&](const std::string& list, const Texts& files) {
    for (const std::string& file : files) folder.file("Annotations/" + file + ".xml", annotation(""));
    folder.file("ImageSets/Main/train.txt", list);
    const auto listing = folder.local();
    CHECK(listing->missing_count() == 0);
    Texts all;
    for (uint64_t i = 0; i < listing->size(); ++i) {
      const std::string name = listing->name(i);
      all.push_back(name.substr(11, name.size() - 15));  // without JPEGImages/ and .jpg
    }
    CHECK(all == files);
  };
  names("IMG 0001\nIMG 0002\r\n photo (3)\na b c", {"IMG 0001", "IMG 0002", "photo (3)", "a b c"});
  names("\xef\xbb\xbfx y\nz\n", {"x y", "z"});
  names("x y -1\nz  0\nw\t1\nv  1\n", {"x y", "z", "w", "v"});
  names("x y 1\nz 0\n", {"x y", "z"});
  names("photo 0\nphoto 1\n", {"photo 0", "photo 1"});
  names("photo 1\nphoto 2\n", {"photo 1", "photo 2"});
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
