// Lists of classes: what files and lists in a pipeline say, and how folders and rows follow them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "daemon/source/files/bounds.h"
#include "daemon/source/folders/class_list.h"
#include "tests/source/temp_folder.h"
#include "tests/support/memory_store.h"

namespace spdld::class_list_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

struct Wanted {
  std::string type = "image-folder", uri;
  std::string classes = {};
  bool warns = false;
  config::Parameters parameters = {};
  Places places = {};
};

std::unique_ptr<Listing> list(const Wanted& wanted, const std::filesystem::path& kept = {}) {
  config::SourceSpec spec;
  spec.type = wanted.type;
  spec.uris = {wanted.uri};
  spec.classes = wanted.classes;
  spec.parameters = wanted.parameters;
  if (wanted.warns) spec.on_missing = config::OnMissing::kWarn;
  return open_listing(spec, {}, {}, kept, nullptr, wanted.places);
}

std::string refusal_of(const Wanted& wanted) {
  try {
    list(wanted);
  } catch (const SetupError& error) {
    CHECK(std::string(error.what()).ends_with("."));
    return error.what();
  }
  return "it was not refused";
}

Texts classes_of(const Listing& listing) { return {listing.classes().begin(), listing.classes().end()}; }

using Samples = std::vector<std::pair<std::string, int64_t>>;  // names, and the numbers of their classes

Samples samples_of(const Listing& listing) {
  FieldId id = 0;
  REQUIRE(listing.find_field("class", &id) != nullptr);
  Samples all;
  for (uint64_t i = 0; i < listing.size(); ++i)
    if (!listing.is_untaken(i)) all.emplace_back(listing.name(i), listing.integer(i, id));
  return all;
}

std::string fault_of(const TempFolder& temp, const std::string& name, const std::string& content) {
  temp.file(name, content);
  try {
    read_class_list(temp / name, nullptr);
  } catch (const SetupError& error) {
    CHECK_THAT(error.what(), Contains("source.classes: " + temp / name));
    CHECK(std::string(error.what()).ends_with("."));
    return error.what();
  }
  return "it was not refused";
}

}  // namespace

TEST_CASE("a list of classes is a text with a name a line, or JSON in one of four forms") {
  const TempFolder temp;
  const auto read = [&](const std::string& name, const std::string& content) {
    temp.file(name, content);
    const auto found = read_class_list(temp / name, nullptr);
    REQUIRE(found);
    return std::pair(found->labels(), found->names());
  };
  const Texts animals = {"dog", "a cat", "\xc3\xa4hre"};
  const std::pair plain(animals, animals);
  CHECK(read("a.txt", "dog\na cat\n\xc3\xa4hre\n") == plain);
  CHECK(read("b.txt",
             "\xef\xbb\xbf"
             "dog\r\n\r\na cat\r\n\n\xc3\xa4hre") == plain);
  CHECK(read("a.json", R"(["dog", "a cat", "\u00e4hre"])") == plain);
  CHECK(read("b.json", R"({"a cat": 1, "dog": 0, "\u00e4hre": 2})") == plain);
  CHECK(read("c.json", R"( {"2": "\u00e4hre", "1": "a cat", "0": "dog"} )") == plain);
  CHECK(read("d.json", R"({"0": ["n1", "crane"], "1": ["n2", "tench"], "2": ["n3", "crane"]})") ==
        std::pair(Texts{"n1", "n2", "n3"}, Texts{"crane (n1)", "tench", "crane (n3)"}));
  CHECK(read("e.json", R"([["n1", "ant", 3, null], ["n2"]])") == std::pair(Texts{"n1", "n2"}, Texts{"ant", "n2"}));
  const auto inside = read_class_list("\ndog\na cat", nullptr);
  REQUIRE(inside);
  CHECK(inside->labels() == Texts{"dog", "a cat"});
  CHECK(inside->number_of("a cat") == 1u);
  CHECK(inside->number_of("cat") == std::nullopt);
  CHECK_FALSE(read_class_list("", nullptr));
}

TEST_CASE("what a list of classes is refused for") {
  const TempFolder temp;
  CHECK_THAT(fault_of(temp, "empty.txt", "\n\n"), Contains("names no class"));
  CHECK_THAT(fault_of(temp, "twice.txt", "cat\ndog\ncat\n"), Contains("\"cat\" twice"));
  CHECK_THAT(fault_of(temp, "nul.txt", std::string("cat\ndo\0g\n", 9)), Contains("line 2 has a NUL"));
  CHECK_THAT(fault_of(temp, "nul.json", R"(["cat", "do\u0000g"])"), Contains("class 1 has a NUL"));
  CHECK_THAT(fault_of(temp, "none.json", R"(["cat", ""])"), Contains("class 1 is empty"));
  CHECK_THAT(fault_of(temp, "gap.json", R"({"cat": 1, "dog": 2})"), Contains("no class the number 0"));
  CHECK_THAT(fault_of(temp, "same.json", R"({"cat": 0, "lion": 0, "dog": 1})"),
             Contains("the number 0 to \"cat\" and to \"lion\""));
  for (const char* json :
       {"", "{", "7", "[1]", R"({"cat": -1})", R"({"cat": 1.5})", R"({"cat": 99999999999})", R"({"cat": "dog"})",
        R"({"0": []})", R"({"0": [1, "cat"]})", R"({"0": null})", R"(["cat"] ["dog"])", R"({"cat": {"dog": 0}})"})
    CHECK_THAT(fault_of(temp, "form.json", json), Contains("is no JSON of classes"));
  CHECK_THAT(fault_of(temp, "deep.json", std::string(100'000, '[')), Contains("is no JSON of classes"));
  CHECK_THAT(refusal_of({.uri = temp.path().string(), .classes = temp / "gone.txt"}), Contains("holds no folder"));
  temp.file("a/1.jpg");
  CHECK_THAT(refusal_of({.uri = temp.path().string(), .classes = temp / "gone.txt"}),
             Contains("source.classes: " + temp / "gone.txt") && Contains("No such file"));
  CHECK_THAT(refusal_of({.uri = temp.path().string(), .classes = temp / "a"}), Contains("is not a file"));
}

TEST_CASE("damaged JSON of classes is refused or read, and never more than that") {
  const TempFolder temp;
  std::mt19937 random(5);
  const std::string sound =
      R"({"0": ["n01440764", "tench"], "1": ["n01443537", "goldfish"], "2": ["n3", "\u00e4\ud83d\ude00"]})";
  for (int round = 0; round < 2000; ++round) {
    std::string json = sound;
    for (uint32_t change = random() % 4; change > 0; --change) {
      const size_t at = random() % json.size();
      if (random() % 2 == 0)
        json[at] = static_cast<char>(random());
      else
        json.erase(at, 1 + random() % 9);
    }
    temp.file("x.json", json);
    try {
      const auto read = read_class_list(temp / "x.json", nullptr);
      REQUIRE(read->labels().size() == read->names().size());
      for (uint32_t i = 0; i < read->labels().size(); ++i) REQUIRE(read->number_of(read->labels()[i]) == i);
    } catch (const SetupError&) {
    }
  }
}

TEST_CASE("folders have the numbers that a list gives their names, and samples follow the numbers") {
  const TempFolder temp;
  for (const char* name : {"pictures/ant/1.jpg", "pictures/bee/2.jpg", "pictures/bee/x/1.jpg", "pictures/cat/1.jpg"})
    temp.file(name);
  temp.file("classes.txt", "cat\nant\nbee\n");
  temp.file("map.json", R"({"0": ["cat", "felis"], "1": ["ant", "formica"], "2": ["bee", "apis"]})");
  const std::string uri = temp / "pictures";
  const Samples samples = {{"cat/1.jpg", 0}, {"ant/1.jpg", 1}, {"bee/2.jpg", 2}, {"bee/x/1.jpg", 2}};
  const auto by_text = list({.uri = uri, .classes = temp / "classes.txt"});
  CHECK(samples_of(*by_text) == samples);
  CHECK(classes_of(*by_text) == Texts{"cat", "ant", "bee"});
  CHECK(by_text->remark_count() == 0);
  const auto by_map = list({.uri = uri, .classes = temp / "map.json"});
  CHECK(samples_of(*by_map) == samples);
  CHECK(classes_of(*by_map) == Texts{"felis", "formica", "apis"});
  const auto inside = list({.uri = uri, .classes = "\ncat\nant\nbee"});
  CHECK(samples_of(*inside) == samples);
  // What decides the labels is in the fingerprint, and where it stands is not.
  const auto sorted = list({.uri = uri});
  CHECK(inside->fingerprint() == by_text->fingerprint());
  CHECK(sorted->fingerprint() != by_text->fingerprint());
  CHECK(by_map->fingerprint() != by_text->fingerprint());
  CHECK(list({.uri = uri, .classes = "\nant\nbee\ncat"})->fingerprint() == sorted->fingerprint());
  // A list that changes is another listing.
  CHECK(by_text->unchanged());
  CHECK(inside->unchanged());
  temp.file("classes.txt", "bee\nant\ncat\n\n");
  CHECK_FALSE(by_text->unchanged());
  CHECK(inside->unchanged());
}

TEST_CASE("folders that a list does not name, and classes without a folder, are refused or told") {
  const TempFolder temp;
  for (const char* name : {"ant/1.jpg", "bee/1.jpg", "cat/1.jpg"}) temp.file(name);
  const std::string uri = temp.path().string();
  CHECK_THAT(refusal_of({.uri = uri, .classes = "\nbee\nant"}),
             Contains("one folder of the data set is not among the classes") && Contains("\"cat\"") &&
                 Contains("on_missing = \"warn\""));
  CHECK_THAT(refusal_of({.uri = uri, .classes = "\nbee\nlion\nant\ncat\ntiger"}),
             Contains("2 of the classes have no folder; the first are \"lion\" and \"tiger\""));
  const auto listing = list({.uri = uri, .classes = "\nlion\nbee\ntiger\nant\nwolf", .warns = true});
  CHECK(samples_of(*listing) == Samples{{"bee/1.jpg", 1}, {"ant/1.jpg", 3}});
  CHECK(classes_of(*listing) == Texts{"lion", "bee", "tiger", "ant", "wolf"});
  REQUIRE(listing->missing_count() == 2);
  CHECK_THAT(listing->missing()[0], Contains("\"cat\""));
  CHECK_THAT(listing->missing()[1], Contains("3 of the classes have no folder"));
  CHECK_THAT(refusal_of({.uri = uri, .classes = "\nlion\ntiger", .warns = true}),
             Contains("give the list of this data set"));
}

TEST_CASE("a random list numbers a local folder, a kept one and a remote one alike") {
  std::mt19937 random(11);
  for (int round = 0; round < 30; ++round) {
    const TempFolder temp, kept;
    const auto store = std::make_shared<MemoryStore>();
    Texts labels;
    std::map<std::string, Texts> files;
    for (uint32_t i = 0; i < 8; ++i) labels.push_back("class-" + std::to_string(random() % 100 * 8 + i));
    for (const std::string& label : labels) {
      if (random() % 4 == 0) continue;  // it has no folder
      for (uint32_t i = 0; i <= random() % 4; ++i) {
        const std::string path = label + "/" + std::to_string(i) + ".jpg";
        temp.file(path);
        store->put("d/" + path, "x");
        files[label].push_back(path);
      }
    }
    if (files.empty()) continue;
    std::shuffle(labels.begin(), labels.end(), random);
    std::string text;
    Samples expected;
    for (size_t i = 0; i < labels.size(); ++i) {
      text += '\n' + labels[i];
      for (const std::string& path : files[labels[i]]) expected.emplace_back(path, static_cast<int64_t>(i));
    }
    const Wanted wanted{.uri = temp.path().string(), .classes = text, .warns = true};
    const auto first = list(wanted, kept.path()), again = list(wanted, kept.path());
    Wanted remote = wanted;
    remote.uri = store->uri_of("d");
    remote.places.stores = std::make_shared<OneStore>(store);
    const auto elsewhere = list(remote);
    for (const Listing* listing : {first.get(), again.get(), elsewhere.get()}) {
      REQUIRE(samples_of(*listing) == expected);
      REQUIRE(classes_of(*listing) == labels);
      REQUIRE(listing->fingerprint() == first->fingerprint());
    }
  }
}

TEST_CASE("rows of a manifest have the numbers that a list gives the texts of their column") {
  const TempFolder temp;
  temp.file("a.csv", "key,label\na,cat\nb,ant\nc,cat\n");
  temp.file("b.csv", "key,label\nd,bee\ne,ant\n");
  const auto wanted = [&](const std::string& classes, bool warns = false) {
    return Wanted{.type = "manifest",
                  .uri = temp / "{a,b}.csv",
                  .classes = classes,
                  .warns = warns,
                  .parameters = {{"class", std::string("label")}, {"key", std::string("key")}}};
  };
  temp.file("map.json",
            R"({"0": ["cat", "felis"], "1": ["dog", "canis"], "2": ["bee", "apis"], "3": ["ant", "formica"]})");
  const auto listing = list(wanted(temp / "map.json"));
  CHECK(samples_of(*listing) == Samples{{"a", 0}, {"b", 3}, {"c", 0}, {"d", 2}, {"e", 3}});
  CHECK(classes_of(*listing) == Texts{"felis", "canis", "apis", "formica"});
  CHECK(listing->missing_count() == 0);  // a table need not have rows of every class
  const auto sorted = list(wanted(""));
  CHECK(sorted->fingerprint() != listing->fingerprint());
  CHECK(list(wanted("\nbee\nant\ncat"))->fingerprint() != list(wanted("\ncat\nant\nbee"))->fingerprint());
  temp.file("map.json", R"(["cat", "bee", "ant"])");
  CHECK_FALSE(listing->unchanged());
  CHECK(sorted->unchanged());
  CHECK_THAT(refusal_of(wanted("\nbee\ncat")),
             Contains("does not name the classes of 2 rows") && Contains("column \"label\"") && Contains("\"ant\""));
  const auto rest = list(wanted("\nbee\ncat", true));
  CHECK(rest->size() == 5);
  CHECK(rest->untaken_count() == 2);
  CHECK(samples_of(*rest) == Samples{{"a", 1}, {"c", 1}, {"d", 0}});
  CHECK(rest->missing_count() == 1);
}

TEST_CASE("a condition counts its own rows, beside rows whose class no list names") {
  const TempFolder temp;
  temp.file("a.csv", "key,label,split\na,cat,x\nb,ant,x\nc,cow,y\nd,cow,x\n");
  const auto listing =
      list({.type = "manifest",
            .uri = temp / "a.csv",
            .classes = "\nant\ncat",
            .warns = true,
            .parameters = {
                {"class", std::string("label")}, {"key", std::string("key")}, {"where", std::string("split == 'x'")}}});
  CHECK(samples_of(*listing) == Samples{{"a", 1}, {"b", 0}});
  REQUIRE(listing->remark_count() == 2);
  CHECK_THAT(listing->remarks()[0], Contains("takes 3 of 4 rows"));
  CHECK_THAT(listing->remarks()[1], Contains("the classes of 1 row,") && Contains("it is \"cow\""));
}

TEST_CASE("a list of classes lies where the operator allows data or lists") {
  const TempFolder temp;
  temp.file("data/ant/1.jpg");
  for (const char* name : {"data/classes.txt", "lists/classes.txt", "elsewhere/classes.txt"}) temp.file(name, "ant\n");
  temp.link("../elsewhere/classes.txt", "data/link.txt");
  std::vector<Bounds::Folder> folders(2);
  folders[0].path = temp / "data";
  folders[1].path = temp / "lists";
  folders[1].lists_only = true;
  Wanted wanted{.uri = temp / "data"};
  wanted.places.bounds = std::make_shared<const Bounds>(folders);
  for (const char* name : {"data/classes.txt", "lists/classes.txt"}) {
    wanted.classes = temp / name;
    CHECK(list(wanted)->size() == 1);
  }
  for (const char* name : {"elsewhere/classes.txt", "data/link.txt"}) {
    wanted.classes = temp / name;
    CHECK_THAT(refusal_of(wanted), Contains("leads out of the folders"));
  }
}

}  // namespace spdld::class_list_test
