#include "daemon/source/folders/remote_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <random>

#include "daemon/source/fetching/fetch_router.h"
#include "daemon/source/files/file_view.h"
#include "daemon/source/files/remote_archives.h"
#include "proto/unique_fd.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"
#include "tests/support/memory_store.h"

namespace spdld::remote_folder_test {
namespace {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

struct Bucket {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  Places places{nullptr, std::make_shared<OneStore>(store)};

  std::unique_ptr<Listing> open(const std::string& type, const std::vector<std::string>& uris,
                                const std::filesystem::path& kept = {}, KeptUse* use = nullptr) const {
    config::SourceSpec spec;
    spec.type = type;
    spec.uris = uris;
    spec.on_missing = config::OnMissing::kWarn;
    spec.samples_listing = !kept.empty();
    return open_listing(spec, {}, {}, kept, use, places);
  }
  Error refusal(const std::string& type, const std::vector<std::string>& uris) const {
    try {
      open(type, uris);
    } catch (const SetupError& error) {
      CHECK(std::string(error.what()).ends_with("."));
      return error.error();
    }
    return {};
  }
  // All files of a folder as objects below a prefix.
  void put_folder(const std::filesystem::path& folder, const std::string& prefix) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream stream(entry.path(), std::ios::binary);
      store->put(prefix + entry.path().lexically_relative(folder).string(),
                 std::string(std::istreambuf_iterator<char>(stream), {}));
    }
  }
};

// A store whose pages have no end: they come again in a ring, or have no names.
struct EndlessStore final : store::Store {
  explicit EndlessStore(uint64_t ring) : ring_pages(ring) {}
  void read(store::Read& read) override { refuse(read); }
  void stat(store::Stat& stat) override { refuse(stat); }
  void list(store::List& list) override {
    ++pages;
    const uint64_t number = list.cursor.empty() ? 0 : std::stoull(list.cursor);
    list.entries.clear();
    list.folders.clear();
    if (ring_pages > 0) list.entries.push_back({list.prefix + std::to_string(number) + ".tar", {1, 1}});
    list.cursor = std::to_string(ring_pages > 0 ? 1 + number % ring_pages : number + 1);
    list.status = Done{};
    list.observer->on_done(list);
  }
  void cancel(store::Request&) override {}
  unsigned concurrency() const override { return 8; }
  std::string uri_of(std::string_view object) const override { return "s3://endless/" + std::string(object); }

  const uint64_t ring_pages;  // 0: pages without a name
  uint64_t pages = 0;

 private:
  static void refuse(store::Request& request) {
    request.status = Error{Trouble::kNotFound, "there is no such object."};
    request.observer->on_done(request);
  }
};

void check_same(const Listing& remote, const Listing& local) {
  CHECK(remote.fingerprint() == local.fingerprint());
  CHECK(std::vector<std::string>(remote.classes().begin(), remote.classes().end()) ==
        std::vector<std::string>(local.classes().begin(), local.classes().end()));
  REQUIRE(remote.size() == local.size());
  for (uint64_t i = 0; i < local.size(); ++i) REQUIRE(remote.name(i) == local.name(i));
  REQUIRE(remote.archive_starts().size() == local.archive_starts().size());
  CHECK(std::equal(remote.archive_starts().begin(), remote.archive_starts().end(), local.archive_starts().begin()));
}

void same_objects(const RemotePages& a, const RemotePages& b) {
  CHECK(a.digits() == b.digits());
  REQUIRE(a.pages.size() == b.pages.size());
  for (size_t i = 0; i < a.pages.size(); ++i) {
    CHECK(a.pages[i].prefix == b.pages[i].prefix);
    CHECK(a.pages[i].after == b.pages[i].after);
    CHECK(a.pages[i].is_last == b.pages[i].is_last);
    REQUIRE(a.pages[i].entries.size() == b.pages[i].entries.size());
    for (size_t k = 0; k < a.pages[i].entries.size(); ++k) {
      CHECK(a.pages[i].entries[k].name == b.pages[i].entries[k].name);
      CHECK(a.pages[i].entries[k].identity == b.pages[i].entries[k].identity);
    }
  }
}

}  // namespace

TEST_CASE("a remote image folder is the same data set as a local one with the same files") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::minstd_rand random(seed + 1);
    const auto one_of = [&](const std::vector<std::string>& words) { return words[random() % words.size()]; };
    const TempFolder temp;
    const Bucket bucket;
    bucket.store->set_page(1 + random() % 7);
    for (int i = 0; i < 150; ++i) {
      std::string path = one_of({"a", "a-b", "a b", "a.b", "A", "b", "é", "z", ".hidden", "a0"});
      for (size_t depth = random() % 4; depth > 0; --depth)
        path += "/" + one_of({"c", "c-d", "c.d", "c0", ".git", "C", "c d", "a"});
      path += "/" + one_of({"1", "2", "10", "c", "c-d", "Z", ".x", "é"}) +
              one_of({".jpg", ".JPG", ".jpeg", ".png", "", ".jpg.txt", ".jpg", ".jpg"});
      std::error_code error;
      std::filesystem::create_directories((temp.path() / path).parent_path(), error);
      // A store has empty objects without a picture, which a local listing does not look into.
      if (!error && !std::filesystem::is_directory(temp.path() / path)) temp.file(path, std::to_string(i));
    }
    temp.file("loose.jpg");
    bucket.put_folder(temp.path(), "data/train/");
    bucket.store->put("data/train-2/x/1.jpg", "other");
    bucket.store->put("data/train", "an object");
    const auto local = open("image-folder", temp.path().string());
    for (const char* uri : {"s3://bucket/data/train", "s3://bucket/data/train/"}) {
      const auto remote = bucket.open("image-folder", {uri});
      check_same(*remote, *local);
      CHECK(remote->store_concurrency() > 0);
      CHECK(remote->unchanged());
      FieldId image = 0;
      REQUIRE(remote->find_field("image", &image) != nullptr);
      for (uint64_t i = 0; i < remote->size(); ++i) {
        const Locator place = remote->locate(i, image);
        const std::string object = std::string(place.folder) + std::string(place.path);
        REQUIRE(object == "data/train/" + remote->name(i));
        REQUIRE(place.identity == bucket.store->identity(object));
      }
    }
  }
}

TEST_CASE("pictures of other formats in a remote folder are counted in a remark") {
  const Bucket bucket;
  for (const char* name : {"d/a/1.jpg", "d/a/2.png", "d/b/x/3.gif", "d/b/1.jpg", "d/b/t.txt", "d/b/.4.png", "d/5.png"})
    bucket.store->put(name, "x");
  const auto listing = bucket.open("image-folder", {"s3://bucket/d"});
  CHECK(listing->size() == 2);
  REQUIRE(listing->remark_count() == 1);
  CHECK_THAT(listing->remarks()[0], Contains("2 pictures of other formats, such as a/2.png, are left out"));
}

TEST_CASE("odd objects are no pictures and no classes of a remote folder") {
  const Bucket bucket;
  for (const char* name : {"t/a/1.jpg", "t/a//2.jpg", "t//3.jpg", "t/.h/4.jpg", "t/a/.h/5.jpg", "t/a/", "t/empty/",
                           "t/6.jpg", "t/", "u/a/7.jpg"})
    bucket.store->put(name, "x");
  bucket.store->put("t/a/0.jpg", "");
  const auto listing = bucket.open("image-folder", {"s3://bucket/t"});
  REQUIRE(listing->size() == 2);
  CHECK(listing->name(0) == "a/1.jpg");
  CHECK(listing->name(1) == "a//2.jpg");
  REQUIRE(listing->classes().size() == 2);
  CHECK(listing->classes()[0] == "a");
  CHECK(listing->classes()[1] == "empty");
  CHECK(listing->missing_count() == 3);  // the empty class, the empty object, and the one in a class without a name
}

TEST_CASE("names with steps and with any signs are names in a store, and what has no class is counted") {
  const Bucket bucket;
  const std::vector<std::string> names = {"a/%41.jpg",   "a/..//6.jpg",    "a/../../5.jpg",
                                          "a/../4.jpg",  "a/./3.jpg",      "a//2.jpg",
                                          "a/b c+d.jpg", "a/e\x01\nf.jpg", "a/\xc3\xbc \xe4\xb8\xad.jpg",
                                          "a/x/./y.jpg"};
  for (const std::string& name : names) bucket.store->put("t/" + name, name);
  for (const char* odd : {"t//1.jpg", "t/./1.jpg", "t/../1.jpg", "t/..//a/1.jpg", "t/./no.txt", "t/.git/1.jpg"})
    bucket.store->put(odd, "odd");
  const TempFolder kept;
  for (int i = 0; i < 2; ++i) {
    KeptUse use;
    const auto listing = bucket.open("image-folder", {"s3://bucket/t"}, kept.path(), &use);
    CHECK((use.read == 0) == (i == 1));
    std::vector<std::string> found;
    LocalFetcher local(1);
    FetchRouter router(local);
    for (uint64_t sample = 0; sample < listing->size(); ++sample) {
      auto request = request_for(*listing, sample, wanted(*listing, {"image"}));
      fetch_now(router, request);
      REQUIRE(request.ok);
      CHECK(text(request.bytes[0]) == listing->name(sample));
      found.push_back(listing->name(sample));
    }
    CHECK(std::is_permutation(found.begin(), found.end(), names.begin(), names.end()));
    CHECK(listing->classes().size() == 1);
    REQUIRE(listing->missing_count() == 1);
    CHECK_THAT(listing->said().missing().first[0],
               Contains("4 objects lie in a folder without a name, or named") && Contains("1.jpg"));
    CHECK(listing->unchanged());
  }
}

TEST_CASE("a remote folder without classes or pictures is refused") {
  const Bucket bucket;
  bucket.store->put("t/a/1.txt", "x");
  CHECK(bucket.refusal("image-folder", {"s3://bucket/none"}).trouble == Trouble::kNotFound);
  CHECK_THAT(bucket.refusal("image-folder", {"s3://bucket/none"}).message, Contains("s3://bucket/none/"));
  CHECK(bucket.refusal("image-folder", {"s3://bucket/t"}).trouble == Trouble::kUsage);
  bucket.store->fail(1, {Trouble::kTransient, "it is down."});
  CHECK(bucket.refusal("image-folder", {"s3://bucket/t"}).trouble == Trouble::kTransient);
}

TEST_CASE("a remote folder that changes is another one") {
  const Bucket bucket;
  for (int i = 0; i < 20; ++i) bucket.store->put("t/a/" + std::to_string(i) + ".jpg", "x");
  const auto listing = bucket.open("image-folder", {"s3://bucket/t"});
  CHECK(listing->unchanged());
  bucket.store->put("t/a/3.jpg", "y");
  CHECK_FALSE(listing->unchanged());
  bucket.store->put("t/a/3.jpg", "x");
  CHECK(listing->unchanged());
  bucket.store->erase("t/a/7.jpg");
  CHECK_FALSE(listing->unchanged());
}

TEST_CASE("a sample of a remote folder notices a class that came or went, with a few requests") {
  // Pages of classes, and pages that hold several classes each.
  for (const int classes : {20, 1'100}) {
    const Bucket bucket;
    bucket.store->set_page(classes == 20 ? 2 : 300);
    for (int i = 0; i < classes; ++i)
      for (const char* name : {"/1.jpg", "/2.jpg", "/3.jpg"}) bucket.store->put("t/c" + std::to_string(i) + name, "x");
    bucket.store->put("t/.hidden/1.jpg", "x");
    const RemoteFolder folder(bucket.store, "t/", Endings("jpg"));
    const RemotePages pages = folder.read({}, {});
    const size_t before = bucket.store->count("list");
    CHECK(folder.is_unchanged(pages, {}));
    CHECK(bucket.store->count("list") - before <= 8 + 2 + 16);
    bucket.store->put("t/c1x/1.jpg", "x");
    CHECK_FALSE(folder.is_unchanged(pages, {}));
    bucket.store->erase("t/c1x/1.jpg");
    bucket.store->put("t/c1/none/4.txt", "x");
    for (const char* name : {"/1.jpg", "/2.jpg", "/3.jpg"}) bucket.store->erase("t/c9" + std::string(name));
    CHECK_FALSE(folder.is_unchanged(pages, {}));
  }
}

TEST_CASE("pages of a remote folder come back from their payload, and damaged ones do not") {
  const Bucket bucket;
  bucket.store->set_page(3);
  for (int i = 0; i < 25; ++i) bucket.store->put("t/" + std::to_string(i % 4) + "/" + std::to_string(i) + ".jpg", "x");
  const RemoteFolder folder(bucket.store, "t/", Endings("jpg"));
  const RemotePages pages = folder.read({}, {});
  CHECK(pages.pages.size() >= 9);
  const std::string payload = pages.payload();
  same_objects(RemotePages::of_payload(payload), pages);
  CHECK(RemotePages::of_payload("").pages.empty());
  std::minstd_rand random(1);
  for (size_t cut = 0; cut < payload.size(); ++cut) RemotePages::of_payload(std::string_view(payload).substr(0, cut));
  for (int i = 0; i < 2'000; ++i) {
    std::string damaged = payload;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    RemotePages::of_payload(damaged);
  }
  CHECK(RemotePages::of_payload(payload + "\xff").pages.empty());
}

TEST_CASE("a kept listing of a remote folder is looked at in a sample, and read anew when it is another") {
  const TempFolder kept;
  const Bucket bucket;
  bucket.store->set_page(2);
  for (int i = 0; i < 40; ++i) bucket.store->put("t/a/" + std::to_string(100 + i) + ".jpg", "x");
  KeptUse use;
  const auto first = bucket.open("image-folder", {"s3://bucket/t"}, kept.path(), &use);
  CHECK(use.read == 20);
  CHECK(use.trouble.empty());
  use = {};
  const auto again = bucket.open("image-folder", {"s3://bucket/t"}, kept.path(), &use);
  CHECK(use.taken == 20);
  CHECK(use.read == 0);
  check_same(*again, *first);
  // The first page and the last one are always looked at.
  for (const char* name : {"t/a/100.jpg", "t/a/999.jpg"}) {
    bucket.store->put(name, "changed");
    use = {};
    const auto other = bucket.open("image-folder", {"s3://bucket/t"}, kept.path(), &use);
    CHECK(use.read > 0);
    CHECK(other->size() == (std::string(name) == "t/a/999.jpg" ? 41 : 40));
  }
}

TEST_CASE("remote archives are found by name, braces, wildcards and folder") {
  const Bucket bucket;
  for (const char* name : {"d/a-0.tar", "d/a-1.tar", "d/b.tar", "d/.h.tar", "d/x.txt", "d/e/c.tar", "d.tar"})
    bucket.store->put(name, name);
  const auto found = [&](const std::vector<std::string>& uris) {
    std::vector<std::string> objects;
    for (const DataFile& archive : find_remote_archives(uris, *bucket.places.stores, {})) {
      CHECK(archive.identity == bucket.store->identity(archive.object));
      CHECK(archive.name == "s3://bucket/" + archive.object);
      objects.push_back(archive.object);
    }
    return objects;
  };
  using Names = std::vector<std::string>;
  CHECK(found({"s3://bucket/d/b.tar"}) == Names{"d/b.tar"});
  CHECK(found({"s3://bucket/d/{b,a-{0..1}}.tar"}).size() == 3);
  CHECK(found({"s3://bucket/d/a-{0..1}.tar"}) == Names{"d/a-0.tar", "d/a-1.tar"});
  CHECK(found({"s3://bucket/d/*.tar"}) == Names{"d/a-0.tar", "d/a-1.tar", "d/b.tar"});
  CHECK(found({"s3://bucket/d/a-?.tar", "s3://bucket/d/b.tar"}) == Names{"d/a-0.tar", "d/a-1.tar", "d/b.tar"});
  CHECK(found({"s3://bucket/*/*/c.tar"}) == Names{"d/e/c.tar"});
  CHECK(found({"s3://bucket/d/"}) == Names{"d/a-0.tar", "d/a-1.tar", "d/b.tar"});
  CHECK(found({"s3://bucket/d"}) == Names{"d/a-0.tar", "d/a-1.tar", "d/b.tar"});
  CHECK(found({"s3://bucket"}) == Names{"d.tar"});
  for (const auto& [uris, trouble] : std::vector<std::pair<std::vector<std::string>, Trouble>>{
           {{"s3://bucket/none.tar"}, Trouble::kNotFound},
           {{"s3://bucket/none-*.tar"}, Trouble::kNotFound},
           {{"s3://bucket/d/a-{0..2}.tar"}, Trouble::kNotFound},
           {{"s3://bucket/d/b.tar", "s3://bucket/d"}, Trouble::kUsage},
           {{"s3://bucket/d/{a"}, Trouble::kUsage}}) {
    INFO(uris.front());
    CHECK(bucket.refusal("webdataset", uris).trouble == trouble);
  }
}

TEST_CASE("a remote webdataset is the same data set as a local one with the same archives") {
  const TempFolder temp;
  const Bucket bucket;
  for (int shard = 0; shard < 3; ++shard) {
    TarWriter tar;
    for (int i = 0; i < 20; ++i) {
      const std::string key = std::to_string(i);
      tar.file(key + ".jpg", std::string(700, static_cast<char>('a' + i)));
      tar.file(key + ".cls", std::string(static_cast<size_t>(i % 3), '1'));
    }
    tar.end().save(temp / ("s-" + std::to_string(shard) + ".tar"));
  }
  bucket.put_folder(temp.path(), "shards/");
  const auto local = open("webdataset", temp / "s-*.tar");
  const auto remote = bucket.open("webdataset", {"s3://bucket/shards/s-*.tar"});
  check_same(*remote, *local);
  CHECK(remote->unchanged());
  for (const char* name : {"jpg", "cls"}) {
    FieldId here = 0, there = 0;
    REQUIRE(local->find_field(name, &here) != nullptr);
    REQUIRE(remote->find_field(name, &there) != nullptr);
    for (uint64_t i = 0; i < local->size(); ++i) {
      CHECK(remote->locate(i, there).offset == local->locate(i, here).offset);
      CHECK(remote->locate(i, there).length == local->locate(i, here).length);
      CHECK(remote->lacks(i, there) == local->lacks(i, here));
    }
  }
  // From the listings of archives that were kept.
  const TempFolder kept;
  KeptUse use;
  check_same(*bucket.open("webdataset", {"s3://bucket/shards"}, kept.path(), &use), *local);
  CHECK(use.read == 3);
  const size_t reads = bucket.store->count("read");
  use = {};
  check_same(*bucket.open("webdataset", {"s3://bucket/shards"}, kept.path(), &use), *local);
  CHECK(use.taken == 3);
  CHECK(bucket.store->count("read") == reads);
  bucket.store->put("shards/s-1.tar", std::string(1024, '\0'));
  CHECK_FALSE(remote->unchanged());
}

TEST_CASE("a view of a file reads up to its end, and says what can't be read") {
  const TempFolder temp;
  temp.file("f", "0123456789");
  const UniqueFd fd(::open((temp / "f").c_str(), O_RDONLY | O_CLOEXEC));
  FileView view(fd.get(), "the file f");
  CHECK(view.size() == 10);
  uint8_t bytes[20];
  CHECK(*view.read(0, bytes) == 10);
  CHECK(*view.read(7, bytes) == 3);
  CHECK(bytes[0] == '7');
  CHECK(*view.read(10, bytes) == 0);
  CHECK(*view.read(1'000, bytes) == 0);
  CHECK(*view.read(3, {bytes, 0}) == 0);
  CHECK_THROWS_AS(FileView(-1, "the file g"), SetupError);
  const UniqueFd folder(::open(temp.path().c_str(), O_RDONLY | O_CLOEXEC));
  const auto got = FileView(folder.get(), "the folder").read(0, bytes);
  REQUIRE_FALSE(got);
  CHECK_THAT(got.error().message, Catch::StartsWith("the folder can't be read: "));
}

TEST_CASE("a list whose pages have no end is refused") {
  for (const uint64_t ring : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{700}}) {
    const auto store = std::make_shared<EndlessStore>(ring);
    config::SourceSpec spec;
    spec.type = "webdataset";
    spec.uris = {"s3://endless/set/"};
    try {
      open_listing(spec, {}, {}, {}, nullptr, {nullptr, std::make_shared<OneStore>(store)});
      FAIL("it was listed");
    } catch (const SetupError& error) {
      CHECK_THAT(error.what(),
                 Contains("s3://endless/set/ has no end") && Contains(ring == 0 ? "without a name" : "again"));
    }
    CHECK(store->pages < 3 * 1024);
  }
}

}  // namespace spdld::remote_folder_test
