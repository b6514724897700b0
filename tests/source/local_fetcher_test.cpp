#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "daemon/base/distribution.h"
#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/trouble.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::local_fetcher_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

FetchRequest fetch_one(Fetcher& fetcher, const Listing& listing, uint64_t sample,
                       const std::vector<FieldFetch>& fields) {
  FetchRequest request = request_for(listing, sample, fields);
  fetch_now(fetcher, request);
  return request;
}

}  // namespace

TEST_CASE("all samples of an image folder come, with their bytes") {
  const TempFolder temp;
  for (int i = 0; i < 300; ++i)
    temp.file("c/" + std::to_string(1000 + i) + ".jpg", std::string(static_cast<size_t>(i * 37 + 1), 'a'));
  const auto listing = open("image-folder", temp.path().string());
  const auto fields = wanted(*listing, {"image"});
  Waiter waiter;
  LocalFetcher fetcher(4);
  std::deque<FetchRequest> requests(300);
  for (uint64_t i = 0; i < 300; ++i) {
    requests[i].listing = listing.get();
    requests[i].sample = i;
    requests[i].fields = fields;
    requests[i].observer = &waiter;
    fetcher.fetch(requests[i]);
  }
  REQUIRE(waiter.wait(300));
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    REQUIRE(requests[i].ok);
    REQUIRE(requests[i].bytes.size() == 1);
    REQUIRE(text(requests[i].bytes[0]) == std::string(i * 37 + 1, 'a'));
    bytes += i * 37 + 1;
  }
  CHECK(fetcher.statistics().samples.value() == 300);
  CHECK(fetcher.statistics().bytes.value() == bytes);
  CHECK(fetcher.statistics().failures.value() == 0);
  CHECK(Distribution::of(fetcher.statistics().duration_ns).count() == 300);
}

TEST_CASE("several fields of a sample come from its archive") {
  const TempFolder temp;
  TarWriter().file("1.jpg", "pixels").file("1.cls", "5").file("2.jpg", "more").end().save(temp.path() / "a.tar");
  const auto listing = open("webdataset", temp.path().string());
  LocalFetcher fetcher(1);
  const auto fields = wanted(*listing, {"cls", "jpg"});
  const FetchRequest both = fetch_one(fetcher, *listing, 0, fields);
  REQUIRE(both.ok);
  CHECK(text(both.bytes[0]) == "5");
  CHECK(text(both.bytes[1]) == "pixels");

  const FetchRequest lacking = fetch_one(fetcher, *listing, 1, fields);
  CHECK_FALSE(lacking.ok);
  CHECK(lacking.error.trouble == Trouble::kContent);
  CHECK_THAT(lacking.error.message, Contains("a.tar:2") && Contains("\"cls\""));
  CHECK(fetcher.statistics().failures.value() == 1);
}

TEST_CASE("buffers keep their memory between requests") {
  const TempFolder temp;
  temp.file("c/1.jpg", std::string(5000, 'a'));
  temp.file("c/2.jpg", "small");
  const auto listing = open("image-folder", temp.path().string());
  const auto fields = wanted(*listing, {"image"});
  LocalFetcher fetcher(1);
  Waiter waiter;
  FetchRequest request;
  request.listing = listing.get();
  request.fields = fields;
  request.observer = &waiter;
  fetcher.fetch(request);
  REQUIRE(waiter.wait(1));
  const uint8_t* memory = request.bytes[0].data();
  request.sample = 1;
  fetcher.fetch(request);
  REQUIRE(waiter.wait(2));
  CHECK(text(request.bytes[0]) == "small");
  CHECK(request.bytes[0].data() == memory);
}

TEST_CASE("bad content is told by a sentence that names the file") {
  const TempFolder temp;
  for (const char* name : {"gone", "empty", "large", "pipe", "good", "folder"}) {
    temp.file(std::string("c/") + name + ".jpg", std::string(100, 'a'));
  }
  const auto listing = open("image-folder", temp.path().string());  // empty, folder, gone, good, large, pipe
  std::filesystem::remove(temp.path() / "c/gone.jpg");
  std::filesystem::remove(temp.path() / "c/pipe.jpg");
  std::filesystem::remove(temp.path() / "c/folder.jpg");
  temp.folder("c/folder.jpg");
  REQUIRE(::mkfifo((temp / "c/pipe.jpg").c_str(), 0600) == 0);
  temp.file("c/empty.jpg", "");
  temp.file("c/large.jpg", std::string(2000, 'a'));
  LocalFetcher fetcher(2, 1000);
  const auto fields = wanted(*listing, {"image"});
  const std::vector<std::string> words = {"is empty", "not a regular file",          "No such file",
                                          "",         "more than the limit of 1000", "not a regular file"};
  for (uint64_t i = 0; i < words.size(); ++i) {
    const FetchRequest request = fetch_one(fetcher, *listing, i, fields);
    INFO(listing->name(i) << ": " << request.error.message);
    CHECK(request.ok == words[i].empty());
    if (request.ok) continue;
    CHECK(request.error.trouble == Trouble::kContent);
    CHECK_THAT(request.error.message, Contains(words[i]) && Contains(temp / listing->name(i)));
  }
}

TEST_CASE("a member of an archive may be empty") {
  const TempFolder temp;
  TarWriter().file("1.txt", "").file("2.txt", "text").end().save(temp.path() / "a.tar");
  const auto listing = open("webdataset", temp.path().string());
  LocalFetcher fetcher(1);
  const auto fields = wanted(*listing, {"txt"});
  const FetchRequest empty = fetch_one(fetcher, *listing, 0, fields);
  INFO(empty.error.message);
  REQUIRE(empty.ok);
  CHECK(text(empty.bytes[0]).empty());
  CHECK(text(fetch_one(fetcher, *listing, 1, fields).bytes[0]) == "text");
}

TEST_CASE("an archive that was replaced by a shorter one is bad content") {
  const TempFolder temp;
  TarWriter().file("1.jpg", std::string(5000, 'a')).end().save(temp.path() / "a.tar");
  const auto listing = open("webdataset", temp.path().string());
  std::filesystem::resize_file(temp.path() / "a.tar", 3000);
  LocalFetcher fetcher(1);
  const auto fields = wanted(*listing, {"jpg"});
  const FetchRequest request = fetch_one(fetcher, *listing, 0, fields);
  CHECK_FALSE(request.ok);
  CHECK(request.error.trouble == Trouble::kContent);
  CHECK_THAT(request.error.message, Contains("a.tar has changed since it was listed"));
}

TEST_CASE("what may pass by itself is transient, what is the file's own fault is content") {
  for (const int number : {EIO, EMFILE, ENFILE, ESTALE, ETIMEDOUT, ECONNRESET, EAGAIN}) {
    CHECK(content_trouble(number) == Trouble::kTransient);
    CHECK(setup_trouble(number) == Trouble::kTransient);
  }
  for (const int number : {ENOENT, EACCES, ENOTDIR, ELOOP, ENAMETOOLONG})
    CHECK(content_trouble(number) == Trouble::kContent);
  CHECK(content_trouble(ENOMEM) == Trouble::kMemory);
  CHECK(setup_trouble(ENOMEM) == Trouble::kMemory);
  CHECK(setup_trouble(ENOENT) == Trouble::kNotFound);
  CHECK(setup_trouble(EACCES) == Trouble::kDenied);
  CHECK(setup_trouble(ENAMETOOLONG) == Trouble::kUsage);
}

TEST_CASE("the destructor finishes what was asked for") {
  const TempFolder temp;
  for (int i = 0; i < 100; ++i) temp.file("c/" + std::to_string(100 + i) + ".jpg", "x");
  const auto listing = open("image-folder", temp.path().string());
  const auto fields = wanted(*listing, {"image"});
  Waiter waiter;
  std::deque<FetchRequest> requests(100);
  {
    LocalFetcher fetcher(2);
    for (uint64_t i = 0; i < 100; ++i) {
      requests[i].listing = listing.get();
      requests[i].sample = i;
      requests[i].fields = fields;
      requests[i].observer = &waiter;
      fetcher.fetch(requests[i]);
    }
  }
  for (const FetchRequest& request : requests) CHECK(request.ok);
}

TEST_CASE("an observer may fetch again from its own call") {
  const TempFolder temp;
  for (int i = 0; i < 10; ++i) temp.file("c/" + std::to_string(i) + ".jpg", std::to_string(i));
  const auto listing = open("image-folder", temp.path().string());
  const auto fields = wanted(*listing, {"image"});
  struct Chain final : FetchObserver {
    void on_fetched(FetchRequest& request) override {
      seen += text(request.bytes[0]);
      if (++request.sample < 10) return fetcher->fetch(request);
      waiter.on_fetched(request);
    }
    LocalFetcher* fetcher = nullptr;
    std::string seen;
    Waiter waiter;
  } chain;
  LocalFetcher fetcher(3);
  chain.fetcher = &fetcher;
  FetchRequest request;
  request.listing = listing.get();
  request.fields = fields;
  request.observer = &chain;
  fetcher.fetch(request);
  REQUIRE(chain.waiter.wait(1));
  CHECK(chain.seen == "0123456789");
}

TEST_CASE("the number of threads that take requests changes while they do") {
  const TempFolder temp;
  for (int i = 0; i < 50; ++i) temp.file("c/" + std::to_string(100 + i) + ".jpg", std::to_string(100 + i));
  const auto listing = open("image-folder", temp.path().string());
  const auto fields = wanted(*listing, {"image"});
  LocalFetcher fetcher(4);
  CHECK(fetcher.concurrency() == 4);
  for (uint64_t round = 0; round < 40; ++round) {
    Waiter waiter;
    std::deque<FetchRequest> requests(50);
    std::jthread changing([&] {
      for (unsigned i = 0; i < 20; ++i) fetcher.set_concurrency((i * 7 + static_cast<unsigned>(round)) % 6);
    });
    for (uint64_t i = 0; i < 50; ++i) {
      requests[i] = request_for(*listing, i, fields);
      requests[i].observer = &waiter;
      fetcher.fetch(requests[i]);
    }
    REQUIRE(waiter.wait(50));
    for (uint64_t i = 0; i < 50; ++i) REQUIRE(text(requests[i].bytes[0]) == std::to_string(100 + i));
  }
  fetcher.set_concurrency(0);
  CHECK(fetcher.concurrency() == 1);
  fetcher.set_concurrency(99);
  CHECK(fetcher.concurrency() == 4);
}

TEST_CASE("with a concurrency of one, one read is under way at a time") {
  const TempFolder temp;
  for (int i = 0; i < 30; ++i) temp.file("c/" + std::to_string(100 + i) + ".jpg");
  const auto listing = open("image-folder", temp.path().string());
  struct Threads final : FetchObserver {
    void on_fetched(FetchRequest& request) override {
      {
        const std::scoped_lock lock(mutex);
        ids.insert(std::this_thread::get_id());
      }
      waiter.on_fetched(request);
    }
    std::mutex mutex;
    std::set<std::thread::id> ids;
    Waiter waiter;
  } threads;
  LocalFetcher fetcher(3);
  fetcher.set_concurrency(1);
  std::deque<FetchRequest> requests(30);
  for (uint64_t i = 0; i < 30; ++i) {
    requests[i] = request_for(*listing, i, wanted(*listing, {"image"}));
    requests[i].observer = &threads;
    fetcher.fetch(requests[i]);
  }
  REQUIRE(threads.waiter.wait(30));
  CHECK(threads.ids.size() == 1);
}

}  // namespace spdld::local_fetcher_test
