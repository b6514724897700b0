// Listings that outlive the daemon: they are what a fresh listing is, whatever happens to the folders or the kept file.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <random>
#include <vector>

#include "daemon/source/archives/kept_archives.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/folders/kept_folders.h"
#include "daemon/source/kept/kept_file.h"
#include "daemon/source/kept/kept_records.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::kept_listing_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// As if it had been changed long ago, each time at another moment: then it need not be read again.
void settle(const fs::path& path) {
  static int64_t seconds = 1'000'000'000;
  const struct timespec times[2] = {{0, UTIME_OMIT}, {++seconds, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

void settle_all(const fs::path& root) {
  settle(root);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_symlink() && entry.is_directory()) settle(entry.path());
  }
}

struct Opened {
  std::unique_ptr<Listing> listing;
  KeptUse use;
};

Opened open_kept(const std::string& type, const fs::path& uri, const fs::path& kept, const Progress& progress = {}) {
  config::SourceSpec spec;
  spec.type = type;
  spec.uris = {uri.string()};
  spec.on_missing = config::OnMissing::kWarn;
  Opened opened;
  opened.listing = open_listing(spec, progress, {}, kept, &opened.use);
  return opened;
}

struct Told {
  std::vector<std::string> names;
  std::vector<std::string> remarks, missing, classes;
  uint64_t remark_count, missing_count;
  std::string fingerprint;
  std::vector<uint64_t> extents;
  friend bool operator==(const Told&, const Told&) = default;
};

Told told(const Listing& listing) {
  Told all{{}, {}, {}, {}, listing.remark_count(), listing.missing_count(), listing.fingerprint(), {}};
  for (uint64_t i = 0; i < listing.size(); ++i) {
    all.names.push_back(listing.name(i));
    for (size_t field = 0; field < listing.fields().size(); ++field) {
      const Locator locator = listing.locate(i, static_cast<FieldId>(field));
      all.names.push_back(std::string(locator.folder) + std::string(locator.path));
      all.extents.push_back(locator.offset);
      all.extents.push_back(static_cast<uint64_t>(locator.length));
    }
  }
  all.remarks.assign(listing.remarks().begin(), listing.remarks().end());
  all.missing.assign(listing.missing().begin(), listing.missing().end());
  all.classes.assign(listing.classes().begin(), listing.classes().end());
  return all;
}

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_all(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

fs::path only_file(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  return files.front();
}

// Some bytes changed, taken out, put in or cut off.
std::string mutated(std::string bytes, std::mt19937& random) {
  const auto place = [&] { return bytes.empty() ? 0 : random() % bytes.size(); };
  for (uint32_t changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
    const uint32_t kind = random() % 5;
    if (kind == 0) bytes.resize(place());
    if (kind == 1) bytes.erase(place(), 1 + random() % 9);
    if (kind == 2) bytes.insert(place(), 1 + random() % 9, static_cast<char>(random()));
    if (kind >= 3) bytes[place()] = static_cast<char>(kind == 3 ? random() : 0xff);
  }
  return bytes;
}

struct Tree {
  Tree() {
    for (const char* name : {"a/1.jpg", "a/2.jpg", "a/x/3.jpg", "a/x-y/4.jpg", "b/5.jpg", "b/readme.txt"})
      temp.file(name);
    temp.folder("empty");
    settle_all(temp.path());
  }
  Opened opened() const { return open_kept("image-folder", temp.path(), kept.path() / "listings"); }
  Told fresh() const { return told(*open("image-folder", temp.path().string())); }
  fs::path file() const { return only_file(kept.path() / "listings"); }

  TempFolder temp, kept;
};

}  // namespace

TEST_CASE("after a restart only folders that have changed are read again") {
  const Tree tree;
  const Opened first = tree.opened();
  CHECK(first.use.read == 5);
  CHECK(first.use.taken == 0);
  CHECK(first.use.trouble.empty());

  const Opened second = tree.opened();
  CHECK(second.use.read == 0);
  CHECK(second.use.taken == 5);
  CHECK(told(*second.listing) == tree.fresh());

  tree.temp.file("a/x/new.jpg");
  settle(tree.temp.path() / "a/x");
  const Opened third = tree.opened();
  CHECK(third.use.read == 1);
  CHECK(third.use.taken == 4);
  CHECK(third.listing->size() == 6);
  CHECK(told(*third.listing) == tree.fresh());
  CHECK(tree.opened().use.read == 0);
}

TEST_CASE("progress is told of as many pictures as the last listing had") {
  const Tree tree;
  std::string what;
  uint64_t done = 0, total = 99;
  const auto listed = [&] {
    open_kept(
        "image-folder", tree.temp.path(), tree.kept.path() / "listings",
        [&](std::string_view counted, uint64_t found, uint64_t all) { what = counted, done = found, total = all; });
  };
  listed();
  CHECK(what == "pictures");
  CHECK(done == 5);
  CHECK(total == 0);  // nobody knows
  tree.temp.file("a/x/new.jpg");
  settle(tree.temp.path() / "a/x");
  listed();
  CHECK(done == 6);
  CHECK(total == 5);
  listed();
  CHECK(done == 6);
  CHECK(total == 6);
}

TEST_CASE("a folder that has just been changed is read again next time") {
  const Tree tree;
  tree.opened();
  tree.temp.file("b/6.jpg");  // b is not settled: it may change again within its time's step
  for (int i = 0; i < 3; ++i) {
    const Opened opened = tree.opened();
    CHECK(opened.use.read == 1);
    CHECK(opened.use.taken == 4);
  }
  settle(tree.temp.path() / "b");
  CHECK(tree.opened().use.read == 1);
  CHECK(tree.opened().use.read == 0);

  constexpr int64_t kNow = 1'700'000'000'000'000'000, kSecond = 1'000'000'000;
  CHECK(is_settled({1, 1, kNow - 3 * kSecond, kNow - 3 * kSecond}, kNow));
  CHECK_FALSE(is_settled({1, 1, kNow - kSecond, kNow - kSecond}, kNow));
  CHECK_FALSE(is_settled({1, 1, kNow + kSecond, kNow + kSecond}, kNow));  // a server's clock
  CHECK(is_settled({1, 1, kNow - 3 * kSecond, kNow + 1}, kNow));          // a change would set both
  // A clock of whole seconds does not tell a further change whose time of modification is set back.
  CHECK_FALSE(is_settled({1, 1, kNow - 3 * kSecond, kNow - kSecond}, kNow));
  CHECK(is_settled({1, 1, kNow - kSecond, kNow - 3 * kSecond}, kNow));
}

TEST_CASE("what a link leads to may change while its folder does not") {
  const Tree tree;
  const TempFolder elsewhere;
  elsewhere.file("here/7.jpg");
  tree.temp.link(elsewhere / "now", "a/link.jpg");
  tree.temp.link(elsewhere / "now", "class");
  settle_all(tree.temp.path());
  tree.opened();
  CHECK(told(*tree.opened().listing) == tree.fresh());  // "now" is nothing: a/link.jpg is a picture that is gone
  fs::rename(elsewhere.path() / "here", elsewhere.path() / "now");
  const Opened opened = tree.opened();
  CHECK(told(*opened.listing) == tree.fresh());
  CHECK(opened.listing->classes().size() == 4);
  CHECK(opened.listing->name(2) == "a/link.jpg/7.jpg");
}

TEST_CASE("whatever happens to the folders, a kept listing is what a fresh one is") {
  std::mt19937 random(815);
  uint64_t taken = 0, read = 0;
  for (int round = 0; round < 12; ++round) {
    const TempFolder temp, kept;
    const std::vector<std::string> names = {"a", "b", "a-b", "1.jpg", "2.JPG", "3.jpeg", "x.txt", "\xc3\xa4.jpg"};
    const auto any_folder = [&] {
      std::vector<fs::path> folders;
      for (const auto& entry : fs::recursive_directory_iterator(temp.path())) {
        if (!entry.is_symlink() && entry.is_directory()) folders.push_back(entry.path());
      }
      std::sort(folders.begin(), folders.end());
      return folders[random() % folders.size()];
    };
    temp.file("stays/0.jpg");
    for (int i = 0; i < 40; ++i) {
      const fs::path folder = any_folder(), one = folder / names[random() % names.size()],
                     other = any_folder() / names[random() % names.size()];
      std::error_code may_fail;  // such as a folder renamed into itself
      const uint32_t what = random() % 6;
      if (what < 2 && !fs::exists(one, may_fail)) std::ofstream(one) << "x";
      if (what == 2) fs::create_directories(one / names[random() % names.size()], may_fail);
      if (what == 3) fs::rename(one, other, may_fail);
      if (what == 4) fs::remove_all(one, may_fail);
      if (what == 5) fs::create_symlink(other, one, may_fail);
      for (const auto& entry : fs::recursive_directory_iterator(temp.path())) {
        const bool changed_now = fs::is_directory(entry.symlink_status()) &&
                                 entry.last_write_time() > fs::file_time_type::clock::now() - std::chrono::hours(1);
        if (changed_now && random() % 4 != 0) settle(entry.path());
      }
      const Opened opened = open_kept("image-folder", temp.path(), kept.path());
      REQUIRE(told(*opened.listing) == told(*open("image-folder", temp.path().string())));
      taken += opened.use.taken, read += opened.use.read;
    }
  }
  CHECK(taken > read);
  CHECK(read > 100);
}

TEST_CASE("the index of an archive that is as it was is kept") {
  const TempFolder temp, kept;
  TarWriter().file("1.jpg", "pixels").file("1.cls", "5").file("2.jpg", "more").end().save(temp.path() / "a.tar");
  TarWriter().file("3.jpg", std::string(3000, 'a')).file("nokey", "x").save(temp.path() / "b.tar");  // without its end
  settle(temp.path() / "a.tar");
  settle(temp.path() / "b.tar");
  const auto opened = [&] { return open_kept("webdataset", temp.path(), kept.path()); };
  const auto fresh = [&] { return told(*open("webdataset", temp.path().string())); };
  CHECK(opened().use.read == 2);
  const Opened second = opened();
  CHECK(second.use.taken == 2);
  CHECK(second.use.read == 0);
  CHECK(second.listing->remark_count() == 2);
  CHECK(second.listing->missing_count() == 1);  // the end of b; its member without a key is none of anybody's
  CHECK(told(*second.listing) == fresh());

  TarWriter().file("4.png", "new").file("4.jpg", "pixels").end().save(temp.path() / "a.tar");
  const Opened third = opened();  // not settled
  CHECK(third.use.taken == 1);
  CHECK(third.use.read == 1);
  CHECK(told(*third.listing) == fresh());
  settle(temp.path() / "a.tar");
  CHECK(opened().use.read == 1);
  CHECK(opened().use.read == 0);
  CHECK(told(*opened().listing) == fresh());
  fs::remove(temp.path() / "b.tar");
  const Opened last = opened();
  CHECK(last.use.taken == 1);
  CHECK(told(*last.listing) == fresh());
}

TEST_CASE("a damaged kept file is as good as none") {
  const Tree tree;
  tree.opened();
  const std::string good = read_all(tree.file());
  const Told fresh = tree.fresh();
  std::mt19937 random(99);
  for (int i = 0; i < 120; ++i) {
    const std::string bytes = mutated(good, random);
    if (bytes == good) continue;
    write_all(tree.file(), bytes);
    const Opened opened = tree.opened();
    REQUIRE(opened.use.taken == 0);
    REQUIRE(told(*opened.listing) == fresh);
    REQUIRE(read_all(tree.file()) == good);  // written anew
  }
}

TEST_CASE("a pipe in the place of a kept file is not waited for, and is replaced") {
  const TempFolder temp;
  temp.file("data/a/1.jpg");
  settle_all(temp / "data");
  open_kept("image-folder", temp / "data", temp / "kept");
  const fs::path kept = *fs::directory_iterator(temp / "kept");
  fs::remove(kept);
  REQUIRE(::mkfifo(kept.c_str(), 0600) == 0);
  const Opened opened = open_kept("image-folder", temp / "data", temp / "kept");
  CHECK(opened.use.trouble == "");
  CHECK(opened.use.read == 1);
  CHECK(fs::is_regular_file(kept));
}

TEST_CASE("a kept file of another version or key is as good as none") {
  const Tree tree;
  tree.opened();
  const std::string good = read_all(tree.file());
  const auto with_checksum = [&](size_t place, char byte) {
    std::string bytes = good.substr(0, good.size() - 32);
    bytes[place] = byte;
    Fingerprint fingerprint;
    fingerprint.add(bytes);
    return bytes + fingerprint.digits();
  };
  for (const size_t place : {size_t{0}, size_t{8}, size_t{12}, size_t{20}}) {  // magic, version, key's length, key
    write_all(tree.file(), with_checksum(place, 'z'));
    CHECK(tree.opened().use.taken == 0);
  }
  write_all(tree.file(), with_checksum(0, good[0]));
  CHECK(tree.opened().use.taken == 5);  // the checksum was made as it should be
}

TEST_CASE("records of any bytes are read without harm") {
  std::mt19937 random(7);
  std::string folders;
  FolderNames names;
  for (int i = 0; i < 20; ++i) names.pictures.append("picture" + std::to_string(i) + ".jpg") += '\0';
  names.folders = std::string("a\0b\0", 4);
  for (int i = 0; i < 5; ++i) KeptFolders::append(folders, "c" + std::to_string(i), {1, 2, 3, 4}, names);
  CHECK(KeptFolders(folders).size() == 5);
  ArchiveIndex index;
  index.extensions = {"jpg", "cls"};
  for (uint64_t i = 0; i < 10; ++i) {
    index.key_starts.push_back(index.keys.size());
    index.first_members.push_back(index.members.size());
    index.keys.append("key" + std::to_string(i)) += '\0';
    index.members.push_back({512 + i * 4096, 1000, 0});
    index.members.push_back({2560 + i * 4096, 3, 1});
  }
  index.remarks.add("a remark");
  index.remarks.add_missing("a fault");
  const std::string archive = KeptRecords::record_of("a.tar", {1, 50'000, 3, 4}, kept_bytes_of(index));
  const auto index_of = [](std::string_view record) {
    const auto [state, bytes] = KeptRecords::parts_of(record);
    return archive_index_in(bytes, state.size);
  };
  REQUIRE(index_of(archive).has_value());
  uint64_t used = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = mutated(folders, random), record = mutated(archive, random);
    const KeptFolders kept(bytes);
    const KeptFolder* found = kept.find("c1");
    if (found != nullptr) for_each_name(found->pictures, [](std::string_view name) { REQUIRE_FALSE(name.empty()); });
    KeptRecords archives(record);
    const auto read = index_of(record);
    if (!read) continue;
    ++used;
    REQUIRE(read->first_members.size() == read->key_starts.size());
    for (const Member& member : read->members) REQUIRE(member.extension < read->extensions.size());
    for (const uint64_t first : read->first_members) REQUIRE(first < read->members.size());
    REQUIRE(read->remarks.missing().count <= read->remarks.all().count);
  }
  CHECK(used > 0);
}

TEST_CASE("as many listings are kept as are used, up to a bound") {
  const TempFolder temp, kept;
  const auto opened = [&](size_t i) {
    return open_kept("image-folder", temp.path() / ("source" + std::to_string(i)), kept.path());
  };
  for (size_t i = 0; i < kKeptFilesMax; ++i) {
    temp.file("source" + std::to_string(i) + "/c/1.jpg");
    settle_all(temp.path() / ("source" + std::to_string(i)));
    opened(i);
    for (const auto& entry : fs::directory_iterator(kept.path())) {  // all are old, the first one the oldest
      if (i == 0) settle(entry.path());
    }
  }
  const auto now = fs::file_time_type::clock::now();
  temp.file("last/c/1.jpg");
  settle_all(temp.path() / "last");
  CHECK(opened(0).use.taken == 1);  // used again: now another is the oldest
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kept.path())) files.push_back(entry.path());
  CHECK(files.size() == kKeptFilesMax);
  write_all(kept.path() / "left.listing-new", "by a daemon that died");
  fs::last_write_time(kept.path() / "left.listing-new", now - std::chrono::hours(2));
  write_all(kept.path() / "other.txt", "not ours");
  open_kept("image-folder", temp.path() / "last", kept.path());
  const auto count = std::distance(fs::directory_iterator(kept.path()), fs::directory_iterator());
  CHECK(count == static_cast<ptrdiff_t>(kKeptFilesMax) + 1);  // and what is not ours
  CHECK(opened(0).use.taken == 1);
  CHECK_FALSE(fs::exists(kept.path() / "left.listing-new"));
}

TEST_CASE("trouble with the folder of kept listings is told, and is no reason not to list") {
  const Tree tree;
  tree.kept.file("file");
  const Opened opened = open_kept("image-folder", tree.temp.path(), tree.kept.path() / "file");
  CHECK(told(*opened.listing) == tree.fresh());
  CHECK_THAT(opened.use.trouble, Contains("can't be kept in " + (tree.kept / "file")));
  const Opened unkept = open_kept("image-folder", tree.temp.path(), {});
  CHECK(unkept.use.read == 5);
  CHECK(unkept.use.trouble.empty());
}

TEST_CASE("a kept listing takes about the bytes of its names") {
  const Tree tree;
  size_t bytes = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "n01440764_" + std::to_string(10000 + i) + ".JPEG";
    tree.temp.file("many/" + name, "");
    bytes += name.size() + 1;
  }
  settle_all(tree.temp.path());
  tree.opened();
  CHECK(fs::file_size(tree.file()) < bytes + 1000);
}

}  // namespace spdld::kept_listing_test
