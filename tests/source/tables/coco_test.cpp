// Files of annotations in COCO's form.
#include <catch2/catch.hpp>

#include "daemon/source/opening/opening.h"
#include "tests/source/tables/table_files.h"

namespace spdld::coco_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Texts = std::vector<std::string>;

// Two categories, three pictures, and these annotations.
std::string coco_file(const std::string& annotations) {
  return R"({"info": {"year": 2017}, "annotations": [)" + annotations + R"(], "categories": [)" +
         R"({"id": 44, "name": "bottle"}, {"id": 3, "name": "car"}], "images": [)" +
         R"({"id": 7, "file_name": "seven.jpg"}, {"id": 2, "file_name": "two \u00e9.jpg"}, {"id": 5, "file_name": "five.jpg"}]})";
}

constexpr const char* kCrowdAndBoxes =
    R"({"id": 1, "image_id": 7, "bbox": [1, 2.5, 3, 4], "category_id": 44, "area": 12, "iscrowd": 0, "segmentation": [[1, 2, 3, 4, 5, 6]]},
       {"id": 9, "image_id": 2, "bbox": [0, 0, 9, 9], "category_id": 3, "iscrowd": 1, "segmentation": {"size": [9, 9], "counts": [0, 81]}},
       {"image_id": 7, "id": 4, "bbox": [5, 6, 7, 8], "category_id": 3, "keypoints": [1, 2, 2, 0, 0, 0]})";

struct CocoFolder : TableFolder {
  explicit CocoFolder(const std::string& content) { file("a/instances.json", content); }
  std::unique_ptr<Listing> list(const config::Parameters& parameters = {}) const {
    return local("coco", "a/instances.json", parameters);
  }
  // What is lost, where the source goes on with the rest.
  static std::string lost(const std::string& annotations) {
    const CocoFolder folder(coco_file(annotations));
    const auto listing = folder.list();
    REQUIRE(listing->size() == 3);
    return listing->missing_count() == 1 ? listing->missing()[0] : std::to_string(listing->missing_count()) + " lost";
  }
  static std::string refused(const std::string& content) {
    return CocoFolder(content).refusal("coco", "a/instances.json").message;
  }
};

}  // namespace

TEST_CASE("a picture has the annotations that belong to it, in the file's order") {
  CocoFolder folder(coco_file(kCrowdAndBoxes));
  folder.file("pictures/seven.jpg", "seventh");
  const auto listing = folder.list({{"images", std::string("../pictures")}});
  REQUIRE(listing->size() == 3);
  CHECK(listing->missing_count() == 0);
  CHECK(Texts(listing->classes().begin(), listing->classes().end()) == Texts{"car", "bottle"});
  CHECK(listing->name(0) == "two \xc3\xa9.jpg");
  CHECK(listing->name(2) == "seven.jpg");
  CHECK(contents(*listing, 2, {"image", "image_id", "boxes", "labels"}) ==
        Texts{"seventh", "7", "[[1, 2.5, 3, 4],[5, 6, 7, 8]]", "[1,0]"});
  CHECK(contents(*listing, 2, {"category_ids", "areas", "iscrowd", "annotation_ids", "keypoints", "segmentations"}) ==
        Texts{"[44,3]", "[12,0]", "[0,0]", "[1,4]", "[[],[1, 2, 2, 0, 0, 0]]", "[[[1, 2, 3, 4, 5, 6]],[]]"});
  CHECK(contents(*listing, 1, {"image_id", "boxes", "labels"}) == Texts{"5", "[]", "[]"});
  FieldId captions = 0;
  REQUIRE(listing->find_field("captions", &captions) != nullptr);
  CHECK(listing->lacks(0, captions));
  CHECK_THAT(contents(*listing, 0, {"captions"})[0], Contains("has no \"captions\""));
}

TEST_CASE("crowds and pictures without annotations are left out where that is chosen") {
  const CocoFolder folder(coco_file(kCrowdAndBoxes));
  const auto calm = folder.list({{"crowd", std::string("drop")}});
  REQUIRE(calm->size() == 3);
  CHECK(contents(*calm, 0, {"boxes"}) == Texts{"[]"});
  const auto full = folder.list({{"empty", std::string("drop")}});
  REQUIRE(full->size() == 2);
  CHECK(full->name(1) == "seven.jpg");
  const auto both = folder.list({{"empty", std::string("drop")}, {"crowd", std::string("drop")}});
  REQUIRE(both->size() == 1);
  CHECK(both->fingerprint() != full->fingerprint());
  CHECK(calm->fingerprint() != folder.list()->fingerprint());
}

TEST_CASE("an object whose polygon has two corners is left out alone, where an output asks for segmentations") {
  const std::string annotations =
      R"({"id": 1, "image_id": 7, "bbox": [1, 2, 3, 4], "category_id": 3, "segmentation": [[5, 5, 30, 5, 30, 30, 5, 30]]},
         {"id": 2, "image_id": 7, "bbox": [5, 6, 7, 8], "category_id": 44,
          "segmentation": [[10, 10, 20, 20], [5, 5, 30, 5, 30, 30, 5, 30]]})";
  const CocoFolder folder(coco_file(annotations));
  const auto listing = folder.list();
  REQUIRE(listing->size() == 3);
  CHECK(listing->missing_count() == 1);
  CHECK(contents(*listing, 2, {"boxes", "segmentations"}) ==
        Texts{"[[1, 2, 3, 4]]", "[[[5, 5, 30, 5, 30, 30, 5, 30]]]"});
  const std::vector<std::string> wanted = {"boxes", "labels"};
  const auto boxes = open_listing(folder.spec_of("coco", folder.temp / "a/instances.json"), {}, {}, {}, nullptr,
                                  {nullptr, folder.stores}, wanted);
  CHECK(boxes->missing_count() == 0);
  CHECK(contents(*boxes, 2, {"boxes"}) == Texts{"[[1, 2, 3, 4],[5, 6, 7, 8]]"});
}

TEST_CASE("ids may be texts, or numbers with a point, and sort as in Python") {
  CocoFolder folder(
      R"({"images": [{"id": "b", "file_name": "b.jpg"}, {"id": "1", "file_name": "a.jpg"}, {"id": 9.0, "file_name": "9.jpg"},
                     {"id": "10", "file_name": "c.jpg"}, {"id": 9, "file_name": "9.jpg"}, {"id": 10, "file_name": "d.jpg"}],
          "categories": [{"id": "y", "name": "why"}, {"id": 3, "name": "three"}],
          "annotations": [{"id": "q\"", "image_id": "1", "category_id": 3.0, "bbox": [1, 2, 3, 4]},
                          {"id": 7, "image_id": "1", "category_id": "y", "bbox": [5, 6, 7, 8]},
                          {"id": 8e0, "image_id": 9, "category_id": "y", "bbox": [0, 0, 1, 1]}]})");
  const auto listing = folder.list();
  CHECK(listing->missing_count() == 0);
  REQUIRE(listing->said().all().count == 1);
  CHECK_THAT(listing->said().all().first[0], Contains("the picture 9 stands twice in the file, which loses nothing."));
  Texts names;
  for (uint64_t i = 0; i < listing->size(); ++i) names.push_back(listing->name(i));
  CHECK(names == Texts{"9.jpg", "d.jpg", "a.jpg", "c.jpg", "b.jpg"});
  CHECK(Texts(listing->classes().begin(), listing->classes().end()) == Texts{"three", "why"});
  CHECK(contents(*listing, 2, {"image_id", "labels", "category_ids", "annotation_ids"}) ==
        Texts{"1", "[0,1]", R"([3,"y"])", R"(["q\"",7])"});
  CHECK(contents(*listing, 0, {"image_id", "annotation_ids"}) == Texts{"9", "[8]"});
}

TEST_CASE("captions are texts, and need no categories") {
  CocoFolder folder(
      R"({"images": [{"id": 1, "file_name": "12"}], "annotations": [)"
      R"({"id": 1, "image_id": 1, "caption": "a \"red\" car"}, {"id": 2, "image_id": 1, "caption": "\u00e9"}]})");
  const auto listing = folder.list();
  CHECK(listing->classes().empty());
  CHECK(contents(*listing, 0, {"captions"}) == Texts{R"(["a \"red\" car","\u00e9"])"});
  CHECK(listing->name(0) == "instances.json:12");  // no name consists of digits alone
}

TEST_CASE("an annotation that is wrong is lost, and named by its id") {
  const std::string start = R"({"id": 8, "image_id": 7, )";
  for (const auto& [annotations, words] : std::vector<std::pair<std::string, std::string>>{
           {start + R"("bbox": [1, 2, 3]})", "the annotation 8 has a bbox that is no list of 4 finite numbers"},
           {start + R"("bbox": [1, 2, 3, NaN]})", "the annotation 8 has a bbox that is no list of 4 finite numbers"},
           {start + R"("bbox": [1, 2, 3, 1e999]})", "the annotation 8 has a bbox that is no list of 4 finite numbers"},
           {start + R"("bbox": [1, 2, 3, "4"]})", "the annotation 8 has a bbox that is no list of 4 finite numbers"},
           {start + R"("area": Infinity})", "the annotation 8 has an area that is no finite number"},
           {start + R"("category_id": 5})", "the annotation 8 has the category 5, which the file does not list"},
           {start + R"("category_id": -1})", "the annotation 8 has a category_id that is no whole number of 0 or more"},
           {start + R"("iscrowd": 2})", "the annotation 8 has an iscrowd that is neither 0 nor 1"},
           {start + R"("keypoints": [1, 2]})", "the annotation 8 has keypoints that are no list of finite numbers"},
           {start + R"("caption": 3})", "the annotation 8 has a caption that is no text"},
           {start + R"("segmentation": 3})", "the annotation 8 has a segmentation that is neither"},
           {start + R"("x": )" + std::string(100, '[') + std::string(100, ']') + "}", "at byte 41 is no sound table"},
           {R"({"id": 8, "image_id": 70})", "the annotation 8 belongs to the picture 70, which the file does not list"},
           {R"({"image_id": 7})", "the annotation at byte 41 has no id"},
           {R"({"id": 8})", "the annotation 8 has no image_id"},
           {R"({"id": 1.5, "image_id": 7})",
            "the annotation at byte 41 has an id that is no whole number of 0 or more, and no text"},
           {R"({"id": "a", "image_id": -7})",
            "the annotation \"a\" has an image_id that is no whole number of 0 or more"},
           {R"({"id": "a", "image_id": "7"})",
            "the annotation \"a\" belongs to the picture \"7\", which the file does not"},
           {R"({"id": "a", "image_id": true})", "the annotation \"a\" has an image_id that is no whole number"},
           {start + R"("category_id": "44"})",
            "the annotation 8 has the category \"44\", which the file does not list"},
           {start + R"("segmentation": [[10, 10, 20, 20], [5, 5, 30, 5, 30, 30]]})",
            "the annotation 8 has a polygon of 4 numbers"},
           {start + R"("segmentation": [[1, 2, 3, 4, 5, 6, 7]]})", "the annotation 8 has a polygon of 7 numbers"},
           {start + R"("segmentation": [[1, 2, 3, 4, 5, "6"]]})",
            "the annotation 8 has a polygon that is no list of numbers"},
           {start + R"("segmentation": {"size": [9], "counts": "a"}})",
            "the annotation 8 has run lengths without a size and"},
           {start + R"("x": 1}, {"id": 8, "image_id": 5})", "the annotation 8 stands twice in the file"},
           {start + R"("bbox": [1, 2, 3, 4]}, {"id": 10, "image_id": 5})", "the annotation 10 has no bbox"},
           {"[1]", "at byte 41 is no sound table"}}) {
    INFO(annotations);
    const std::string sentence = CocoFolder::lost(annotations);
    CHECK_THAT(sentence, Contains(words) && Catch::StartsWith("instances.json: ") && Catch::EndsWith("."));
  }
}

TEST_CASE("a picture that is wrong is lost, and a file that is wrong is refused") {
  const std::string two = R"({"images": [{"id": 1, "file_name": "a.jpg"}, )";
  for (const auto& [pictures, words] : std::vector<std::pair<std::string, std::string>>{
           {R"({"id": 1, "file_name": "b.jpg"}]})", "the picture 1 stands twice in the file, with another file_name"},
           {R"({"id": 2}]})", "the picture 2 has no file_name"},
           {R"({"id": 2, "file_name": "a\u0000"}]})", "the picture 2 has no file_name"},
           {R"({"file_name": "b.jpg"}]})", "has no id that is a whole number of 0 or more, or a text"}}) {
    const CocoFolder folder(two + pictures);
    const auto listing = folder.list();
    CHECK(listing->size() == 1);
    REQUIRE(listing->missing_count() == 1);
    CHECK_THAT(listing->missing()[0], Contains(words));
  }
  const std::string whole = coco_file(kCrowdAndBoxes);
  for (const auto& [content, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "byte 0: a '{' is missing: the file is no table of annotations"},
           {"[]", "byte 0: a '{' is missing"},
           {"{}", "has no list \"images\""},
           {R"({"images": {}})", "byte 11: a '[' is missing"},
           {R"({"images": []})", "lists no picture"},
           {R"({"images" 3})", "byte 10: a ':' is missing"},
           {R"({images: 3})", "a name in quotes is missing"},
           {whole + "x", "more text stands behind the table's end"},
           {whole.substr(0, whole.size() - 1), "a '}' is missing"},
           {whole.substr(0, whole.size() / 2), "the file ends inside of a value"},
           {R"({"categories": [{"id": 1}], "images": []})", "a category must be a table with an id"},
           {R"({"categories": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}], "images": []})", "two categories"}}) {
    INFO(content);
    CHECK_THAT(CocoFolder::refused(content), Contains(words));
  }
}

TEST_CASE("files of annotations follow one another, with one list of categories") {
  CocoFolder folder(coco_file(kCrowdAndBoxes));
  folder.file("a/other.json", coco_file(""));
  const auto both = folder.local("coco", "a/{instances,other}.json");
  REQUIRE(both->size() == 6);
  CHECK(contents(*both, 2, {"labels"}) == Texts{"[1,0]"});
  CHECK(contents(*both, 5, {"boxes", "labels", "captions"}) == Texts{"[]", "[]", "[]"});  // a file without annotations
  folder.file("a/other.json", R"({"images": [{"id": 1, "file_name": "a"}]})");
  CHECK_THAT(folder.refusal("coco", "a/{instances,other}.json").message, Contains("has other categories than"));
}

}  // namespace spdld::coco_test
