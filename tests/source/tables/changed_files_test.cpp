// Local files that are changed after they were listed: what is given is of the version that was listed, or bad.
#include <catch2/catch.hpp>

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>

#include "daemon/source/files/data_files.h"
#include "daemon/source/files/file_identity.h"
#include "proto/unique_fd.h"
#include "tests/source/tables/table_files.h"
#include "tests/support/file_changes.h"
#include "tests/support/makers/pack.h"
#include "tests/support/makers/tar_writer.h"
#include "tests/support/soon.h"

namespace spdld::changed_files_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

// A data set of one kind, and the file of it that is changed.
struct ChangedSet {
  std::string type, uri, changed;
  std::map<std::string, std::string> files;
  std::string field;
  config::Parameters parameters = {};
};

std::string tar_of(std::string_view values) {
  TarWriter tar;
  for (size_t i = 0; i < values.size(); ++i) tar.file(std::to_string(i) + ".cls", std::string(600, values[i]));
  return tar.end().bytes();
}

std::vector<ChangedSet> kinds() {
  const std::vector<std::string> texts = {"one", "two"};
  const std::string coco = R"({"images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [1, 2, 3, 4]},
                    {"id": 2, "image_id": 2, "category_id": 3, "bbox": [1, 2, 3, 4]}],
    "categories": [{"id": 3, "name": "cat"}]})";
  const std::string voc =
      "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
      "</object></annotation>";
  return {
      {"webdataset", "a.tar", "a.tar", {{"a.tar", tar_of("ab")}}, "cls"},
      {"webdataset", "a.tar.gz", "a.tar.gz", {{"a.tar.gz", gzip(tar_of("ab"), 1, "a.tar")}}, "cls"},
      {"npy", "a.npy", "a.npy", {{"a.npy", npy_file(2)}}, "array"},
      {"records", "a.bin", "a.bin", {{"a.bin", "12345678"}}, "record", {{"record_bytes", int64_t{4}}}},
      {"tfrecord",
       "a.tfrecord",
       "a.tfrecord",
       {{"a.tfrecord", tf_record({{"text", "one"}}) + tf_record({{"text", "two"}})}},
       "text"},
      {"mds", "", "s.mds", {{"index.json", mds_index({{"s.mds", texts}})}, {"s.mds", mds_shard(texts)}}, "text"},
      {"manifest", "a.csv", "a.csv", {{"a.csv", "a,b\n1,2\n3,4\n"}}, "a"},
      {"manifest", "a.tsv", "a.tsv", {{"a.tsv", "a\tb\n1\t2\n3\t4\n"}}, "b"},
      {"manifest", "a.jsonl", "a.jsonl", {{"a.jsonl", "{\"a\": 1}\n{\"a\": 2}\n"}}, "a"},
      {"coco", "a.json", "a.json", {{"a.json", coco}, {"a.jpg", "a"}, {"b.jpg", "b"}}, "boxes"},
      {"voc",
       "",
       "Annotations/a.xml",
       {{"ImageSets/Main/train.txt", "a\n"}, {"Annotations/a.xml", voc}, {"JPEGImages/a.jpg", "a"}},
       "boxes",
       {{"set", std::string("Main/train")}, {"ending", std::string("jpg")}}},
      {"yolo",
       "",
       "labels/a.txt",
       {{"images/a.jpg", "a"}, {"labels/a.txt", "0 0.5 0.5 0.2 0.2\n"}},
       "boxes",
       {{"images", std::string("images")},
        {"labels", std::string("labels")},
        {"names", std::string("cat")},
        {"extensions", std::string("jpg")}}},
  };
}

struct Made : TableFolder {
  explicit Made(const ChangedSet& of) : kind(of) {
    for (const auto& [name, content] : kind.files) temp.file(name, content);
  }
  std::unique_ptr<Listing> list() const { return local(kind.type, kind.uri, kind.parameters); }
  std::string path() const { return temp / kind.changed; }
  // Of the same size, with other bytes at its end.
  std::string other_content() const {
    std::string content = kind.files.at(kind.changed);
    std::reverse(content.begin() + static_cast<ptrdiff_t>(content.size() / 2), content.end());
    return content;
  }
  void change(Change how) const { change_file(path(), how, other_content()); }
  const ChangedSet& kind;
};

Error error_of(const Listing& listing, uint64_t sample, const std::string& field) {
  LocalFetcher local(1);
  FetchRouter router(local);
  FetchRequest request = request_for(listing, sample, wanted(listing, {field}));
  CHECK_FALSE(router.fetch_at_hand(request));
  fetch_now(router, request);
  REQUIRE_FALSE(request.ok);
  return request.error;
}

}  // namespace

TEST_CASE("a sample of a local file that changes is bad content, whatever its kind and whatever the change") {
  const std::vector<ChangedSet> all = kinds();
  const size_t number = GENERATE(range(size_t{0}, size_t{12}));
  REQUIRE(all.size() == 12);
  const ChangedSet& kind = all[number];
  const Change change = GENERATE(from_range(std::begin(kAllChanges), std::end(kAllChanges)));
  const bool reads_before = GENERATE(true, false);
  CAPTURE(kind.type, kind.changed, name_of(change), reads_before);
  const Made made(kind);
  const auto listing = made.list();
  REQUIRE(listing->size() == (kind.type == "voc" || kind.type == "yolo" ? 1 : 2));
  const std::string first = reads_before ? contents(*listing, 0, {kind.field})[0] : "";
  CHECK_THAT(first, !Catch::StartsWith("bad"));
  REQUIRE(listing->unchanged());
  made.change(change);
  CHECK_FALSE(listing->unchanged());
  // What was unpacked of a compressed archive is held in memory, and is of the listed version.
  const bool is_held = reads_before && kind.changed.ends_with(".gz");
  if (is_held) CHECK(contents(*listing, 0, {kind.field})[0] == first);
  for (uint64_t sample = 0; sample < listing->size() && !is_held; ++sample) {
    const Error error = error_of(*listing, sample, kind.field);
    CHECK(error.trouble == Trouble::kContent);
    CHECK_THAT(error.message, Contains(kind.changed) && Contains("has changed since it was listed"));
  }
}

TEST_CASE("what takes the place of a listed file is never read as that file") {
  const std::vector<ChangedSet> all = kinds();
  const ChangedSet& kind = all.front();
  const Made made(kind);
  const auto listing = made.list();
  std::filesystem::remove(made.path());
  SECTION("a folder") { made.temp.folder(kind.changed); }
  SECTION("a pipe") { REQUIRE(::mkfifo(made.path().c_str(), 0600) == 0); }
  SECTION("a link to a file of the same bytes") {
    made.temp.file("twin", kind.files.at(kind.changed));
    made.temp.link(made.temp / "twin", kind.changed);
  }
  const Error error = error_of(*listing, 1, kind.field);
  CHECK(error.trouble == Trouble::kContent);
  CHECK_THAT(error.message, Contains("has changed since it was listed"));
}

TEST_CASE("a copy in the cache counts only where it is of the file that was listed") {
  const std::vector<ChangedSet> all = kinds();
  const Made made(all[3]);
  const auto listing = made.list();
  LocalFetcher fetcher(1);
  FetchRequest request = request_for(*listing, 0, wanted(*listing, {"record"}));
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  const Identity listed = request.fields[0].identity;
  CHECK(listed == listing->locate(0, request.fields[0].field).identity);
  request.fields[0].want = FieldFetch::Want::kChanged;
  fetch_now(fetcher, request);
  CHECK(request.ok);
  CHECK(request.fields[0].unchanged);
  // A copy of an earlier version: the listed file is read in its place.
  request.fields[0].identity = {listed.size, listed.changed + 1};
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  CHECK_FALSE(request.fields[0].unchanged);
  CHECK(text(request.bytes[0]) == "1234");
  made.change(Change::kRewritten);
  fetch_now(fetcher, request);
  CHECK_FALSE(request.ok);
  // A copy of the later version.
  request.fields[0].identity = listed_identity(kept_state(status_of(made.path())), true);
  fetch_now(fetcher, request);
  CHECK_FALSE(request.ok);
  CHECK_THAT(request.error.message, Contains("has changed since it was listed"));
}

TEST_CASE("an identity tells a listed file by its number too, where its file system gives lasting ones") {
  struct stat status {};
  status.st_mode = S_IFREG;
  status.st_ino = 5;
  status.st_size = 6;
  status.st_mtim = {1'600'000'000, 5};
  status.st_ctim = {1'700'000'000, 9};
  const Identity numbered = listed_identity(kept_state(status), true);
  const Identity free = listed_identity(kept_state(status), false);
  CHECK(is_listed(status, numbered));
  CHECK(is_listed(status, free));
  CHECK(free == source::identity_of(status));
  struct stat other = status;
  SECTION("another number") {
    other.st_ino++;
    CHECK(is_listed(other, free));
  }
  SECTION("another size") { other.st_size++; }
  SECTION("a nanosecond of the time of modification") { other.st_mtim.tv_nsec++; }
  SECTION("a nanosecond of the time of status change") { other.st_ctim.tv_nsec++; }
  SECTION("the times exchanged") { std::swap(other.st_mtim, other.st_ctim); }
  SECTION("no regular file") { other.st_mode = S_IFIFO; }
  CHECK_FALSE(is_listed(other, numbered));
}

namespace {

// Writes versions of one file over one another, each of one letter, from its making until its end.
class Rewriting {
 public:
  Rewriting(std::string path, size_t bytes) : path_(std::move(path)), bytes_(bytes), thread_([this] { work(); }) {}
  ~Rewriting() {
    is_done_ = true;
    thread_.join();
  }

 private:
  void work() const {
    const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    for (int round = 0; !is_done_; ++round) {
      const std::string content(bytes_, "ab"[round % 2]);
      for (size_t at = 0; at < bytes_; at += 4096)
        if (::pwrite(fd.get(), content.data() + at, 4096, static_cast<off_t>(at)) != 4096) return;
    }
  }
  const std::string path_;
  const size_t bytes_;
  std::atomic<bool> is_done_{false};
  std::thread thread_;
};

constexpr size_t kRewrittenBytes = 1 << 20;

}  // namespace

TEST_CASE("a listed file that is rewritten in place while it is read gives its listed version or nothing") {
  const TempFolder temp;
  write_over(temp / "a.bin", std::string(kRewrittenBytes, 'a'));
  const auto listing = open("records", temp / "a.bin", {{"record_bytes", int64_t{kRewrittenBytes}}});
  await_clock(temp / "a.bin");
  LocalFetcher fetcher(1);
  FetchRequest request = request_for(*listing, 0, wanted(*listing, {"record"}));
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  const Rewriting rewriting(temp / "a.bin", kRewrittenBytes);
  size_t bad = 0;
  for (int read = 0; read < 300; ++read) {
    fetch_now(fetcher, request);
    if (request.ok) CHECK(text(request.bytes[0]) == std::string(kRewrittenBytes, 'a'));
    bad += request.ok ? 0 : 1;
  }
  CHECK(bad > 0);
}

TEST_CASE("a picture that is rewritten in place while it is read is bad content, and says so") {
  const TempFolder temp;
  temp.folder("c");
  write_over(temp / "c/1.jpg", std::string(kRewrittenBytes, 'a'));
  const auto listing = open("image-folder", temp.path().string());
  LocalFetcher fetcher(1);
  FetchRequest request = request_for(*listing, 0, wanted(*listing, {"image"}));
  const Rewriting rewriting(temp / "c/1.jpg", kRewrittenBytes);
  CHECK(test::soon([&] {
    fetch_now(fetcher, request);
    return !request.ok;
  }));
  CHECK(request.error.trouble == Trouble::kContent);
  CHECK_THAT(request.error.message, Contains("1.jpg changed while it was read"));
}

TEST_CASE("a file that changes while it is listed is not listed") {
  const TempFolder temp;
  temp.file("list", "one\n");
  const UniqueFd fd(::open((temp / "list").c_str(), O_RDONLY | O_CLOEXEC));
  const KeptState before = kept_state(status_of(temp / "list"));
  CHECK_NOTHROW(check_same_state(fd.get(), before, "the list"));
  change_file(temp / "list", Change::kRewritten, "two\n");
  CHECK_THROWS_WITH(check_same_state(fd.get(), before, "the list"), Contains("the list changed while it was listed"));
}

TEST_CASE("a file that changes while its index is made is not listed, and that is the reason that is told") {
  const TempFolder temp;
  temp.file("a.tar", "content");
  DataFiles files;
  files.files.push_back({temp / "a.tar"});
  const FileKind kind;
  const std::stop_token stop;
  const Progress progress;
  const std::filesystem::path kept;
  KeptUse use;
  const bool fails = GENERATE(true, false);
  const IndexCalls calls{[&](size_t, store::View&, std::atomic<uint64_t>&) {
                           change_file(temp / "a.tar", Change::kRewritten, "CONTENT");
                           if (fails) throw SetupError(Trouble::kUsage, "it is no archive.");
                         },
                         [](size_t) { return std::string(); }, [](size_t, std::string_view) { return false; }};
  CHECK_THROWS_WITH(index_each(files, {kind, "key", "bytes", progress, stop, kept, use, nullptr}, calls),
                    Contains("a.tar changed while it was listed"));
}

TEST_CASE("a file that is rewritten while it is read is bad content also behind one that was settled") {
  const TempFolder temp;
  temp.folder("c");
  write_over(temp / "c/0.jpg", "settled");
  write_over(temp / "c/1.jpg", std::string(kRewrittenBytes, 'a'));
  const auto listing = open("image-folder", temp.path().string());
  await_clock(temp / "c/0.jpg");
  LocalFetcher fetcher(1);
  FetchRequest settled = request_for(*listing, 0, wanted(*listing, {"image"}));
  FetchRequest rewritten = request_for(*listing, 1, wanted(*listing, {"image"}));
  const Rewriting rewriting(temp / "c/1.jpg", kRewrittenBytes);
  CHECK(test::soon([&] {
    fetch_now(fetcher, settled);
    CHECK(settled.ok);
    CHECK(text(settled.bytes[0]) == "settled");
    fetch_now(fetcher, rewritten);
    return !rewritten.ok;
  }));
  CHECK_THAT(rewritten.error.message, Contains("1.jpg changed while it was read"));
}

}  // namespace spdld::changed_files_test
