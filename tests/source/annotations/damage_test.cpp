// Damaged files of annotations: a thousand of each kind.
#include <catch2/catch.hpp>

#include "daemon/base/random.h"
#include "daemon/source/annotations/voc_annotation.h"
#include "daemon/source/annotations/yolo_labels.h"
#include "tests/source/tables/table_files.h"
#include "tests/support/rounds.h"

namespace spdld::damage_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;

namespace {

constexpr int kDamaged = test::rounds(1000);

// Changes, cuts out or repeats some bytes, so that some signs of the form stand where they do not belong.
std::string damaged(std::string text, Draw& draw, std::string_view signs) {
  for (uint64_t i = 0; i <= draw.below(3) && !text.empty(); ++i) {
    const size_t at = draw.below(text.size()), length = 1 + draw.below(40);
    switch (draw.below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.resize(at);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      default:
        text[at] = signs[draw.below(signs.size())];
    }
  }
  return text;
}

// Lists the folder, which may lose samples, or be refused; both with a sentence on one line that names `file`. Returns
// whether something was wrong.
bool has_sentences(const TableFolder& folder, const std::string& type, const config::Parameters& parameters,
                   const std::string& file) {
  std::vector<std::string> sentences;
  try {
    const auto listing = folder.local(type, "", parameters);
    sentences.assign(listing->missing().begin(), listing->missing().end());
    for (uint64_t i = 0; i < listing->size(); ++i)
      for (const std::string& text : contents(*listing, i, {"boxes", "labels"})) REQUIRE(text.ends_with("]"));
  } catch (const SetupError& error) {
    sentences.emplace_back(error.what());
  }
  for (const std::string& sentence : sentences) {
    INFO(sentence);
    REQUIRE(sentence.find('\n') == std::string::npos);
    REQUIRE(sentence.ends_with("."));
    REQUIRE(sentence.find(file) != std::string::npos);
  }
  return !sentences.empty();
}

}  // namespace

TEST_CASE("damaged files of VOC give sentences") {
  TableFolder folder;
  folder.file("ImageSets/Main/train.txt", "a\nb\n");
  const std::string object =
      "<object><name>dog</name><difficult>0</difficult><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>30</xmax>"
      "<ymax>4.5</ymax></bndbox></object>";
  const std::string whole = "<annotation><filename>a.jpg</filename>" + object + object + "</annotation>";
  for (const char* name : {"a", "b"}) {
    folder.file("Annotations/" + std::string(name) + ".xml", whole);
    folder.file("JPEGImages/" + std::string(name) + ".jpg", "picture");
  }
  const config::Parameters parameters = {{"set", std::string("Main/train")}, {"ending", std::string("jpg")}};
  Draw draw(1, 0, 0, 0);
  int wrong = 0;
  for (int i = 0; i < kDamaged; ++i) {
    folder.temp.file("Annotations/b.xml", damaged(whole, draw, "<>/&;\"'=-e.\xff\x01 9"));
    wrong += has_sentences(folder, "voc", parameters, "Annotations/b.xml");
  }
  CHECK(wrong > kDamaged / 2);
  folder.temp.file("Annotations/b.xml", whole);
  for (int i = 0; i < kDamaged / 10; ++i) {
    folder.temp.file("ImageSets/Main/train.txt", damaged("a\nb\n", draw, "./ \n\rab\xff"));
    has_sentences(folder, "voc", parameters, "");
  }
}

TEST_CASE("damaged files of YOLO give sentences") {
  TableFolder folder;
  const std::string whole = "0 0.5 0.5 0.25 0.125\n2 0.1 0.2 0.3 0.4 0.5 0.6\n1 1 1 0.01 0.001\n";
  const std::string names = "nc: 3\nnames:\n  0: cat\n  1: 'dog'\n  2: bird # small\n";
  folder.file("images/a.jpg", "picture");
  folder.file("labels/a.txt", whole);
  folder.file("data.yaml", names);
  const config::Parameters parameters = {
      {"images", std::string("images")}, {"extensions", std::string("jpg")}, {"names_file", std::string("data.yaml")}};
  Draw draw(2, 0, 0, 0);
  int wrong = 0;
  for (int i = 0; i < kDamaged; ++i) {
    folder.temp.file("labels/a.txt", damaged(whole, draw, " \n\r.-eEnx9\xff\x01"));
    wrong += has_sentences(folder, "yolo", parameters, "labels/a.txt");
  }
  CHECK(wrong > kDamaged / 2);
  folder.temp.file("labels/a.txt", "");
  wrong = 0;
  for (int i = 0; i < kDamaged; ++i) {
    folder.temp.file("data.yaml", damaged(names, draw, " \n\r:-'\"#[]{},\xff\x01"));
    wrong += has_sentences(folder, "yolo", parameters, "data.yaml");
  }
  CHECK(wrong > kDamaged / 4);
}

TEST_CASE("names of any bytes are matched, or are lost with a sentence") {
  Draw draw(3, 0, 0, 0);
  for (int i = 0; i < kDamaged / 20; ++i) {
    TableFolder folder;
    int damaged_names = 0;
    folder.file("images/whole.jpg", "picture");
    folder.file("masks/whole.png", "mask");
    for (int k = 0; k < 20; ++k) {
      std::string name = damaged("name_" + std::to_string(k), draw, "._-\n\xff\x01 %");
      if (name.empty() || name.front() == '.' || name.size() > 200) continue;
      folder.temp.file("images/" + name + ".jpg", "picture");
      if (draw.below(2) == 0)
        folder.temp.file("masks/" + name + ".png", "mask");
      else
        ++damaged_names;
    }
    const auto listing = folder.local("image-pairs", "",
                                      {{"images", std::string("images")},
                                       {"masks", std::string("masks")},
                                       {"extensions", std::string("jpg")},
                                       {"mask_extensions", std::string("png")}});
    CHECK(listing->missing_count() <= static_cast<uint64_t>(damaged_names));
    for (uint64_t row = 0; row < listing->size(); ++row)
      CHECK(contents(*listing, row, {"image", "mask"}) == std::vector<std::string>{"picture", "mask"});
  }
}

}  // namespace spdld::damage_test
