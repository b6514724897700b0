// Text files whose lines are rows.
#include <catch2/catch.hpp>

#include "tests/source/tables/table_files.h"
#include "tests/support/makers/pack.h"

namespace spdld::lines_test {
namespace {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

using Texts = std::vector<std::string>;

Texts all_of(const Listing& listing) {
  Texts texts;
  for (uint64_t row = 0; row < listing.size(); ++row) texts.push_back(contents(listing, row, {"text"}).front());
  return texts;
}

}  // namespace

TEST_CASE("a line is a row without its end, local and in a store") {
  TableFolder folder;
  folder.file("a.txt", "\xEF\xBB\xBFone\r\n\ntwo \xC3\xA9\nthree\rfour\n\r\nlast\r");
  const Texts expected = {"one", "", "two \xC3\xA9", "three\rfour", "", "last\r"};
  const auto local = folder.local("lines", "a.txt"), remote = folder.remote("lines", "a.txt");
  CHECK(all_of(*local) == expected);
  CHECK(all_of(*remote) == expected);
  CHECK(local->fingerprint() == remote->fingerprint());
  CHECK(local->name(2) == "a.txt:2");
  CHECK(local->streaming() == nullptr);
  CHECK(local->missing_count() == 0);
  REQUIRE(local->fields().size() == 2);
  CHECK(local->fields()[0].name == "text");
}

TEST_CASE("files follow one another, and a folder stands for its text files") {
  TableFolder folder;
  folder.file("d/b.txt", "3\n4");
  folder.file("d/a.txt", "1\n2\n");
  folder.file("d/c.txt.zst", zstd("5\n6\n"));
  folder.file("d/notes.md", "no\n");
  folder.file("d/empty.txt", "");
  CHECK(all_of(*folder.local("lines", "d")) == Texts{"1", "2", "3", "4", "5", "6"});
  CHECK(all_of(*folder.local("lines", "d/{b,a}.txt")) == Texts{"3", "4", "1", "2"});
  CHECK(all_of(*folder.remote("lines", "d")) == Texts{"1", "2", "3", "4", "5", "6"});
}

TEST_CASE("a compressed text of several frames or members is one text") {
  TableFolder folder;
  folder.file("a.txt.zst", zstd("one\ntw") + zstd("o\nthree\n"));
  folder.file("a.txt.gz", gzip("one\ntw") + gzip("o\nthree\n"));
  folder.file("a.txt", "one\ntwo\nthree\n");
  for (const char* name : {"a.txt.zst", "a.txt.gz", "a.txt"}) {
    INFO(name);
    const auto listing = folder.local("lines", name);
    CHECK(all_of(*listing) == Texts{"one", "two", "three"});
    CHECK((listing->streaming() != nullptr) == (std::string(name) != "a.txt"));
  }
}

TEST_CASE("a text that unpacks to much is never held whole") {
  TableFolder folder;
  constexpr uint64_t kRows = 400'000;
  std::string text;
  for (uint64_t row = 0; row < kRows; ++row)
    text += std::to_string(row * 2654435761 % 1000003) + " of line " + std::to_string(row) + "\n";
  folder.file("a.txt.zst", zstd(text));
  const auto listing = folder.local("lines", "a.txt.zst");
  REQUIRE(listing->size() == kRows);
  CHECK(listing->memory_bytes() < 4 * kRows);  // where its rows lie
  CHECK(contents(*listing, kRows - 1, {"text"}).front().ends_with(" of line " + std::to_string(kRows - 1)));
}

TEST_CASE("a line that has no end in sight loses the rest of its file, and says so") {
  TableFolder folder;
  folder.file("a.txt", "first\n" + std::string((128 << 20) + 10, 'x') + "\nlast\n");
  const auto listing = folder.local("lines", "a.txt");
  CHECK(all_of(*listing) == Texts{"first"});
  REQUIRE(listing->missing_count() == 1);
  CHECK_THAT(listing->missing()[0], Contains("a.txt: the line at byte 6 has more than 134217728 bytes"));
}

TEST_CASE("texts without a line are refused") {
  TableFolder folder;
  folder.file("empty.txt", "");
  CHECK_THAT(folder.refusal("lines", "empty.txt").message, Contains("empty.txt has no row"));
}

TEST_CASE("the index of a text is kept until its file changes") {
  TableFolder folder;
  folder.file("a.txt", "one\ntwo\n");
  KeptUse use;
  const auto first = folder.remote("lines", "a.txt", {}, &use);
  const auto second = folder.remote("lines", "a.txt", {}, &use);
  CHECK(use.taken > 0);
  CHECK(second->fingerprint() == first->fingerprint());
  CHECK(all_of(*second) == Texts{"one", "two"});
  folder.file("a.txt", "one\nother\n");
  CHECK_FALSE(second->unchanged());
  const auto third = folder.remote("lines", "a.txt", {}, &use);
  CHECK(all_of(*third) == Texts{"one", "other"});
  CHECK(third->fingerprint() != first->fingerprint());
}

}  // namespace spdld::lines_test
