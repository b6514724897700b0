// A field that a pipeline keeps as its bytes: what is read again, and what never reaches a decoder.
#include <catch2/catch.hpp>
#include <fstream>

#include "daemon/pipeline/forms/caching.h"
#include "daemon/source/fetching/fetcher.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"

namespace spdld::kept_test {

using namespace spdld;
using test::TempFolder;

namespace {

config::PipelineSpec spec_of() {
  config::PipelineSpec spec;
  spec.cache = config::CacheForm::kEncoded;
  spec.order.epochs = 2;
  return spec;
}

// A data set of one file, which a pipeline reads through the cache.
class Reader {
 public:
  explicit Reader(const TempFolder& data) : listing_(test::open("image-folder", data.path().string())) {}

  // In a run of its own: what was kept before is looked at anew.
  std::string read(cache::Cache& cache, int times = 1) {
    const config::PipelineSpec spec = spec_of();
    sampler::Order order({config::Shuffle::kOff, 0, 0}, sampler::Subset(listing_->size()));
    const sampler::Mix mix(0, {{std::move(order), 0}}, {1}, sampler::Mix::Spread::kBehind, 0);
    pipeline::Caching caching(cache, spec);
    source::LocalFetcher fetcher(1);
    const auto fields = test::wanted(*listing_, {"image"});
    const pipeline::FieldUse use{.field = fields[0].field};
    caching.open(*listing_, mix, {&use, 1}, fetcher);
    std::string bytes;
    for (int i = 0; i < times; ++i) {
      auto request = test::request_for(*listing_, 0, fields);
      std::vector<cache::Found> found;
      std::vector<pipeline::FieldBytes> held;
      if (caching.look_up(request, found, held)) test::fetch_now(fetcher, request);
      for (int more = 0; !caching.settle(request, found, held); ++more) {
        REQUIRE(more == 0);
        test::fetch_now(fetcher, request);
      }
      bytes.assign(held[0].bytes.begin(), held[0].bytes.end());
    }
    report = caching.report().at(0);
    return bytes;
  }
  cache::ShelfReport report;  // after read()

 private:
  std::unique_ptr<source::Listing> listing_;
};

}  // namespace

TEST_CASE("what is kept is used while its file is as it was, and read again where it has changed") {
  const TempFolder data;
  data.file("c/0.jpg", "one");
  Reader reader(data);
  cache::Cache cache({.ram_bytes_max = 1 << 20});
  CHECK(reader.read(cache, 3) == "one");
  CHECK(reader.report.misses == 1);
  CHECK(reader.report.memory_hits == 2);
  CHECK(reader.read(cache) == "one");
  CHECK(reader.report.memory_hits == 3);
  CHECK(reader.report.stale == 0);
  data.file("c/0.jpg", "two!");
  CHECK(reader.read(cache, 2) == "two!");
  CHECK(reader.report.stale == 1);
  CHECK(reader.report.memory_hits == 5);
}

TEST_CASE("a copy on disk is used after a restart, and never where its bytes are others") {
  const TempFolder data, folder;
  data.file("c/0.jpg", std::string(5000, 'o'));
  const cache::Settings settings{.folder = folder.path() / "cache", .disk_bytes_max = 64 << 20};
  Reader reader(data);
  {
    cache::Cache cache(settings);
    CHECK(reader.read(cache) == std::string(5000, 'o'));
  }
  {
    cache::Cache cache(settings);
    CHECK(reader.read(cache) == std::string(5000, 'o'));
    CHECK(reader.report.disk_hits == 1);
    CHECK(reader.report.stale == 0);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (entry.path().filename() != "entries") continue;
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(2000);
    file.put('x');
  }
  cache::Cache cache(settings);
  CHECK(reader.read(cache) == std::string(5000, 'o'));
  CHECK(cache.report().damaged == 1);
}

}  // namespace spdld::kept_test
