// What is wanted of a field: its bytes, nothing, or its bytes if its file has changed; from the file or a kept copy.
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "daemon/source/files/file_identity.h"
#include "proto/unique_fd.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::field_fetch_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;
using Want = FieldFetch::Want;

namespace {

struct stat state_of(const std::string& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}

Identity identity_of(const std::string& path) { return source::identity_of(state_of(path)); }

void set_changed(const std::string& path, int64_t seconds, int64_t ns) {
  const struct timespec times[2] = {{0, UTIME_OMIT}, {seconds, ns}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

// Tells whether a file is opened.
class OpenWatch {
 public:
  explicit OpenWatch(const std::string& path) : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    REQUIRE(fd_);
    REQUIRE(::inotify_add_watch(fd_.get(), path.c_str(), IN_OPEN) >= 0);
  }
  bool was_opened() {
    inotify_event event;  // without a name: a file's own
    bool opened = false;
    while (::read(fd_.get(), &event, sizeof event) == sizeof event) opened = opened || (event.mask & IN_OPEN) != 0;
    return opened;
  }

 private:
  UniqueFd fd_;
};

// A listing of one picture, and a fetcher of it.
struct OnePicture {
  explicit OnePicture(const std::string& content = "pixels") {
    temp.file("c/1.jpg", content);
    listing = open("image-folder", temp.path().string());
    request = request_for(*listing, 0, wanted(*listing, {"image"}));
  }
  std::string path() const { return temp / "c/1.jpg"; }
  FieldFetch& field() { return request.fields[0]; }
  std::string fetched() {
    fetch_now(fetcher, request);
    INFO(request.error.message);
    REQUIRE(request.ok);
    return text(request.bytes[0]);
  }
  // The copy "xx[content]yy" lies in `kept`, between other bytes.
  void keep(const std::string& content) {
    temp.file("kept", "xx" + content + "yy");
    kept = UniqueFd(::open((temp / "kept").c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(kept);
    field().kept_fd = kept.get();
    field().kept_offset = 2;
    field().kept_bytes = content.size();
  }

  TempFolder temp;
  std::unique_ptr<Listing> listing;
  LocalFetcher fetcher{2};
  FetchRequest request;
  UniqueFd kept;
};

}  // namespace

TEST_CASE("with the bytes comes what their file was") {
  OnePicture one;
  set_changed(one.path(), 1'600'000'000, 123'456'789);
  CHECK(one.fetched() == "pixels");
  CHECK(one.field().identity.size == 6);
  CHECK(one.field().identity == identity_of(one.path()));
  CHECK_FALSE(one.field().unchanged);
  CHECK_FALSE(one.field().copy_failed);
}

TEST_CASE("of what is wanted as nothing nothing is read, and its buffer is empty") {
  OnePicture one;
  CHECK(one.fetched() == "pixels");
  OpenWatch watch(one.path());
  std::filesystem::remove(one.path());
  one.field().want = Want::kNothing;
  CHECK(one.fetched().empty());
  CHECK_FALSE(watch.was_opened());
  CHECK(one.fetcher.statistics().bytes.value() == 6);  // of the first request alone
  CHECK(one.fetcher.statistics().samples.value() == 2);
}

TEST_CASE("a file that is as it was is not opened") {
  OnePicture one;
  one.fetched();
  OpenWatch watch(one.path());
  one.field().want = Want::kChanged;
  CHECK(one.fetched().empty());
  CHECK(one.field().unchanged);
  CHECK_FALSE(watch.was_opened());
  CHECK(one.fetcher.statistics().bytes.value() == 6);
}

TEST_CASE("a file that has changed comes anew, with what it is now") {
  OnePicture one;
  one.fetched();
  one.field().want = Want::kChanged;
  SECTION("by its size") {
    one.temp.file("c/1.jpg", "more pixels");
    CHECK(one.fetched() == "more pixels");
  }
  SECTION("by a nanosecond of its time") {
    const timespec before = state_of(one.path()).st_mtim;
    set_changed(one.path(), before.tv_sec, (before.tv_nsec + 1) % 1'000'000'000);
    CHECK(one.fetched() == "pixels");
  }
  SECTION("by its bytes alone, with its time set back") {
    const struct stat before = state_of(one.path());
    do {  // until the file system's clock has gone on
      one.temp.file("c/1.jpg", "PIXELS");
      set_changed(one.path(), before.st_mtim.tv_sec, before.st_mtim.tv_nsec);
    } while (state_of(one.path()).st_ctim.tv_nsec == before.st_ctim.tv_nsec);
    REQUIRE(state_of(one.path()).st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    CHECK(one.fetched() == "PIXELS");
  }
  CHECK_FALSE(one.field().unchanged);
  CHECK(one.field().identity == identity_of(one.path()));
  CHECK(one.fetched().empty());  // as it is now
  CHECK(one.field().unchanged);
}

TEST_CASE("an identity tells each of a file's size and times") {
  struct stat status {};
  status.st_size = 6;
  status.st_mtim = {1'600'000'000, 5};
  status.st_ctim = {1'700'000'000, 9};
  const Identity before = source::identity_of(status);
  CHECK(source::identity_of(status) == before);
  struct stat other = status;
  SECTION("another size") { other.st_size++; }
  SECTION("a nanosecond of the time of modification") { other.st_mtim.tv_nsec++; }
  SECTION("a nanosecond of the time of status change") { other.st_ctim.tv_nsec++; }
  SECTION("both times, by as much") { other.st_mtim.tv_sec++, other.st_ctim.tv_sec++; }
  SECTION("the times exchanged") { std::swap(other.st_mtim, other.st_ctim); }
  CHECK(source::identity_of(other) != before);
}

TEST_CASE("a file that is gone is bad content, unchanged or not") {
  OnePicture one;
  one.fetched();
  std::filesystem::remove(one.path());
  one.field().want = Want::kChanged;
  fetch_now(one.fetcher, one.request);
  CHECK_FALSE(one.request.ok);
  CHECK(one.request.error.trouble == Trouble::kContent);
  CHECK_THAT(one.request.error.message, Contains(one.path()) && Contains("No such file"));
}

TEST_CASE("a copy is read instead of the file, which is not looked at") {
  OnePicture one;
  one.keep("the copy");
  one.field().identity = {1, 2};
  std::filesystem::remove(one.path());
  CHECK(one.fetched() == "the copy");
  CHECK(one.field().identity == Identity{1, 2});
  CHECK_FALSE(one.field().copy_failed);
  CHECK(one.fetcher.statistics().bytes.value() == 8);
}

TEST_CASE("a copy is read where the file is as it was, else the file") {
  OnePicture one;
  one.keep("the copy");
  one.field().want = Want::kChanged;
  one.field().identity = identity_of(one.path());
  {
    OpenWatch watch(one.path());
    CHECK(one.fetched() == "the copy");
    CHECK(one.field().unchanged);
    CHECK_FALSE(watch.was_opened());
  }
  one.temp.file("c/1.jpg", "more pixels");
  CHECK(one.fetched() == "more pixels");
  CHECK_FALSE(one.field().unchanged);
  CHECK_FALSE(one.field().copy_failed);
  CHECK(one.field().identity == identity_of(one.path()));
}

TEST_CASE("where a copy can't be read the file is") {
  OnePicture one;
  one.keep("the copy");
  const Want want = GENERATE(Want::kBytes, Want::kChanged);
  one.field().want = want;
  one.field().identity = identity_of(one.path());
  SECTION("it is cut") { std::filesystem::resize_file(one.temp.path() / "kept", 5); }
  SECTION("it is no file's to read") {
    one.kept = UniqueFd(::open(one.temp.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    one.field().kept_fd = one.kept.get();
  }
  SECTION("it has no bytes") { one.field().kept_bytes = 0; }
  CHECK(one.fetched() == "pixels");
  CHECK(one.field().copy_failed);
  CHECK_FALSE(one.field().unchanged);
  CHECK(one.field().identity == identity_of(one.path()));
  one.field().kept_fd = -1;
  one.field().want = Want::kBytes;
  one.fetched();
  CHECK_FALSE(one.field().copy_failed);  // of an earlier use
}

TEST_CASE("in an archive it is the archive that has changed or not, and fields may be wanted differently") {
  const TempFolder temp;
  TarWriter().file("1.jpg", "pixels").file("1.cls", "5").file("1.txt", "word").end().save(temp.path() / "a.tar");
  const auto listing = open("webdataset", temp.path().string());
  LocalFetcher fetcher(1);
  FetchRequest request = request_for(*listing, 0, wanted(*listing, {"jpg", "cls", "txt"}));
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  const auto is_the_archive = [&](const FieldFetch& field) {
    return is_listed(state_of(temp / "a.tar"), field.identity);
  };
  for (const FieldFetch& field : request.fields) CHECK(is_the_archive(field));

  request.fields[0].want = Want::kNothing;
  request.fields[1].want = Want::kChanged;
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  CHECK(request.bytes[0].size() == 0);
  CHECK(request.bytes[1].size() == 0);
  CHECK(request.fields[1].unchanged);
  CHECK(text(request.bytes[2]) == "word");

  request.fields[1].identity.changed++;  // of an archive that was there before this one was listed
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  CHECK(text(request.bytes[1]) == "5");
  CHECK(is_the_archive(request.fields[1]));
  CHECK_FALSE(request.fields[1].unchanged);

  set_changed(temp / "a.tar", 1'600'000'000, 5);
  fetch_now(fetcher, request);
  CHECK_FALSE(request.ok);
  CHECK_THAT(request.error.message, Contains("a.tar has changed since it was listed"));
}

TEST_CASE("the fields of a sample open their archive once") {
  const TempFolder temp;
  TarWriter().file("1.jpg", "pixels").file("1.cls", "5").end().save(temp.path() / "a.tar");
  const auto listing = open("webdataset", temp.path().string());
  LocalFetcher fetcher(1);
  const UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  REQUIRE(::inotify_add_watch(watch.get(), (temp / "a.tar").c_str(), IN_OPEN | IN_CLOSE) >= 0);
  FetchRequest request = request_for(*listing, 0, wanted(*listing, {"jpg", "cls"}));
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  inotify_event event;  // without a name: a file's own
  int events = 0;
  while (::read(watch.get(), &event, sizeof event) == sizeof event) ++events;
  CHECK(events == 2);  // opened, closed
}

TEST_CASE("what is in memory is fetched on the calling thread") {
  OnePicture one(std::string(100'000, 'p'));
  REQUIRE(one.fetched() == std::string(100'000, 'p'));
  one.request.bytes.clear();
  one.request.observer = nullptr;  // is not called
  one.field().identity = {};
  // A file system that can't say what is in memory makes it false; then fetch() is the way.
  if (!one.fetcher.fetch_at_hand(one.request)) {
    WARN("the temporary folder's file system has no reads at hand");
    return;
  }
  CHECK(text(one.request.bytes[0]) == std::string(100'000, 'p'));
  CHECK(one.field().identity == identity_of(one.path()));
  CHECK(one.fetcher.statistics().samples.value() == 2);
  CHECK(one.fetcher.statistics().bytes.value() == 200'000);

  one.field().want = Want::kChanged;
  CHECK(one.fetcher.fetch_at_hand(one.request));
  CHECK(one.field().unchanged);
  one.keep("the copy");
  CHECK(one.fetcher.fetch_at_hand(one.request));
  CHECK(text(one.request.bytes[0]) == "the copy");
  std::filesystem::resize_file(one.temp.path() / "kept", 1);
  CHECK_FALSE(one.fetcher.fetch_at_hand(one.request));  // whether the copy is lost, fetch() finds out
  CHECK_FALSE(one.field().copy_failed);
}

TEST_CASE("trouble is told by fetch alone") {
  OnePicture one;
  std::filesystem::remove(one.path());
  CHECK_FALSE(one.fetcher.fetch_at_hand(one.request));
  CHECK(one.fetcher.statistics().failures.value() == 0);
  fetch_now(one.fetcher, one.request);
  CHECK_THAT(one.request.error.message, Contains("No such file"));
  CHECK(one.fetcher.statistics().failures.value() == 1);
}

}  // namespace spdld::field_fetch_test
