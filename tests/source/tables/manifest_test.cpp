#include <catch2/catch.hpp>
#include <chrono>

#include "daemon/source/files/bounds.h"
#include "daemon/source/opening/opening.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"

namespace spdld::manifest_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;
using config::Value;

namespace {

using Names = std::vector<std::string>;

config::Parameters with(std::initializer_list<std::pair<std::string, std::string>> texts) {
  config::Parameters parameters;
  for (const auto& [name, text] : texts) parameters[name] = text;
  return parameters;
}

// A field's bytes; "-" where the sample lacks it; else the error.
std::string content(const Listing& listing, uint64_t sample, const std::string& field) {
  FieldId id = 0;
  REQUIRE(listing.find_field(field, &id) != nullptr);
  CHECK(listing.lacks(sample, id) == listing.locate(sample, id).path.empty());
  if (listing.lacks(sample, id)) return "-";
  LocalFetcher fetcher(1);
  auto request = request_for(listing, sample, wanted(listing, {field}));
  fetch_now(fetcher, request);
  return request.ok ? text(request.bytes[0]) : "bad: " + request.error.message;
}

// A data set of one file with this content.
struct OneFile {
  OneFile(const std::string& file_name, const std::string& bytes) : name(file_name) { temp.file(name, bytes); }
  std::unique_ptr<Listing> list(const config::Parameters& parameters = {}) const {
    return open("manifest", temp / name, parameters);
  }
  std::string refused(const config::Parameters& parameters = {}) const {
    return refusal("manifest", temp / name, parameters).message;
  }
  std::string name;
  TempFolder temp;
};

}  // namespace

TEST_CASE("every column of a CSV file is a field") {
  const OneFile file("t.csv",
                     "\xef\xbb\xbf"
                     "a,b\r\n1,\"x, \"\"y\"\"\r\nz\"\r\n\r\n,2");
  const auto listing = file.list();
  REQUIRE(listing->size() == 2);
  CHECK(content(*listing, 0, "a") == "1");
  CHECK(content(*listing, 0, "b") == "x, \"y\"\r\nz");
  CHECK(content(*listing, 1, "a").empty());  // an empty text is a text
  CHECK(content(*listing, 1, "b") == "2");
  CHECK(listing->name(1) == "t.csv:1");
  CHECK(listing->find_field("__key__", nullptr)->kind == FieldKind::kText);
  CHECK(listing->remark_count() == 0);
}

TEST_CASE("several fields of a row are fetched together, and from the kernel's memory") {
  const OneFile file("t.jsonl", "{\"a\": \"one\", \"b\": \"tw\\u00f6\"}\n{\"a\": \"three\", \"b\": 4}\n");
  const auto listing = file.list();
  LocalFetcher fetcher(1);
  auto request = request_for(*listing, 0, wanted(*listing, {"b", "a"}));
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  CHECK(text(request.bytes[0]) == "tw\xc3\xb6");
  CHECK(text(request.bytes[1]) == "one");
  request.sample = 1;
  CHECK(fetcher.fetch_at_hand(request));
  CHECK(text(request.bytes[0]) == "4");
  CHECK(text(request.bytes[1]) == "three");
}

TEST_CASE("rows that are no rows are told as lost, and those around them are taken") {
  const OneFile file("t.csv", "a,b\n1,2\n3\n4,5,6\n\"x\"y,7\n8,9\n\"no end,10\n11,12\n");
  const auto listing = file.list();
  REQUIRE(listing->size() == 2);
  CHECK(content(*listing, 1, "a") == "8");
  REQUIRE(listing->missing_count() == 4);
  CHECK_THAT(listing->missing()[0],
             Contains("t.csv: the row at byte 8, behind row 1, has 1 values") && Contains("names 2 columns"));
  CHECK_THAT(listing->missing()[1], Contains("has 3 values"));
  CHECK_THAT(listing->missing()[2], Contains("text behind a closing quote"));
  CHECK_THAT(listing->missing()[3], Contains("has no end: the rest of the file is lost"));
  CHECK_THAT(not_whole("manifest", file.temp / "t.csv"), Contains("is not whole"));
  const OneFile lines("t.jsonl", "{\"a\": 1}\n[2]\n{\"a\": 3\n{\"a\": 4} 5\n{\"a\": 01}\n{\"a\": 6}\n");
  const auto of_lines = lines.list();
  REQUIRE(of_lines->size() == 2);
  CHECK(content(*of_lines, 1, "a") == "6");
  CHECK(of_lines->missing_count() == 4);
}

TEST_CASE("what Python writes for numbers that JSON does not have is a value, and no number") {
  const OneFile file("t.jsonl", "{\"a\": NaN, \"b\": [1, -Infinity], \"c\": 7}\n{NaN: 1}\n{\"a\": -NaN}\n{\"a\": 1}\n");
  const auto listing = file.list();
  REQUIRE(listing->size() == 2);
  CHECK(content(*listing, 0, "a") == "NaN");
  CHECK(content(*listing, 0, "b") == "[1, -Infinity]");
  CHECK(content(*listing, 0, "c") == "7");
  CHECK(listing->missing_count() == 2);
}

TEST_CASE("what a sample lacks") {
  const OneFile file("t.jsonl", "{\"a\": null, \"f\": \"x\"}\n{\"a\": 1}\n{\"b\": [1, 2], \"a\": 2, \"f\": null}\n");
  file.temp.file("x", "bytes of x");
  const auto listing = file.list(with({{"files", "f"}}));
  REQUIRE(listing->size() == 3);
  CHECK(content(*listing, 0, "a") == "-");
  CHECK(content(*listing, 1, "a") == "1");
  CHECK(content(*listing, 0, "f") == "bytes of x");
  CHECK(content(*listing, 1, "f") == "-");
  CHECK(content(*listing, 2, "f") == "-");
  CHECK(content(*listing, 1, "b") == "-");
  CHECK(content(*listing, 2, "b") == "[1, 2]");
}

TEST_CASE("classes are the sorted texts of their column, over all files") {
  const TempFolder temp;
  temp.file("1.csv", "class,v\nb,1\nc,2\n");
  temp.file("2.csv", "v,class\n3,a\n4,b\n5,\n");
  config::SourceSpec spec;
  spec.type = "manifest";
  spec.uris = {temp / "{1,2}.csv"};
  spec.parameters = with({{"class", "class"}});
  spec.on_missing = config::OnMissing::kWarn;
  const auto listing = open_listing(spec, {}, {});
  const auto classes = listing->classes();
  CHECK(Names(classes.begin(), classes.end()) == Names{"a", "b", "c"});
  FieldId id = 0;
  REQUIRE(listing->find_field("class", &id)->kind == FieldKind::kInteger);
  REQUIRE(listing->size() == 4);
  CHECK(listing->integer(0, id) == 1);
  CHECK(listing->integer(1, id) == 2);
  CHECK(listing->integer(2, id) == 0);
  CHECK(listing->integer(3, id) == 1);
  REQUIRE(listing->missing_count() == 1);
  CHECK_THAT(listing->missing()[0], Contains("no value in the column class"));
  CHECK(listing->archive_starts().size() == 2);
}

TEST_CASE("what a manifest is refused for") {
  CHECK_THAT(OneFile("t.csv", "").refused(), Contains("t.csv is empty"));
  CHECK_THAT(OneFile("t.csv", "a,b\n").refused(), Contains("has no row."));
  CHECK_THAT(OneFile("t.jsonl", "[]\n").refused(), Contains("has no row (t.jsonl: ") && Contains("no table of JSON"));
  CHECK_THAT(OneFile("t.csv", "a,a\n1,2\n").refused(), Contains("two columns \"a\""));
  CHECK_THAT(OneFile("t.csv", "__key__\n1\n").refused(), Contains("column __key__"));
  const OneFile file("t.csv", "a,b\nhttps://x/y.jpg,1\n");
  CHECK_THAT(file.refused(with({{"files", "c"}})), Contains("no column \"c\"; it has a, b."));
  CHECK_THAT(file.refused(with({{"class", "c"}})), Contains("no column \"c\""));
  CHECK_THAT(file.refused(with({{"key", "c"}})), Contains("no column \"c\""));
  CHECK_THAT(file.refused(with({{"base64", "c"}})), Contains("no column \"c\""));
  CHECK_THAT(file.refused(with({{"files", "a"}})),
             Contains("there are no remote stores here") && Contains("t.csv, row 0, column \"a\""));
  CHECK(file.list()->size() == 1);  // a text like any other
  CHECK_THAT(refusal("manifest", file.temp / "none.csv").message, Contains("does not exist"));
  CHECK_THAT(refusal("manifest", file.temp.path().string()).message, Contains("is a folder: name the manifests in it"));
  CHECK_THAT(refusal("manifest", file.temp / "t.jsonl").message, Contains("does not exist"));
  CHECK_THAT(OneFile("t.jsonl", "{\"a\": 1}\n").refused(with({{"class", "b"}})),
             Contains("no column \"b\"; it has a."));
}

TEST_CASE("a file that was replaced is bad content, and never another row's value") {
  const OneFile file("t.csv", "a,b\n1,2\n3,4\n");
  const auto listing = file.list();
  file.temp.file("t.csv", "a,b\n1,2,3,4\n");
  CHECK_THAT(content(*listing, 0, "a"), Contains("was it replaced?") || Contains("was the file replaced?"));
  file.temp.file("t.csv", "a,b\n1,2\n3,4,5\n");
  CHECK_THAT(content(*listing, 1, "a"), Contains("was it replaced?"));
  CHECK_FALSE(listing->unchanged());
  const OneFile bad("t.csv", "a\n!!!!\n");
  CHECK_THAT(content(*bad.list(with({{"base64", "a"}})), 0, "a"), Contains("t.csv, byte 2: its value is no base64."));
  const OneFile lone("t.jsonl", "{\"a\": \"\\ud800\"}\n");
  CHECK_THAT(content(*lone.list(), 0, "a"), Contains("half of a pair of surrogates"));
}

TEST_CASE("a kept listing is the same listing, and a manifest that changed is read again") {
  const TempFolder temp, kept;
  temp.file("t.jsonl", "{\"f\": \"x\", \"c\": \"b\"}\n{\"c\": \"a\", \"k\": null}\nno row\n");
  std::filesystem::last_write_time(temp / "t.jsonl",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  config::SourceSpec spec;
  spec.type = "manifest";
  spec.uris = {temp / "t.jsonl"};
  spec.parameters = with({{"class", "c"}, {"files", "f"}});
  spec.on_missing = config::OnMissing::kWarn;
  const auto list = [&](KeptUse& use) { return open_listing(spec, {}, {}, kept.path(), &use); };
  KeptUse use;
  const auto first = list(use);
  CHECK(use.read == 1);
  const auto second = list(use);
  CHECK(use.taken == 1);
  CHECK(second->fingerprint() == first->fingerprint());
  CHECK(second->size() == 2);
  CHECK(second->missing_count() == 1);
  CHECK(content(*second, 1, "f") == "-");
  CHECK(content(*second, 1, "c") == "a");
  CHECK(content(*second, 0, "k") == "-");
  temp.file("t.jsonl", "{\"f\": \"x\", \"c\": \"b\"}\n{\"c\": \"d\", \"k\": null}\nno row\n");
  const auto third = list(use);
  CHECK(use.read == 1);
  CHECK(third->fingerprint() != first->fingerprint());
  CHECK(content(*third, 1, "c") == "d");
}

TEST_CASE("a copy of a manifest has the same fingerprint, and other columns another one") {
  const OneFile one("t.csv", "a,b\n1,2\n"), copy("t.csv", "a,b\n1,2\n"), other("t.csv", "a,b\n1,3\n");
  CHECK(one.list()->fingerprint() == copy.list()->fingerprint());
  CHECK(one.list()->fingerprint() != other.list()->fingerprint());
  CHECK(one.list()->fingerprint() != copy.list(with({{"files", "a"}}))->fingerprint());
}

TEST_CASE("a manifest and the files that it names lie in the data set's bounds") {
  const TempFolder inside, outside;
  outside.file("x", "secret");
  outside.file("t.csv", "f\nx\n");
  inside.file("y", "mine");
  inside.file("t.csv", "f\n" + (outside / "x") + "\n../x\ny\n");
  inside.link(outside / "t.csv", "link.csv");
  const auto bounds = std::make_shared<const Bounds>(std::vector<Bounds::Folder>{{inside.path()}});
  config::SourceSpec spec;
  spec.type = "manifest";
  spec.uris = {inside / "t.csv"};
  spec.parameters = with({{"files", "f"}});
  const auto listing = open_listing(spec, {}, {}, {}, nullptr, {bounds, {}});
  CHECK_THAT(content(*listing, 0, "f"), Contains("bad: ") && !Contains("secret"));
  CHECK_THAT(content(*listing, 1, "f"), Contains("bad: "));
  CHECK(content(*listing, 2, "f") == "mine");
  spec.uris = {inside / "link.csv"};
  try {
    open_listing(spec, {}, {}, {}, nullptr, {bounds, {}});
    FAIL("it was not refused");
  } catch (const SetupError& error) {
    CHECK(error.trouble() == Trouble::kDenied);
  }
}

TEST_CASE("a large manifest takes a few bytes a row") {
  std::string text = "file,label,caption\n";
  for (int i = 0; i < 50000; ++i)
    text += "images/" + std::to_string(i) + ".jpg,c" + std::to_string(i % 10) + ",a caption that stays in the file\n";
  const OneFile file("t.csv", text);
  CHECK(file.list()->memory_bytes() <= 50000 * 3 + 1000);
  const auto listing = file.list(with({{"files", "file"}, {"class", "label"}}));
  CHECK(listing->memory_bytes() <= 50000 * (3 + 4 + 9 + 3.5) + 1000);  // a name has nine bytes at most
  FieldId id = 0;
  REQUIRE(listing->find_field("file", &id) != nullptr);
  for (const uint64_t sample : {0, 15, 16, 17, 49999}) {
    const Locator locator = listing->locate(sample, id);
    CHECK_THAT(std::string(locator.folder), Catch::EndsWith("/images/"));
    CHECK(locator.path == std::to_string(sample) + ".jpg");
  }
}

TEST_CASE("rows may name files of more folders than two bytes can tell apart") {
  const TempFolder folder;
  std::string text = "file\n";
  for (int i = 0; i < 70'000; ++i) text += "f" + std::to_string(i) + "/x.jpg\n";
  text += "f3/x.jpg\nplain.jpg\nlast/\n";
  const OneFile file("t.csv", text);
  const auto listing = file.list(with({{"files", "file"}}));
  FieldId id = 0;
  REQUIRE(listing->find_field("file", &id) != nullptr);
  const auto named = [&](uint64_t sample) {
    const Locator locator = listing->locate(sample, id);
    const std::string whole = std::string(locator.folder).append(locator.path);
    return whole.substr(listing->locate(70'001, id).folder.size());
  };
  for (const uint64_t sample : {0, 65'535, 65'536, 69'999})
    CHECK(named(sample) == "f" + std::to_string(sample) + "/x.jpg");
  CHECK(named(70'000) == "f3/x.jpg");
  CHECK(named(70'001) == "plain.jpg");
  CHECK(named(70'002) == "last/");
  CHECK_FALSE(listing->lacks(70'002, id));
}

}  // namespace spdld::manifest_test
