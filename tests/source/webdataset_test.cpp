#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::webdataset_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

std::vector<std::string> names_of(const Listing& listing) {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < listing.size(); ++i) names.push_back(listing.name(i));
  return names;
}

std::vector<std::string> field_names(const Listing& listing) {
  std::vector<std::string> names;
  for (const Field& field : listing.fields()) names.push_back(field.name);
  return names;
}

// A field's bytes, by its locator; "-" where the sample lacks it.
std::string content(const Listing& listing, uint64_t sample, const std::string& field) {
  FieldId id = 0;
  REQUIRE(listing.find_field(field, &id) != nullptr);
  const Locator locator = listing.locate(sample, id);
  if (locator.path.empty()) return "-";
  std::ifstream file(std::string(locator.folder) + locator.path.data(), std::ios::binary);
  std::string bytes(static_cast<size_t>(locator.length), '\0');
  file.seekg(static_cast<std::streamoff>(locator.offset));
  file.read(bytes.data(), locator.length);
  REQUIRE(file.gcount() == locator.length);
  return bytes;
}

// A data set of one archive with these bytes.
struct OneArchive {
  explicit OneArchive(const std::string& bytes) { temp.file("a.tar", bytes); }
  std::unique_ptr<Listing> list() const { return open("webdataset", temp / "a.tar"); }
  std::string refused() const { return refusal("webdataset", temp / "a.tar").message; }
  TempFolder temp;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("neighbouring members with one key are a sample") {
  TarWriter tar;
  tar.folder("x/").file("x/001.jpg", "pixels 1").file("x/001.cls", "7").file("x/002.JPG", "pixels 2");
  tar.file("x/002.seg.png", "mask 2").file("x/003.cls", std::string(513, '3')).end();
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(names_of(*listing) == Names{"a.tar:x/001", "a.tar:x/002", "a.tar:x/003"});
  CHECK(field_names(*listing) == Names{"cls", "jpg", "seg.png", "path"});
  CHECK(listing->find_field("path", nullptr)->kind == FieldKind::kText);
  CHECK(listing->find_field("jpg", nullptr)->kind == FieldKind::kFetched);
  CHECK(content(*listing, 0, "jpg") == "pixels 1");
  CHECK(content(*listing, 0, "cls") == "7");
  CHECK(content(*listing, 0, "seg.png") == "-");
  CHECK(content(*listing, 1, "jpg") == "pixels 2");
  CHECK(content(*listing, 1, "seg.png") == "mask 2");
  CHECK(content(*listing, 1, "cls") == "-");
  CHECK(content(*listing, 2, "cls") == std::string(513, '3'));
  CHECK(listing->remark_count() == 0);
  CHECK(listing->classes().empty());
}

TEST_CASE("members that stand apart are samples of their own, with one remark") {
  TarWriter tar;
  tar.file("1.jpg", "a").file("2.jpg", "b").file("1.cls", "c").file("2.cls", "d").end();
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(names_of(*listing) == Names{"a.tar:1", "a.tar:2", "a.tar:1", "a.tar:2"});
  CHECK(content(*listing, 2, "jpg") == "-");
  REQUIRE(listing->remark_count() == 1);
  CHECK_THAT(listing->remarks()[0], Contains("2 samples") && Contains("first \"1\"") && Contains("--sort=name"));
}

TEST_CASE("long names and sizes: USTAR prefix, GNU, PAX, base 256") {
  const std::string deep(120, 'd');
  TarWriter tar;
  tar.raw(TarWriter::header("1.jpg", 3, '0', "ustar", deep)).raw(TarWriter::padded("one"));
  tar.gnu_long_file(deep + "/2.jpg", "two");
  tar.raw(TarWriter::header("././@LongLink", 5, 'K', "gnu")).raw(TarWriter::padded("link")).file("2b.jpg", "2b");
  tar.pax_file(TarWriter::pax_record("mtime", "1.5") + TarWriter::pax_record("path", deep + "/3.jpg"), "short",
               "three");
  tar.raw(TarWriter::with_binary_size(TarWriter::header("4.jpg", 0, '0', "gnu"), 4)).raw(TarWriter::padded("four"));
  const std::string size = TarWriter::pax_record("size", "4");
  tar.raw(TarWriter::header("PaxHeaders/5", size.size(), 'x')).raw(TarWriter::padded(size));
  tar.raw(TarWriter::header("5.jpg", 0)).raw(TarWriter::padded("five"));
  tar.raw(TarWriter::header("g", 17, 'g')).raw(TarWriter::padded("17 comment=hello\n"));
  tar.raw(TarWriter::header("6.jpg", 3, '\0', "")).raw(TarWriter::padded("six")).end();
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(names_of(*listing) == Names{"a.tar:" + deep + "/1", "a.tar:" + deep + "/2", "a.tar:2b", "a.tar:" + deep + "/3",
                                    "a.tar:4", "a.tar:5", "a.tar:6"});
  const Names contents = {"one", "two", "2b", "three", "four", "five", "six"};
  for (uint64_t i = 0; i < contents.size(); ++i) CHECK(content(*listing, i, "jpg") == contents[i]);
  CHECK(listing->remark_count() == 0);
}

TEST_CASE("headers of old programs: checksums of signed bytes, and other things where USTAR has a prefix") {
  TarWriter tar;
  std::string old = TarWriter::header("caf\xc3\xa9.jpg", 3);
  const auto sum = std::stoul(old.substr(148, 6), nullptr, 8) - 2 * 256;  // two bytes count as negative
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06lo", sum);
  tar.raw(old.replace(148, 6, digits)).raw(TarWriter::padded("old"));
  std::string gnu = TarWriter::header("2.jpg", 3, '0', "gnu");
  tar.raw(TarWriter::with_checksum(gnu.replace(345, 11, "14371234567"))).raw(TarWriter::padded("gnu")).end();
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(names_of(*listing) == Names{"a.tar:caf\xc3\xa9", "a.tar:2"});
  CHECK(content(*listing, 0, "jpg") == "old");
  CHECK(content(*listing, 1, "jpg") == "gnu");
  CHECK(listing->remark_count() == 0);
}

TEST_CASE("what is no regular file, or has no key, is passed over") {
  TarWriter tar;
  tar.raw(TarWriter::header("link.jpg", 0, '2')).raw(TarWriter::header("hard.jpg", 99, '1'));
  tar.raw(TarWriter::header("device.jpg", 0, '3')).raw(TarWriter::header("old-folder/", 0, '0', ""));
  tar.raw(TarWriter::header("V", 512, 'V')).raw(std::string(512, 'v'));
  tar.file("__meta__", "{}").file("__info__/a.json", "{}");
  tar.file("README", "no dot").file(".hidden.jpg", "no key").file("dir.d/plain", "no dot").file("end.", "no extension");
  tar.file("1.path", "hides").file("1.jpg", "a").file("1.jpg", "twice");
  tar.pax_file(TarWriter::pax_record("GNU.sparse.major", "1"), "2.jpg", "sparse");
  std::string sparse = TarWriter::header("3.jpg", 3, 'S', "gnu");
  sparse[482] = 1;
  tar.raw(TarWriter::with_checksum(sparse)).raw(std::string(512, '\0')).raw(TarWriter::padded("abc"));
  tar.pax_file(TarWriter::pax_record("path", std::string(5000, 'n') + ".jpg"), "4.jpg", "long")
      .file("5.jpg", "b")
      .end();
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(names_of(*listing) == Names{"a.tar:1", "a.tar:5"});
  CHECK(content(*listing, 0, "jpg") == "a");
  CHECK(content(*listing, 1, "jpg") == "b");
  CHECK(listing->remark_count() == 11);  // a hidden file is no loss
  CHECK_THAT(listing->remarks()[1], Contains("a.tar") && Contains("README"));
}

TEST_CASE("an archive cut anywhere gives the samples before the cut and a remark") {
  TarWriter tar;
  for (int i = 0; i < 6; ++i) {
    tar.file(std::to_string(i) + ".jpg", std::string(700, static_cast<char>('a' + i)))
        .file(std::to_string(i) + ".cls", "1");
  }
  const std::string whole = tar.end().bytes();
  constexpr uint64_t kSample = 512 + 1024 + 512 + 512;
  for (uint64_t size = 600; size < 6 * kSample; size += 97) {
    const OneArchive archive(whole.substr(0, size));
    const uint64_t complete =
        (size + 511) / kSample;  // samples with all their bytes; the last one's padding may be missing
    INFO("cut at " << size);
    if (size < 512 + 700) {
      CHECK_THAT(archive.refused(), Contains("hold no sample") && Contains("cut"));
      continue;
    }
    try {
      const auto listing = archive.list();
      REQUIRE(listing->remark_count() == 1);
      const std::string remark = listing->remarks()[0];
      const bool after_a_member = remark.find("no end mark") != std::string::npos;
      if (!after_a_member) CHECK_THAT(remark, Contains("a.tar: it is cut at byte"));
      CHECK(listing->size() + 1 >=
            complete);  // where a header is cut, the sample before may lack a member: it is left out
      CHECK(listing->size() <= complete + (after_a_member ? 1 : 0));
      for (uint64_t i = 0; i < listing->size(); ++i) {
        CHECK(content(*listing, i, "jpg") == std::string(700, static_cast<char>('a' + i)));
        if (i < complete) CHECK(content(*listing, i, "cls") == "1");
      }
    } catch (const SetupError& error) {
      CHECK(complete < 2);
      CHECK_THAT(error.what(), Contains("hold no sample") && Contains("cut"));
    }
  }
}

TEST_CASE("a missing end mark is worth a remark, an overwritten header ends the archive") {
  TarWriter tar;
  tar.file("1.jpg", "a").file("2.jpg", "b").file("3.jpg", "c");
  const OneArchive open_ended(tar.bytes());
  CHECK(open_ended.list()->size() == 3);
  CHECK_THAT(open_ended.list()->remarks()[0], Contains("no end mark"));

  std::string damaged = tar.bytes();
  damaged[2048 + 10] = '!';
  const OneArchive archive(damaged);
  CHECK(names_of(*archive.list()) == Names{"a.tar:1"});  // 2 might have had more members
  CHECK_THAT(archive.list()->remarks()[0], Contains("checksum") && Contains("byte 2048"));
}

TEST_CASE("impossible numbers in headers are damage, not overflow") {
  TarWriter first;
  first.file("1.jpg", "a").file("2.jpg", "b");
  const auto remark_after = [&](const std::string& bytes) {
    const OneArchive archive(first.bytes() + bytes);
    const auto listing = archive.list();
    CHECK(listing->size() <= 2);
    REQUIRE(listing->remark_count() == 1);
    return listing->remarks()[0];
  };
  const std::string header = TarWriter::header("3.jpg", 0);
  for (const uint64_t size : {~uint64_t{0} >> 1, (~uint64_t{0} >> 1) - 600, uint64_t{1} << 40}) {
    CHECK_THAT(remark_after(TarWriter::with_binary_size(header, size)), Contains("cut"));
  }
  CHECK_THAT(remark_after(TarWriter::with_binary_size(header, ~uint64_t{0})), Contains("size is no number"));
  std::string negative = header;
  negative.replace(124, 12, std::string(12, '\xff'));
  CHECK_THAT(remark_after(TarWriter::with_checksum(negative)), Contains("size is no number"));
  std::string letters = header;
  letters.replace(124, 4, "12x4");
  CHECK_THAT(remark_after(TarWriter::with_checksum(letters)), Contains("size is no number"));
  CHECK_THAT(remark_after(TarWriter::header("L", 2 << 20, 'L', "gnu")),
             Contains("extended header of") || Contains("extended header has"));
  for (const char* records : {"9 path=a\n", "99 path=a\n", "path=a\n", "0 path=a\n", "9 path=ab", " ",
                              "999999999999999999999 a=b\n", "22 size=1234567890123456\n", "9 size=x\n", "3 =\n"}) {
    INFO(records);
    const std::string text = records;
    TarWriter tar;
    tar.pax_file(text, "3.jpg", "c").end();
    const OneArchive archive(first.bytes() + tar.bytes());
    CHECK(archive.list()->size() >= 1);
  }
  CHECK_THAT(remark_after(TarWriter::header("x", 8, 'x') + TarWriter::padded("99 a=b\n\n")), Contains("PAX"));
}

TEST_CASE("what is no tar is refused with a sentence") {
  CHECK_THAT(OneArchive("").refused(), Contains("empty"));
  CHECK_THAT(OneArchive("hello\n").refused(), Contains("not a tar"));
  CHECK_THAT(OneArchive(std::string(3000, 'x')).refused(), Contains("not a tar"));
  CHECK_THAT(OneArchive("\x1f\x8b" + std::string(3000, 'x')).refused(), Contains("gzip"));
  CHECK_THAT(OneArchive(std::string(10240, '\0')).refused(), Contains("no sample"));
  const TempFolder temp;
  const Error missing = refusal("webdataset", temp / "none.tar");
  CHECK(missing.trouble == Trouble::kNotFound);
  CHECK_THAT(missing.message, Contains("none.tar does not exist"));
  CHECK_THAT(refusal("webdataset", temp.path().string()).message, Contains("no file named *.tar"));
  temp.folder("folder.tar");
  CHECK_THAT(refusal("webdataset", temp.path().string()).message, Contains("folder.tar is not a file"));
}

TEST_CASE("fields are the union over the archives, whichever is read first") {
  const TempFolder temp;
  TarWriter().file("1.txt", "t1").file("1.jpg", "j1").end().save(temp.path() / "a.tar");
  TarWriter().file("2.cls", "c2").file("2.jpg", "j2").file("2.txt", "t2").end().save(temp.path() / "b.tar");
  TarWriter().end().save(temp.path() / "c.tar");
  TarWriter().file("3.jpg", "j3").end().save(temp.path() / "d.tar");
  for (int i = 0; i < 20; ++i) {
    const auto listing = open("webdataset", temp.path().string());
    REQUIRE(field_names(*listing) == Names{"cls", "jpg", "txt", "path"});
    CHECK(names_of(*listing) == Names{"a.tar:1", "b.tar:2", "d.tar:3"});
    CHECK(content(*listing, 0, "txt") == "t1");
    CHECK(content(*listing, 0, "cls") == "-");
    CHECK(content(*listing, 1, "txt") == "t2");
    CHECK(content(*listing, 1, "cls") == "c2");
    CHECK(content(*listing, 2, "jpg") == "j3");
    CHECK(listing->remark_count() == 1);  // c.tar holds none
  }
}

TEST_CASE("at most 64 extensions, in one archive or in all") {
  const auto many = [](int from, int to) {
    TarWriter tar;
    for (int i = from; i < to; ++i) tar.file("img.e" + std::to_string(i), "x");
    return tar.end();
  };
  CHECK(OneArchive(many(0, 64).bytes()).list()->fields().size() == 65);
  const OneArchive over(many(0, 65).bytes());
  CHECK(refusal("webdataset", over.temp / "a.tar").trouble == Trouble::kLimit);
  CHECK_THAT(over.refused(), Contains("64") && Contains("e0, e1") && Contains("first dot"));
  const TempFolder temp;
  many(0, 40).save(temp.path() / "a.tar");
  many(30, 70).save(temp.path() / "b.tar");
  CHECK_THAT(refusal("webdataset", temp.path().string()).message, Contains("more than 64 extensions"));
}

TEST_CASE("the fingerprint tells names, keys, extensions, places and sizes, not the folder") {
  const TempFolder one, two;
  const auto write = [](const TempFolder& temp, const std::string& name, const std::string& key,
                        const std::string& text) {
    TarWriter().file(key + ".jpg", text).file(key + ".cls", "1").end().save(temp.path() / name);
  };
  const auto fingerprint = [](const TempFolder& temp) {
    return open("webdataset", temp.path().string())->fingerprint();
  };
  write(one, "a.tar", "1", "same size");
  write(two, "a.tar", "1", "same_size");
  const std::string before = fingerprint(one);
  CHECK(before == "e3c0dd0072f7f4b2261b106587ff93c5");
  CHECK(fingerprint(two) == before);
  write(two, "a.tar", "1", "other size");
  CHECK(fingerprint(two) != before);
  write(two, "a.tar", "2", "same size");
  CHECK(fingerprint(two) != before);
  std::filesystem::remove(two.path() / "a.tar");
  write(two, "b.tar", "1", "same size");
  CHECK(fingerprint(two) != before);
}

TEST_CASE("many small members, and large ones between them, are all found") {
  TarWriter tar;
  Names expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string key = std::to_string(i);
    tar.file(key + ".jpg", std::string(i % 100 == 0 ? 600000 : static_cast<size_t>(i % 1300), 'p'))
        .file(key + ".cls", key);
    expected.push_back("a.tar:" + key);
  }
  const OneArchive archive(tar.end().bytes());
  uint64_t done = 0, total = 0;
  const auto listing = open("webdataset", archive.temp / "a.tar", {},
                            [&](std::string_view, uint64_t d, uint64_t t) { done = d, total = t; });
  CHECK(names_of(*listing) == expected);
  for (uint64_t i = 0; i < 3000; i += 7) CHECK(content(*listing, i, "cls") == std::to_string(i));
  CHECK(done == tar.bytes().size());
  CHECK(total == tar.bytes().size());
  CHECK(listing->memory_bytes() / listing->size() < 60);

  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(open("webdataset", archive.temp / "a.tar", {}, {}, stop.get_token()), SetupError);
}

}  // namespace spdld::webdataset_test
