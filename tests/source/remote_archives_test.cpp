// Archives that lie in stores: how they are named and looked for.
#include "daemon/source/files/remote_archives.h"

#include <catch2/catch.hpp>
#include <future>

#include "tests/support/memory_store.h"
#include "tests/support/soon.h"

namespace spdld::source::remote_archives_test {
namespace {

using namespace spdld::test;
using Catch::Contains;

struct Bucket {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  OneStore stores{store};
  std::stop_source stop;

  explicit Bucket(int archives) {
    for (int i = 0; i < archives; ++i) store->put("a" + std::to_string(i) + ".tar", std::string(10 + i, 'x'));
  }
  std::vector<DataFile> find(const std::vector<std::string>& uris) {
    return find_remote_archives(uris, stores, stop.get_token());
  }
  SetupError error_of(const std::string& uri) {
    try {
      find({uri});
    } catch (const SetupError& error) {
      return error;
    }
    FAIL("it was found");
    return {Trouble::kInternal, ""};
  }
};

}  // namespace

TEST_CASE("archives that are named one by one are looked at as many at once as the store works on") {
  Bucket bucket(20);
  bucket.store->hold(true);
  auto found = std::async(std::launch::async, [&] { return bucket.find({"s3://bucket/a{0..19}.tar"}); });
  const bool are_asked = soon([&] { return bucket.store->waiting() == bucket.store->concurrency(); });
  bucket.store->hold(false);
  CHECK(are_asked);
  const std::vector<DataFile> archives = found.get();
  REQUIRE(archives.size() == 20);
  for (int i = 0; i < 20; ++i) {
    CHECK(archives[i].object == "a" + std::to_string(i) + ".tar");
    CHECK(archives[i].identity == bucket.store->identity(archives[i].object));
  }
  CHECK(bucket.store->count("stat") == 20);
}

TEST_CASE("a search that is stopped, or fails, leaves no look under way") {
  Bucket bucket(20);
  bucket.store->hold(true);
  auto found = std::async(std::launch::async, [&] { return bucket.find({"s3://bucket/a{0..19}.tar"}); });
  REQUIRE(soon([&] { return bucket.store->waiting() > 0; }));
  bucket.stop.request_stop();
  CHECK_THROWS_AS(found.get(), SetupError);
  CHECK(bucket.store->waiting() == 0);
  bucket.store->hold(false);
  bucket.stop = {};
  bucket.store->fail(1, {Trouble::kTransient, "it is down."});
  CHECK(bucket.error_of("s3://bucket/a{0..19}.tar").trouble() == Trouble::kTransient);
}

TEST_CASE("an archive that may not be read is not said to be missing") {
  Bucket bucket(1);
  bucket.store->fail(1, {Trouble::kDenied, "s3://bucket/a0.tar may not be read (403)."});
  const SetupError denied = bucket.error_of("s3://bucket/a0.tar");
  CHECK(denied.trouble() == Trouble::kDenied);
  CHECK(denied.error().message == "s3://bucket/a0.tar may not be read (403).");
  CHECK_THAT(bucket.error_of("s3://bucket/none.tar").error().message, Contains("neither a tar archive nor a folder"));
}

TEST_CASE("a folder whose own name may not be read is listed") {
  Bucket bucket(0);
  bucket.store->put("shards/0.tar", "x");
  bucket.store->fail(1, {Trouble::kDenied, "s3://bucket/shards may not be read (403)."});
  CHECK(bucket.find({"s3://bucket/shards"}).size() == 1);
}

}  // namespace spdld::source::remote_archives_test
