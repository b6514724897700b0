#include "daemon/source/lists/sample_list.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::sample_list_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Ids = std::vector<uint64_t>;

// Two classes of three pictures, and lists over them.
struct Pictures {
  Pictures() {
    for (const char* name :
         {"data/a/0.jpg", "data/a/1.jpg", "data/a/b/2.jpg", "data/c/0.jpg", "data/c/1.jpg", "data/c/2.jpg"}) {
      temp.file(name);
    }
    listing = open("image-folder", temp / "data");
  }
  Ids read(const std::string& text) {
    temp.file("list", text);
    Ids ids = read_sample_list(temp / "list", "order.include", *listing, stamps, {});
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  Error refused(const std::string& text) {
    try {
      read(text);
    } catch (const SetupError& error) {
      return error.error();
    }
    return {Trouble::kInternal, "it was not refused"};
  }

  TempFolder temp;
  std::unique_ptr<Listing> listing;
  Stamps stamps;
};

}  // namespace

TEST_CASE("a list may stand in the pipeline itself, and has no state of a file") {
  Pictures pictures;
  Ids ids = read_sample_list("\na/b/2.jpg\n5\n", "order.include", *pictures.listing, pictures.stamps, {});
  std::sort(ids.begin(), ids.end());
  CHECK(ids == Ids{2, 5});
  CHECK_THROWS_WITH(read_sample_list("\n6", "order.include", *pictures.listing, pictures.stamps, {}),
                    Catch::StartsWith("order.include"));
}

TEST_CASE("a list names samples as the listing does, or by their ids") {
  Pictures pictures;
  REQUIRE(pictures.listing->size() == 6);
  CHECK(pictures.read("a/b/2.jpg\nc/0.jpg\n") == Ids{2, 3});
  CHECK(pictures.read("5\r\n\r\n0\r\na/1.jpg") == Ids{0, 1, 5});
  CHECK(pictures.read("000003\n") == Ids{3});
  CHECK(pictures.read("\xef\xbb\xbf"
                      "a/b/2.jpg\nc/0.jpg\n") == Ids{2, 3});  // behind a byte order mark
  CHECK(pictures.read("").empty());
  CHECK(pictures.read("\n\n\n").empty());
}

TEST_CASE("what is not listed is refused, the first with its line, and how many there are") {
  Pictures pictures;
  const Error one = pictures.refused("a/0.jpg\n\nc/7.jpg\n");
  CHECK(one.trouble == Trouble::kUsage);
  CHECK(one.message ==
        "order.include: " + pictures.temp / "list" +
            ", line 3: no sample has the name or id that stands there; a line is a sample's name, such as "
            "\"a/0.jpg\", or its id, at most 5.");
  CHECK_THAT(
      pictures.refused("6\nx\n18446744073709551616\n/a/0.jpg\n").message,
      Contains("line 1: no sample has the name or id that stands there, and the same holds for 3 more of its lines"));
  CHECK_THAT(pictures.refused("a/0.jpg \n").message,
             Contains("line 1: no sample has the name or id that stands there"));
}

TEST_CASE("a list's content does not come back in the message") {
  Pictures pictures;
  for (const char* secret : {"root:x:0:0:", "secret secret", "12345678901"}) {
    const std::string message = pictures.refused(std::string(secret) + "\n").message;
    CHECK_THAT(message, Contains("line 1: no sample has the name or id that stands there") && !Contains(secret));
  }
}

TEST_CASE("of a webdataset too, and a name that two samples have means both") {
  TempFolder temp;
  TarWriter first, second;
  first.file("x.jpg", "1").file("y.jpg", "2").file("x.jpg", "3").end();
  second.file("x.jpg", "4").end();
  temp.file("tars/a.tar", first.bytes());
  temp.file("tars/b.tar", second.bytes());
  temp.file("list", "a.tar:x\n");
  const auto listing = open("webdataset", temp / "tars");
  Stamps stamps;
  CHECK(read_sample_list(temp / "list", "order.exclude", *listing, stamps, {}) == Ids{0, 2});
  CHECK(stamps.unchanged());
  temp.file("list", "b.tar:x\n2\n");
  CHECK_FALSE(stamps.unchanged());
}

TEST_CASE("a list that can't be read says why") {
  Pictures pictures;
  const auto refused = [&](const std::string& path) {
    try {
      read_sample_list(path, "order.exclude", *pictures.listing, pictures.stamps, {});
    } catch (const SetupError& error) {
      return error.error();
    }
    return Error{Trouble::kInternal, "it was not refused"};
  };
  CHECK(refused(pictures.temp / "none").trouble == Trouble::kNotFound);
  CHECK_THAT(refused(pictures.temp / "none").message, Contains("order.exclude: ") && Contains("No such file"));
  CHECK_THAT(refused(pictures.temp / "data").message, Contains("is not a file"));
  pictures.temp.file("large");
  std::filesystem::resize_file(pictures.temp / "large", kSampleListBytesMax + 1);
  CHECK(refused(pictures.temp / "large").trouble == Trouble::kLimit);
}

TEST_CASE("an early end is taken note of") {
  Pictures pictures;
  pictures.temp.file("list", "a/0.jpg\n");
  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(
      read_sample_list(pictures.temp / "list", "order.include", *pictures.listing, pictures.stamps, stop.get_token()),
      SetupError);
}

TEST_CASE("archives begin where a tar or a class does, also where one is empty") {
  const Pictures pictures;
  const auto classes = pictures.listing->archive_starts();
  CHECK(Ids(classes.begin(), classes.end()) == Ids{0, 3});
  TempFolder temp;
  TarWriter two, none, one;
  two.file("x.jpg", "1").file("y.jpg", "2").end();
  none.end();
  one.file("z.jpg", "3").end();
  temp.file("a.tar", two.bytes());
  temp.file("b.tar", none.bytes());
  temp.file("c.tar", one.bytes());
  const auto listing = open("webdataset", temp.path().string());
  const auto archives = listing->archive_starts();
  CHECK(Ids(archives.begin(), archives.end()) == Ids{0, 2, 2});
}

TEST_CASE("an exported listing is a list of its samples, also of names that a line can't hold") {
  TempFolder temp;
  const std::vector<std::string> names = {"back\\slash.jpg", "latin-\xE9.jpg", "line\nend.jpg",
                                          "plain.jpg",       "tab\there.jpg",  "utf-\xC3\xA9.jpg"};
  for (const std::string& name : names) temp.file("data/c/" + name);
  const auto listing = open("image-folder", temp / "data");
  REQUIRE(listing->size() == names.size());
  std::string text = std::string(kExportedHead) + "\n# samples 6\n";
  for (uint64_t sample = 0; sample < listing->size(); ++sample) append_exported(text, *listing, sample);
  CHECK_THAT(text, Contains("0\tc/back\\\\slash.jpg\n1\tc/latin-\\xe9.jpg\n2\tc/line\\x0aend.jpg\n3\tc/plain.jpg\n") &&
                       Contains("4\tc/tab\\x09here.jpg\n5\tc/utf-\xC3\xA9.jpg\n"));
  Stamps stamps;
  const auto read = [&](const std::string& content) {
    temp.file("list", content);
    Ids ids = read_sample_list(temp / "list", "order.include", *listing, stamps, {});
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  CHECK(read(text) == Ids{0, 1, 2, 3, 4, 5});
  const std::string head(kExportedHead);
  CHECK(read(head + "\n700\tc/plain.jpg\n") == Ids{3});  // the name counts
  CHECK_THROWS_WITH(read(head + "\n#\n3\tc/gone.jpg\n"), Contains("line 3") && !Contains("gone"));
}

}  // namespace spdld::sample_list_test
