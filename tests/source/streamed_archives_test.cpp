// Webdatasets in remote stores that are read in large blocks.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>

#include "daemon/source/fetching/fetch_router.h"
#include "daemon/source/listing.h"
#include "daemon/source/opening/opening.h"
#include "tests/source/fetching.h"
#include "tests/store/streams/fake_store.h"
#include "tests/support/makers/tar_writer.h"
#include "tests/support/soon.h"

namespace spdld::streamed_archives_test {
namespace {

using namespace source;
using test::FakeStore;

constexpr uint64_t kArchives = 3, kSamples = 300, kBlockBytes = 4 << 20;

class FakeStores final : public store::Stores {
 public:
  explicit FakeStores(std::shared_ptr<FakeStore> store) : store_(std::move(store)) {}
  Found find(const std::string& uri) const override { return {store_, uri.substr(uri.rfind('/') + 1)}; }

 private:
  const std::shared_ptr<FakeStore> store_;
};

std::string jpg_of(uint64_t sample) { return test::noise(20'000 + sample % 7, sample); }

struct DataSet {
  DataSet() {
    std::map<std::string, std::string> archives;
    for (uint64_t a = 0; a < kArchives; ++a) {
      test::TarWriter tar;
      for (uint64_t i = a * kSamples; i < (a + 1) * kSamples; ++i)
        tar.file(std::to_string(i) + ".jpg", jpg_of(i)).file(std::to_string(i) + ".cls", std::to_string(i));
      archives["a" + std::to_string(a) + ".tar"] = tar.end().bytes();
    }
    for (const auto& [name, bytes] : archives) all_bytes += bytes.size();
    store = std::make_shared<FakeStore>(std::move(archives));
    spec.type = "webdataset";
    spec.uris = {"https://host/a{0..2}.tar"};
    spec.access = config::Access::kStream;
  }
  std::unique_ptr<Listing> list() {
    return open_listing(spec, {}, {}, {}, nullptr, {{}, std::make_shared<FakeStores>(store)});
  }

  std::shared_ptr<FakeStore> store;
  config::SourceSpec spec;
  uint64_t all_bytes = 0;
};

// Whether the sample that is fetched has the bytes of the archive.
bool is_right(Fetcher& fetcher, const Listing& listing, uint64_t sample) {
  auto request = test::request_for(listing, sample, test::wanted(listing, {"jpg", "cls"}));
  test::fetch_now(fetcher, request);
  return request.ok && test::text(request.bytes[0]) == jpg_of(sample) &&
         test::text(request.bytes[1]) == std::to_string(sample);
}

}  // namespace

TEST_CASE("an archive that is streamed comes in blocks, and each byte about once in an epoch") {
  DataSet data;
  const auto listing = data.list();
  REQUIRE(listing->size() == kArchives * kSamples);
  CHECK(listing->store_concurrency() > data.store->concurrency());
  LocalFetcher local(1);
  FetchRouter router(local);
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    const uint64_t requests = data.store->requests(), bytes = data.store->bytes();
    size_t right = 0;
    for (uint64_t i = 0; i < listing->size(); ++i)
      right += is_right(router, *listing, (i * 7 + epoch) % kSamples + i / kSamples * kSamples) ? 1 : 0;
    CHECK(right == listing->size());
    CHECK(data.store->requests() - requests <= data.all_bytes / kBlockBytes + kArchives + 1);
    CHECK(data.store->bytes() - bytes <= data.all_bytes * 105 / 100);
  }
}

TEST_CASE("without a stream each sample is a request; the listing is the same") {
  DataSet data;
  const auto streamed = data.list();
  data.spec.access = config::Access::kRanges;
  const auto ranges = data.list();
  CHECK(ranges->fingerprint() == streamed->fingerprint());
  CHECK(ranges->streaming() == nullptr);
  REQUIRE(streamed->streaming() != nullptr);
  CHECK(streamed->streaming()->bytes_max == config::kStreamBytes);
  CHECK(streamed->streaming()->bytes > kArchives * kSamples * 20'000);
  LocalFetcher local(1);
  FetchRouter router(local);
  const uint64_t requests = data.store->requests();
  for (uint64_t i = 0; i < 20; ++i) CHECK(is_right(router, *ranges, i));
  CHECK(data.store->requests() == requests + 20);
}

TEST_CASE("samples that are expected bring the blocks of their archives") {
  DataSet data;
  const auto listing = data.list();
  const uint64_t requests = data.store->requests();
  listing->expect(kSamples, 0, 100);
  listing->expect(kSamples + 1, 1, 100);
  REQUIRE(test::soon([&] { return data.store->requests() > requests; }));
  LocalFetcher local(1);
  FetchRouter router(local);
  CHECK(is_right(router, *listing, kSamples));
  CHECK(data.store->requests() == requests + 1);
}

}  // namespace spdld::streamed_archives_test
