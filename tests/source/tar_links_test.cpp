// Links in tar archives, archives that stand one behind the other, and what is passed over in an archive.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/source/archives/tar.h"
#include "daemon/source/fetching/fetch_router.h"
#include "daemon/source/listing.h"
#include "daemon/source/opening/opening.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/store/streams/fake_store.h"
#include "tests/support/makers/pack.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::tar_links_test {
namespace {

using Catch::Contains;
using namespace source;
using test::TarWriter;

using Contents = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<Listing> open_at(const std::string& uri, const Places& places = {},
                                 const std::filesystem::path& kept = {}, KeptUse* use = nullptr,
                                 config::Access access = config::Access::kAuto) {
  config::SourceSpec spec;
  spec.type = "webdataset";
  spec.uris = {uri};
  spec.on_missing = config::OnMissing::kWarn;
  spec.access = access;
  return open_listing(spec, {}, {}, kept, use, places);
}

// Each member of each sample, as "key.extension", with the bytes that are fetched.
Contents contents_of(const Listing& listing) {
  LocalFetcher local(1);
  FetchRouter router(local);
  Contents all;
  for (uint64_t sample = 0; sample < listing.size(); ++sample) {
    const std::string name = listing.name(sample), key = name.substr(name.find(':') + 1);
    for (const Field& field : listing.fields()) {
      FieldId id = 0;
      listing.find_field(field.name, &id);
      if (field.kind != FieldKind::kFetched || listing.lacks(sample, id)) continue;
      auto request = test::request_for(listing, sample, test::wanted(listing, {field.name}));
      test::fetch_now(router, request);
      all.emplace_back(key + '.' + field.name, request.ok ? test::text(request.bytes[0]) : request.error.message);
    }
  }
  return all;
}

struct OneArchive {
  explicit OneArchive(const std::string& bytes, const std::string& name = "a.tar") : uri(temp / name) {
    temp.file(name, bytes);
  }
  std::unique_ptr<Listing> list() const { return open_at(uri); }
  Contents contents() const { return contents_of(*list()); }
  test::TempFolder temp;
  std::string uri;
};

std::string all_remarks(const Listing& listing) {
  std::string all;
  for (const std::string& remark : listing.remarks()) all += remark + '\n';
  return all;
}

// Files and links of all kinds, and what each name gives.
TarWriter linked_archive(Contents& wanted) {
  const std::string deep(120, 'd');
  TarWriter tar;
  tar.folder("./").file("./1.jpg", "one").file("./1.cls", "1");
  tar.hard_link("./2.jpg", "./1.jpg").symbolic_link("./2.cls", "1.cls");
  tar.hard_link("3.jpg", "2.jpg").symbolic_link("3.cls", "./2.cls");                     // links to links
  tar.file(".blobs/sha256-77", "blob").symbolic_link("x/4.jpg", "../.blobs/sha256-77");  // to what is no sample's
  tar.symbolic_link("x/5.jpg", "later.jpg").file("x/later.jpg", "later");                // before its file
  tar.symbolic_link("now", "x").symbolic_link("6.jpg", "now/../now//./later.jpg");  // through a folder that is a link
  tar.symbolic_link("y/7.jpg", "/1.jpg/../../x/../abs/7");                          // see below
  tar.raw(TarWriter::header("././@LongLink", deep.size() + 9, 'K', "gnu"))
      .raw(TarWriter::padded(deep + "/long.jpg" + '\0'))
      .raw(TarWriter::link_header("8.jpg", deep.substr(0, 90), '1', 0, "gnu"));
  const std::string path = TarWriter::pax_record("linkpath", deep + "/long.jpg");
  tar.raw(TarWriter::header("PaxHeaders/9", path.size(), 'x'))
      .raw(TarWriter::padded(path))
      .symbolic_link("9.jpg", "short");
  tar.raw(TarWriter::header("long.jpg", 4, '0', "ustar", deep)).raw(TarWriter::padded("long"));
  tar.file("/abs/7", "abs").file("z/.keep", "").symbolic_link("z/10.jpg", "..//1.jpg").end();
  wanted = {{"./1.cls", "1"},
            {"./1.jpg", "one"},
            {"./2.cls", "1"},
            {"./2.jpg", "one"},
            {"3.cls", "1"},
            {"3.jpg", "one"},
            {"x/4.jpg", "blob"},
            {"x/5.jpg", "later"},
            {"x/later.jpg", "later"},
            {"6.jpg", "later"},
            {"y/7.jpg", "abs"},
            {"9.jpg", "long"},
            {deep + "/long.jpg", "long"},
            {"z/10.jpg", "one"}};
  return tar;
}

}  // namespace

TEST_CASE("links within an archive give their files' bytes") {
  Contents wanted;
  const TarWriter tar = linked_archive(wanted);
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(contents_of(*listing) == wanted);
  // A hard link can't name what comes after it.
  CHECK(listing->missing_count() == 1);
  CHECK_THAT(all_remarks(*listing), Contains("a.tar: the member 8.jpg is a link to ddd") &&
                                        Contains("which the archive does not hold, and was passed over"));
  CHECK_THAT(all_remarks(*listing), Contains("/abs/7 has no key") && Contains("the member now has no key"));
}

TEST_CASE("links of compressed and remote archives, and of kept indexes, give the same") {
  Contents wanted;
  const std::string tar = linked_archive(wanted).bytes();
  const OneArchive plain(tar);
  const std::string fingerprint = plain.list()->fingerprint(), remarks = all_remarks(*plain.list());
  for (const std::string ending : {"a.tar.gz", "a.tar.zst"}) {
    INFO(ending);
    const OneArchive packed(ending == "a.tar.gz" ? test::gzip(tar) : test::zstd(tar), ending);
    CHECK(packed.contents() == wanted);
    CHECK(packed.list()->said().all().count == plain.list()->said().all().count);
  }
  class Stores final : public store::Stores {
   public:
    explicit Stores(const std::string& bytes)
        : store_(std::make_shared<test::FakeStore>(
              std::map<std::string, std::string>{{"a.tar", bytes}, {"b.tar.gz", test::gzip(bytes)}})) {}
    Found find(const std::string& uri) const override { return {store_, uri.substr(uri.rfind('/') + 1)}; }

   private:
    std::shared_ptr<test::FakeStore> store_;
  };
  const Places places{{}, std::make_shared<Stores>(tar)};
  for (const auto access : {config::Access::kRanges, config::Access::kStream}) {
    const auto listing = open_at("https://host/a.tar", places, {}, nullptr, access);
    CHECK(contents_of(*listing) == wanted);
    CHECK(listing->fingerprint() == fingerprint);
  }
  CHECK(contents_of(*open_at("https://host/b.tar.gz", places)) == wanted);

  const test::TempFolder kept;
  std::filesystem::last_write_time(plain.uri, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  for (const bool is_taken : {false, true}) {
    KeptUse use;
    const auto listing = open_at(plain.uri, {}, kept.path(), &use);
    CHECK((use.taken == 1) == is_taken);
    CHECK(contents_of(*listing) == wanted);
    CHECK(listing->fingerprint() == fingerprint);
    CHECK(all_remarks(*listing) == remarks);
  }
}

TEST_CASE("of files of one name a hard link gives the last before it, and a symbolic one the last of all") {
  TarWriter tar;
  tar.symbolic_link("0.jpg", "1.jpg").hard_link("a.jpg", "1.jpg").file("1.jpg", "first");
  tar.hard_link("2.jpg", "1.jpg").file("1.jpg", "second").file("3.cls", "x").file("1.jpg", "third");
  tar.hard_link("4.jpg", "1.jpg").symbolic_link("1.jpg", "5.jpg").file("5.jpg", "fifth").hard_link("6.jpg", "1.jpg");
  tar.file("1.jpg", "last").symbolic_link("7.jpg", "6.jpg").end();
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(contents_of(*listing) == Contents{{"0.jpg", "last"},
                                          {"1.jpg", "first"},
                                          {"2.jpg", "first"},
                                          {"1.jpg", "second"},
                                          {"3.cls", "x"},
                                          {"1.jpg", "third"},
                                          {"4.jpg", "third"},
                                          {"1.jpg", "fifth"},
                                          {"5.jpg", "fifth"},
                                          {"6.jpg", "fifth"},
                                          {"1.jpg", "last"},
                                          {"7.jpg", "fifth"}});
  CHECK(listing->missing_count() == 1);  // a.jpg
}

TEST_CASE("a hard link of a symbolic link is one in its own folder, as on a disk") {
  TarWriter tar;
  tar.file("1.jpg", "outer").file("a/1.jpg", "inner").symbolic_link("2.jpg", "1.jpg").hard_link("a/3.jpg", "2.jpg");
  tar.hard_link("4.jpg", "a/3.jpg").symbolic_link("b", "a").hard_link("c", "b").symbolic_link("5.jpg", "c/1.jpg");
  tar.symbolic_link("6.jpg", "1.jpg").file("6.jpg", "file").hard_link("a/7.jpg", "6.jpg").end();
  CHECK(OneArchive(tar.bytes()).contents() == Contents{{"1.jpg", "outer"},
                                                       {"a/1.jpg", "inner"},
                                                       {"2.jpg", "outer"},
                                                       {"a/3.jpg", "inner"},
                                                       {"4.jpg", "outer"},
                                                       {"5.jpg", "inner"},
                                                       {"6.jpg", "outer"},
                                                       {"a/7.jpg", "file"}});
}

TEST_CASE("links that lead nowhere are counted and named, and leave no sample and no field behind") {
  TarWriter tar;
  tar.file("1.jpg", "one").symbolic_link("1.none", "2.none");
  tar.symbolic_link("a/1.jpg", "2.jpg").symbolic_link("a/2.jpg", "3.jpg").symbolic_link("a/3.jpg", "./1.jpg");
  tar.symbolic_link("self.jpg", "self.jpg").hard_link("hard.jpg", "hard.jpg");
  tar.symbolic_link("out.jpg", "../x.jpg").symbolic_link("etc.jpg", "/etc/passwd").symbolic_link("empty.jpg", "");
  tar.folder("f/").symbolic_link("v1.0", "f").symbolic_link("f.up", "f/..");
  tar.raw(TarWriter::header("pipe", 0, '6')).hard_link("pipe.jpg", "pipe");
  std::string sparse = TarWriter::header("hole", 3, 'S', "gnu");
  tar.raw(sparse).raw(TarWriter::padded("abc")).symbolic_link("hole.jpg", "hole");
  tar.symbolic_link("round", "round").symbolic_link("round.jpg", "round/1.jpg");
  tar.file("2.jpg", "two").end();
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(contents_of(*listing) == Contents{{"1.jpg", "one"}, {"2.jpg", "two"}});
  CHECK(listing->fields().size() == 2);  // jpg and path
  const std::string said = all_remarks(*listing);
  for (const char* lost :
       {"1.none is a link to 2.none, which the archive does not hold", "a/1.jpg is a link to 2.jpg, which leads round",
        "a/2.jpg is a link to 3.jpg, which leads round", "a/3.jpg is a link to ./1.jpg, which leads round",
        "self.jpg is a link to self.jpg, which leads round",
        "hard.jpg is a link to hard.jpg, which the archive does not",
        "out.jpg is a link to ../x.jpg, which lies outside", "etc.jpg is a link to /etc/passwd, which lies outside",
        "pipe.jpg is a link to pipe, which is a device or a FIFO", "hole.jpg is a link to hole, which is a sparse file",
        "round.jpg is a link to round/1.jpg, which leads round"})
    CHECK_THAT(said, Contains(lost));
  CHECK(listing->missing_count() == 11);
  // A link to a folder is no loss.
  for (const char* folder : {"v1.0 is a link to f, which is a folder", "f.up is a link to f/.., which is a folder",
                             "empty.jpg is a link to , which is a folder"})
    CHECK_THAT(said, Contains(folder));
  CHECK_THAT(test::not_whole("webdataset", archive.uri), Contains("1.none is a link to 2.none"));
}

TEST_CASE("a sample that loses a member to a cut has no link from before it either") {
  TarWriter tar;
  tar.file("1.jpg", "one").symbolic_link("2.jpg", "1.jpg").file("2.cls", std::string(600, 'c'));
  const OneArchive archive(tar.bytes().substr(0, tar.bytes().size() - 700));
  CHECK(archive.contents() == Contents{{"1.jpg", "one"}});
  TarWriter behind;
  behind.file("1.jpg", "one").symbolic_link("2.jpg", "3.jpg").file("3.jpg", std::string(600, 'c'));
  const OneArchive without_target(behind.bytes().substr(0, behind.bytes().size() - 700));
  CHECK(without_target.contents() == Contents{{"1.jpg", "one"}});
  CHECK(without_target.list()->missing_count() == 2);
}

TEST_CASE("a hard link has the bytes that stand behind it, where they do, as POSIX has it") {
  TarWriter tar;
  tar.file("1.jpg", "one").raw(TarWriter::link_header("2.jpg", "1.jpg", '1', 3));           // the size alone
  tar.raw(TarWriter::link_header("3.jpg", "1.jpg", '1', 3)).raw(TarWriter::padded("own"));  // and the bytes
  tar.raw(TarWriter::link_header("4.jpg", "1.jpg", '1', 3)).end();
  const OneArchive archive(tar.bytes());
  CHECK(archive.contents() == Contents{{"1.jpg", "one"}, {"2.jpg", "one"}, {"3.jpg", "own"}, {"4.jpg", "one"}});
  CHECK(archive.list()->remark_count() == 0);
}

TEST_CASE("types that no format knows are files, and known ones are what they mean") {
  TarWriter tar;
  tar.raw(TarWriter::header("1.jpg", 3, 'Q')).raw(TarWriter::padded("one"));
  tar.raw(TarWriter::header("2.jpg", 3, '\x1b', "")).raw(TarWriter::padded("two"));
  tar.raw(TarWriter::header("3.jpg", 5, '7')).raw(TarWriter::padded("three"));
  tar.raw(TarWriter::header("label", 0, 'V', "gnu"));
  tar.raw(TarWriter::header("folder.d/", 700, 'D', "gnu")).raw(TarWriter::padded(std::string(700, 'Y')));
  tar.raw(TarWriter::header("rights", 600, 'A')).raw(TarWriter::padded(std::string(600, '0')));
  tar.raw(TarWriter::header("4.jpg", 3, 'M', "gnu")).raw(TarWriter::padded("end"));
  tar.raw(TarWriter::header("@Names", 20, 'N', "gnu")).raw(TarWriter::padded("Rename 5.jpg to 6.jpg"));
  for (const char type : {'3', '4', '6'}) tar.raw(TarWriter::header(std::string("dev") + type + ".jpg", 99, type));
  tar.pax_file(TarWriter::pax_record("GNU.sparse.major", "1") + TarWriter::pax_record("GNU.sparse.name", "hole.jpg") +
                   TarWriter::pax_record("path", "GNUSparseFile.7/hole.jpg"),
               "GNUSparseFile.7/hole.jpg", "4\n0\n1\n");
  tar.pax_file(TarWriter::pax_record("path", std::string(5000, 'n') + ".jpg"), "long.jpg", "long")
      .file("5.jpg", "five")
      .end();
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(contents_of(*listing) == Contents{{"1.jpg", "one"}, {"2.jpg", "two"}, {"3.jpg", "three"}, {"5.jpg", "five"}});
  const std::string said = all_remarks(*listing);
  for (const char* told :
       {"1.jpg is of the unknown type \"Q\", and is read as a file", "2.jpg is of the unknown type \"",
        "4.jpg is the rest of a file that begins in another volume and was passed over", "a list of long names",
        "dev3.jpg is a device or a FIFO", "dev4.jpg is a device", "dev6.jpg is a device", "hole.jpg is a sparse file",
        "has a name of 5004 bytes and was passed over"})
    CHECK_THAT(said, Contains(told));
  CHECK(said.find('\x1b') == std::string::npos);
  CHECK(listing->remark_count() == 9);
  CHECK(listing->missing_count() == 4);
}

TEST_CASE("what a global header says holds for all members behind it that say nothing else") {
  const auto global = [](TarWriter& tar, const std::string& records) {
    tar.raw(TarWriter::header("g", records.size(), 'g')).raw(TarWriter::padded(records));
  };
  TarWriter tar;
  tar.file("1.jpg", "one");
  global(tar, TarWriter::pax_record("comment", "hello") + TarWriter::pax_record("linkpath", "1.jpg"));
  tar.symbolic_link("2.jpg", "other.jpg");
  const std::string own = TarWriter::pax_record("linkpath", "3.jpg"), none = TarWriter::pax_record("linkpath", "");
  tar.file("3.jpg", "three");
  tar.raw(TarWriter::header("x", own.size(), 'x')).raw(TarWriter::padded(own)).symbolic_link("4.jpg", "other.jpg");
  tar.raw(TarWriter::header("x", none.size(), 'x')).raw(TarWriter::padded(none)).symbolic_link("5.jpg", "3.jpg");
  tar.end().file("6.jpg", "six").symbolic_link("7.jpg", "6.jpg").end();  // another archive
  const OneArchive archive(tar.bytes());
  CHECK(archive.contents() == Contents{{"1.jpg", "one"},
                                       {"2.jpg", "one"},
                                       {"3.jpg", "three"},
                                       {"4.jpg", "three"},
                                       {"5.jpg", "three"},
                                       {"6.jpg", "six"},
                                       {"7.jpg", "six"}});
}

TEST_CASE("what is said of a volume's label is not said of the member behind it") {
  const std::string path = TarWriter::pax_record("path", "label.jpg");
  TarWriter tar;
  tar.raw(TarWriter::header("x", path.size(), 'x')).raw(TarWriter::padded(path));
  tar.raw(TarWriter::header("V", 0, 'V', "gnu")).file("1.jpg", "one").end();
  CHECK(OneArchive(tar.bytes()).contents() == Contents{{"1.jpg", "one"}});
}

TEST_CASE("archives that stand one behind the other are all read, each with its own samples and links") {
  const auto one = [](const std::string& text) {
    TarWriter tar;
    tar.file("1.cls", text).symbolic_link("2.jpg", "1.jpg").file("1.jpg", text + "!").hard_link("1.png", "1.jpg").end();
    return tar.bytes() + std::string(9 * 512, '\0');
  };
  const OneArchive archive(one("a") + one("b") + one("c"));
  const auto listing = archive.list();
  Contents wanted;
  for (const std::string text : {"a", "b", "c"})
    for (const auto& [name, content] :
         Contents{{"1.cls", text}, {"2.jpg", text + "!"}, {"1.jpg", text + "!"}, {"1.png", text + "!"}})
      wanted.emplace_back(name, content);
  CHECK(contents_of(*listing) == wanted);
  CHECK_THAT(all_remarks(*listing), Contains("a.tar: it is 3 archives, one behind the other: all are read."));
  CHECK(listing->missing_count() == 0);
  CHECK(OneArchive(test::gzip(one("a") + one("b") + one("c")), "a.tar.gz").contents() == wanted);
  CHECK(OneArchive(test::gzip(one("a")) + test::gzip(one("b") + one("c")), "a.tgz").contents() == wanted);

  // The last sample of one archive and the first of the next have one key, and are two samples.
  TarWriter twice;
  twice.file("1.jpg", "a").end().file("1.jpg", "b").file("1.cls", "c").end();
  CHECK(OneArchive(twice.bytes()).contents() == Contents{{"1.jpg", "a"}, {"1.cls", "c"}, {"1.jpg", "b"}});
}

TEST_CASE("a lone block of zeros ends nothing") {
  TarWriter tar;
  tar.file("1.jpg", "one").raw(std::string(512, '\0')).file("1.cls", "1").hard_link("2.jpg", "1.jpg");
  tar.raw(std::string(512, '\0')).file("3.jpg", "three").end();
  const OneArchive archive(tar.bytes());
  const auto listing = archive.list();
  CHECK(contents_of(*listing) == Contents{{"1.cls", "1"}, {"1.jpg", "one"}, {"2.jpg", "one"}, {"3.jpg", "three"}});
  CHECK_THAT(all_remarks(*listing),
             Contains("a lone block of zeros stands at byte 1024 (and 1 more): what follows is read"));
  CHECK(listing->remark_count() == 1);
  TarWriter last;
  CHECK(OneArchive(last.file("1.jpg", "one").raw(std::string(512, '\0')).bytes()).list()->remark_count() == 0);
  CHECK(OneArchive(last.raw(std::string(100, '\0')).bytes()).list()->remark_count() == 0);
}

TEST_CASE("what stands behind an end mark and is no archive is said") {
  TarWriter tar;
  const std::string whole = tar.file("1.jpg", "one").end().bytes();
  const auto said = [](const std::string& bytes, const std::string& name = "a.tar") {
    const OneArchive archive(bytes, name);
    CHECK(archive.contents() == Contents{{"1.jpg", "one"}});
    const auto listing = archive.list();
    return all_remarks(*listing) + "missing: " + std::to_string(listing->missing_count());
  };
  CHECK(said(whole) == "missing: 0");
  CHECK(said(whole + std::string(20'000, '\0')) == "missing: 0");
  for (const std::string& other : {std::string("signed by me"), std::string(512, 's'), std::string(5000, 's'),
                                   std::string(511, '\0') + "s", std::string(600, '\0') + "s"}) {
    const size_t at = 2048 + (other.size() > 600 && other[0] == '\0' ? 512 : 0);
    CHECK_THAT(said(whole + other), Contains("behind its end mark, at byte " + std::to_string(at) +
                                             ", stands something that is no tar archive, and was passed over") &&
                                        Contains("missing: 0"));
    CHECK_THAT(said(test::gzip(whole + other), "a.tar.gz"), Contains("no tar archive") && Contains("missing: 0"));
  }
  TarWriter next;
  const std::string second = next.file("2.jpg", "two").end().bytes();
  std::string damaged = second;
  damaged[20] ^= 1;
  for (const std::string& lost : {damaged, std::string(7, '\0') + second, std::string(511, '\n') + second}) {
    CHECK_THAT(said(whole + lost),
               Contains("at byte 2048, stands what looks like another tar archive") && Contains("missing: 1"));
    CHECK_THAT(said(test::zstd(whole + lost), "a.tar.zst"),
               Contains("what looks like another tar archive") && Contains("missing: 1"));
  }
}

TEST_CASE("zeros without an end are not looked at for ever") {
  for (const uint64_t zeros : {TarReader::kZerosMax - 2 * 512, TarReader::kZerosMax + 512}) {
    TarWriter tar;
    const OneArchive archive(tar.file("1.jpg", "one").end().bytes());
    std::filesystem::resize_file(archive.uri, 2048 + zeros);  // a hole
    TarWriter behind;
    std::ofstream(archive.uri, std::ios::binary | std::ios::app) << behind.file("2.jpg", "two").end().bytes();
    const bool is_read = zeros < TarReader::kZerosMax;
    CHECK(archive.list()->size() == (is_read ? 2 : 1));
    CHECK_THAT(all_remarks(*archive.list()), Contains(is_read ? "it is 2 archives" : "what follows was not looked at"));
  }
}

TEST_CASE("archives of links alone are followed in one go") {
  constexpr int kLinks = 20'000;
  const auto name = [](int i) { return std::to_string(i) + ".jpg"; };
  TarWriter to_one, chain, circle, folders;
  to_one.file(name(0), "one");
  chain.file(name(0), "one");
  folders.file("f0/0.jpg", "one");
  for (int i = 1; i < kLinks; ++i) {
    i % 2 == 0 ? to_one.hard_link(name(i), name(0)) : to_one.symbolic_link(name(i), name(0));
    i % 2 == 0 ? chain.hard_link(name(i), name(i - 1)) : chain.symbolic_link(name(i), name(i - 1));
    circle.symbolic_link(name(i), name(i % (kLinks - 1) + 1));
    folders.symbolic_link("f" + std::to_string(i), "f" + std::to_string(i - 1));
  }
  circle.file(name(0), "one").end();
  folders.symbolic_link("1.jpg", "f16/0.jpg").symbolic_link("2.jpg", "f17/0.jpg").end();
  for (const TarWriter* tar : {&to_one.end(), &chain.end()}) {
    const OneArchive archive(tar->bytes());
    const auto listing = archive.list();
    REQUIRE(listing->size() == kLinks);
    FieldId jpg = 0;
    REQUIRE(listing->find_field("jpg", &jpg) != nullptr);
    for (uint64_t i = 0; i < listing->size(); ++i) REQUIRE(listing->locate(i, jpg).offset == 512);
    CHECK(listing->remark_count() == 0);
  }
  const OneArchive round(circle.bytes());
  CHECK(round.list()->size() == 1);
  CHECK(round.list()->missing_count() == kLinks - 1);
  const OneArchive through(folders.bytes());
  CHECK(through.contents() == Contents{{"f0/0.jpg", "one"}, {"1.jpg", "one"}});
  const auto lost = through.list()->said().missing().first;
  REQUIRE(lost.size() == 1);
  CHECK_THAT(lost[0], Contains("2.jpg is a link to f17/0.jpg, which leads round in a circle of links, or through too"));
}

}  // namespace spdld::tar_links_test
