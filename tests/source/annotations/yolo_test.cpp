// Data sets in YOLO's form.
#include <catch2/catch.hpp>

#include "daemon/source/annotations/yolo_labels.h"
#include "tests/source/tables/table_files.h"

namespace spdld::yolo_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Texts = std::vector<std::string>;

struct YoloFolder : TableFolder {
  YoloFolder() {
    file("images/train/a.jpg", "picture a");
    file("images/train/b/c.PNG", "picture c");
    file("images/train/d.jpg", "picture d");
    file("images/train/e.jpg", "picture e");
    file("images/val/a.jpg", "another");
    file("labels/train/a.txt", "1 0.5 .25 0.125 0.0625\r\n\n 0\t0 0 1 0 1 1 0.50 1e-1\n");
    file("labels/train/b/c.txt", "2.0 0.5 0.5 1 1");
    file("labels/train/d.txt", "");  // shows nothing, as a picture without a file
    file("data.yaml", "path: x\nnames:\n  0: cat\n  1: 'a dog'\n  2: bird # small\nnc: 3\n");
  }
  std::string lost(const std::string& labels, const config::Parameters& parameters = {}) {
    file("labels/train/a.txt", labels);
    const auto listing = local("yolo", "", with(parameters));
    REQUIRE(listing->size() == 4);
    return listing->missing_count() == 1 ? listing->missing()[0] : std::to_string(listing->missing_count()) + " lost";
  }
  static config::Parameters with(config::Parameters parameters) {
    parameters.emplace("images", std::string("images/train"));
    parameters.emplace("extensions", std::string("jpg,png"));
    return parameters;
  }
};

Texts names_in(const std::string& yaml) { return read_yolo_names(yaml, "data.yaml"); }

}  // namespace

TEST_CASE("a picture has the labels of the file of its name, local and in a store") {
  const YoloFolder folder;
  const auto parameters = YoloFolder::with({{"names_file", std::string("data.yaml")}});
  const auto local = folder.local("yolo", "", parameters), remote = folder.remote("yolo", "", parameters);
  CHECK(local->fingerprint() == remote->fingerprint());
  for (const auto* listing : {local.get(), remote.get()}) {
    CHECK(listing->missing_count() == 0);
    CHECK(Texts(listing->classes().begin(), listing->classes().end()) == Texts{"cat", "a dog", "bird"});
    REQUIRE(listing->size() == 4);
    CHECK(listing->name(0) == "images/train/a.jpg");
    CHECK(listing->name(3) == "images/train/b/c.PNG");
    CHECK(contents(*listing, 0, {"image", "boxes", "labels", "segmentations"}) ==
          Texts{"picture a", "[[0.5,0.25,0.125,0.0625],[0.5,0.5,1,1]]", "[1,0]", "[[],[[0,0,1,0,1,1,0.5,0.1]]]"});
    CHECK(contents(*listing, 3, {"boxes", "labels"}) == Texts{"[[0.5,0.5,1,1]]", "[2]"});
    for (const uint64_t empty : {1, 2})
      CHECK(contents(*listing, empty, {"boxes", "labels", "segmentations"}) == Texts{"[]", "[]", "[]"});
    CHECK(listing->unchanged());
  }
  const auto full = folder.remote("yolo", "", YoloFolder::with({{"empty", std::string("drop")}}));
  CHECK(full->size() == 2);
  CHECK(full->classes().empty());
}

TEST_CASE("a line of labels that is wrong is lost, and its file and number are named") {
  YoloFolder folder;
  for (const auto& [labels, words] : std::vector<std::pair<std::string, std::string>>{
           {"0 0.5 0.5 0.5", "the line 1 has 4 numbers"},
           {"0 0.5 0.5 0.5 0.5 0.5", "the line 1 has 6 numbers"},
           {"\n0 0.5 0.5 x 0.5", "the line 2 has a word that is no finite number"},
           {"0 0.5 0.5 nan 0.5", "no finite number"},
           {"0 0.5 0.5 1e999 0.5", "no finite number"},
           {"-1 0.5 0.5 0.5 0.5", "no whole number of 0 or more"},
           {"0.5 0.5 0.5 0.5 0.5", "no whole number of 0 or more"},
           {"1e300 0.5 0.5 0.5 0.5", "no whole number of 0 or more"},
           {"0 5 0.5 0.5 0.5", "outside of 0 to 1"},
           {"0 0.5 0.5 -0.009 0.5", "a negative width or height"}}) {
    INFO(labels);
    const std::string sentence = folder.lost(labels);
    CHECK_THAT(sentence, Contains(words) && Contains("labels/train/a.txt: ") && Catch::EndsWith("."));
  }
  CHECK_THAT(folder.lost("3 0.5 0.5 0.5 0.5", {{"names", std::string("a,b,c")}}),
             Contains("has the class 3, and there are names for 3"));
}

TEST_CASE("labels are read as Ultralytics reads them") {
  YoloFolder folder;
  folder.file("data.yaml", "\xef\xbb\xbfnames: [cat, dog, bird]\n");
  folder.file("labels/train/a.txt",
              "\xef\xbb\xbf"
              "1 +0.5 0.25 0.125 0.0625\r0 0.5 0.5 1 1\r\n");
  folder.file("labels/train/b/c.txt",
              "0 0.5 0.5 1 1\n2 0.1 0.1 0.1 0.1\n0 0.50 0.5 1 1e0\n0 0.5 0.5 1 1.00000000001\n2 0.5 0.5 1 1\n"
              "0 0 0 1 0 1 1 0 1\n0 0 0 1 0 1 1 0 1\n0 0 0 1 0 1 1\n");
  const auto listing = folder.local("yolo", "", YoloFolder::with({{"names_file", std::string("data.yaml")}}));
  CHECK(listing->missing_count() == 0);
  CHECK(Texts(listing->classes().begin(), listing->classes().end()) == Texts{"cat", "dog", "bird"});
  CHECK(contents(*listing, 0, {"boxes", "labels"}) == Texts{"[[0.5,0.25,0.125,0.0625],[0.5,0.5,1,1]]", "[1,0]"});
  CHECK(contents(*listing, 3, {"labels"}) == Texts{"[0,2,2,0,0]"});  // other polygons of one box stay
  REQUIRE(listing->said().all().count == 1);
  CHECK_THAT(listing->said().all().first[0],
             Contains("labels/train/b/c.txt: 3 lines repeat other lines, and are left out"));
}

TEST_CASE("folders that are not there, or have no file, are refused with a sentence") {
  YoloFolder folder;
  const auto words = [&](const std::string& images, const std::string& labels = "") {
    return folder.refusal("yolo", "", YoloFolder::with({{"images", images}, {"labels", labels}})).message;
  };
  CHECK_THAT(words("images/test"), Contains("no object below s3://bucket/set/images/test"));
  CHECK_THAT(words("pictures"), Contains("name the folder `labels` too"));
  CHECK_THAT(words("images/../images/train"), Contains("must be a path below the uri"));
  CHECK_THAT(words("images/train/"), Contains("must be a path below the uri") || Contains("must not end"));
  CHECK_THAT(words("images/val"), Contains("labels/val"));
  const auto local = [&](const std::string& images) {
    return refusal("yolo", folder.temp / "", YoloFolder::with({{"images", images}})).message;
  };
  CHECK_THAT(local("images/test"), Contains("images/test does not exist"));
  CHECK_THAT(local("images/val"), Contains("labels/val does not exist"));
  CHECK_THAT(local("data.yaml/images"), Contains("data.yaml"));
  CHECK_THAT(folder.refusal("yolo", "", YoloFolder::with({{"names_file", std::string("no.yaml")}})).message,
             Contains("no.yaml does not exist"));
}

TEST_CASE("a second listing of YOLO in a store reads what changed") {
  YoloFolder folder;
  const auto parameters = YoloFolder::with({{"names_file", std::string("data.yaml")}});
  KeptUse use;
  const auto first = folder.remote("yolo", "", parameters, &use);
  const uint64_t all = use.read;
  CHECK(all >= 2);
  const size_t reads = folder.store->count("read");
  CHECK(folder.remote("yolo", "", parameters, &use)->fingerprint() == first->fingerprint());
  CHECK(folder.store->count("read") == reads);
  folder.file("labels/train/b/c.txt", "1 0.5 0.5 1 1");
  CHECK_FALSE(first->unchanged());
  const auto changed = folder.remote("yolo", "", parameters, &use);
  CHECK(folder.store->count("read") == reads + 1);
  CHECK(contents(*changed, 3, {"labels"}) == Texts{"[1]"});
  folder.file("labels/train/e.txt", "1 0.5 0.5 1 1");
  CHECK_FALSE(changed->unchanged());
  CHECK(contents(*folder.remote("yolo", "", parameters, &use), 2, {"labels"}) == Texts{"[1]"});
}

TEST_CASE("names are read in YAML's simple forms") {
  const Texts expected = {"cat", "a dog"};
  for (const char* yaml :
       {"names: [cat, a dog]", "names: ['cat', \"a dog\"] # two\n", "names:\n- cat\n- a dog\nnc: 2\n",
        "nc: 2\nnames:\n  - cat # first\n\n  # between\n  - \"a dog\"\n", "names:\n  0: cat\n  1: a dog\n",
        "names: {0: cat, 1: 'a dog'}\n", "names: [\n  cat,\n  'a dog',\n]\n",
        "names:   # the classes\n  0: cat\n  1: 'a dog'", "'names': [cat, a dog]", "\"names\" : [cat, a dog]",
        "names:\n  '0': cat\n  \"1\": a dog\n", "names: {\"0\": cat, '1': a dog}", "names: {1: a dog, 0: cat}",
        "names:\n  1: a dog\n  0: cat\nnc: 2\n", "\xef\xbb\xbfnames: [cat, a dog]\n",
        "names2: [x]\nnames:\r\n  0: cat\r\n  1: a dog\r\n"}) {
    INFO(yaml);
    CHECK(names_in(yaml) == expected);
  }
  CHECK(names_in("names: ['it''s', \"a \\\"b\\\"\", a#b]") == Texts{"it's", "a \"b\"", "a#b"});
  for (const char* yaml : {"names:", "names: []", "names: cat", "names: [cat", "names: [cat dog: 1]",
                           "names:\n  1: cat\n", "names:\n  0: cat\n  2: dog\n", "names: &a [cat]", "names: ['cat]",
                           "names: [[cat]]", "names:\n  - cat\n    - dog\n", "names:\n  0:cat\n", "names: [\"a\\n\"]",
                           "names:\n  - ''\n", "names:\n  '0: cat\n", "names: {0: cat, 0: dog}",
                           "names: {0: cat, 99999999999999999999: dog}", "names: {'0\": cat}"}) {
    INFO(yaml);
    CHECK_THROWS_WITH(names_in(yaml), Contains("data.yaml: its `names` are no list"));
  }
  for (const char* yaml : {"names:cat", "names", "# names: [a]", "x: {names: [a]}", "\"names: [a]", ""})
    CHECK_THROWS_WITH(names_in(yaml), Contains("has no key `names`"));
  CHECK_THROWS_WITH(names_in("classes: [a]"), Contains("has no key `names`"));
}

}  // namespace spdld::yolo_test
