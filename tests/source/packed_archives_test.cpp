// Webdatasets whose archives are compressed.
#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "daemon/source/fetching/fetch_router.h"
#include "daemon/source/listing.h"
#include "daemon/source/opening/opening.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/store/streams/fake_store.h"
#include "tests/support/makers/pack.h"
#include "tests/support/makers/tar_writer.h"
#include "tests/support/memory_store.h"

namespace spdld::packed_archives_test {
namespace {

using Catch::Contains;
using namespace source;
namespace fs = std::filesystem;

constexpr uint64_t kArchives = 3, kSamples = 120;

std::string jpg_of(uint64_t sample) { return test::noise(60'000 + sample % 7, sample); }

std::string tar_of(uint64_t archive) {
  test::TarWriter tar;
  for (uint64_t i = archive * kSamples; i < (archive + 1) * kSamples; ++i)
    tar.file(std::to_string(i) + ".jpg", jpg_of(i)).file(std::to_string(i) + ".cls", std::to_string(i));
  return tar.end().bytes();
}

std::string packed_as(const std::string& ending, const std::string& tar) {
  if (ending == "tar.gz" || ending == "tgz") return test::gzip(tar, 1, "a.tar");
  return ending == "tar.zst" ? test::zstd(tar) : tar;
}

config::SourceSpec spec_of(const std::string& uri, config::OnMissing on_missing = config::OnMissing::kRefuse) {
  config::SourceSpec spec;
  spec.type = "webdataset";
  spec.uris = {uri};
  spec.on_missing = on_missing;
  return spec;
}

std::string refusal_of(const config::SourceSpec& spec) {
  try {
    open_listing(spec, {}, {});
  } catch (const SetupError& error) {
    return error.what();
  }
  return "it was not refused";
}

struct Fetching {
  // Why the sample can't be fetched, or is wrong; empty: it is right.
  std::string fault_of(const Listing& listing, uint64_t sample) {
    auto request = test::request_for(listing, sample, test::wanted(listing, {"jpg", "cls"}));
    test::fetch_now(router, request);
    if (!request.ok) return request.error.message.empty() ? "no words" : request.error.message;
    const bool is_right =
        test::text(request.bytes[0]) == jpg_of(sample) && test::text(request.bytes[1]) == std::to_string(sample);
    return is_right ? "" : "other bytes";
  }
  size_t right(const Listing& listing) {
    size_t count = 0;
    for (uint64_t i = 0; i < listing.size(); ++i)
      count += fault_of(listing, i / kSamples * kSamples + i * 7 % kSamples).empty() ? 1 : 0;
    return count;
  }

  LocalFetcher local{1};
  FetchRouter router{local};
};

}  // namespace

TEST_CASE("compressed archives on a disk have the samples of plain ones") {
  const test::TempFolder temp;
  Fetching fetching;
  for (const std::string ending : {"tar", "tar.gz", "tgz", "tar.zst"}) {
    INFO(ending);
    for (uint64_t a = 0; a < kArchives; ++a)
      temp.file(ending + "/" + std::to_string(a) + "." + ending, packed_as(ending, tar_of(a)));
    uint64_t told = 0, total = 0;
    const auto spec = spec_of(temp / ending);
    const auto first = open_listing(
        spec, [&](auto, uint64_t done, uint64_t all) { told = done, total = all; }, {}, temp.path() / "kept");
    REQUIRE(first->size() == kArchives * kSamples);
    CHECK(told == total);
    CHECK(first->said().all().count == 0);
    CHECK((first->streaming() != nullptr) == (ending != "tar"));
    CHECK((first->store_concurrency() > 0) == (ending != "tar"));
    if (ending != "tar") CHECK(first->streaming()->goes_forward);
    CHECK(fetching.right(*first) == kArchives * kSamples);
  }
}

TEST_CASE("compressed archives in a store are read in order, whole, and from their kept index") {
  const test::TempFolder temp;
  const auto store = std::make_shared<test::MemoryStore>();
  for (uint64_t a = 0; a < kArchives; ++a)
    store->put("x/" + std::to_string(a) + (a == 1 ? ".tar.gz" : ".tar.zst"),
               packed_as(a == 1 ? "tgz" : "tar.zst", tar_of(a)));
  const Places places{{}, std::make_shared<test::OneStore>(store)};
  Fetching fetching;
  std::string fingerprint;
  for (int start = 0; start < 2; ++start) {
    const size_t reads = store->count("read");
    KeptUse use;
    const auto listing = open_listing(spec_of("s3://bucket/x"), {}, {}, temp.path() / "kept", &use, places);
    REQUIRE(listing->size() == kArchives * kSamples);
    CHECK(use.taken == (start == 0 ? 0 : kArchives));
    CHECK((store->count("read") == reads) == (start == 1));
    if (start == 1) CHECK(listing->fingerprint() == fingerprint);
    fingerprint = listing->fingerprint();
    CHECK(fetching.right(*listing) == kArchives * kSamples);
  }
  // Another object under the same name, after it was listed.
  const auto listing = open_listing(spec_of("s3://bucket/x"), {}, {}, temp.path() / "kept", nullptr, places);
  store->put("x/0.tar.zst", packed_as("tar.zst", tar_of(1)));
  CHECK_THAT(fetching.fault_of(*listing, 3), Contains("x/0.tar.zst") && Contains("was it replaced?"));
  CHECK(fetching.fault_of(*listing, kSamples + 3).empty());
}

TEST_CASE("an archive on a disk that is changed after it was listed gives no mixture") {
  const test::TempFolder temp;
  for (uint64_t a = 0; a < 2; ++a) temp.file(std::to_string(a) + ".tar.gz", packed_as("tgz", tar_of(a)));
  const auto listing = open_listing(spec_of(temp.path().string()), {}, {});
  Fetching fetching;
  CHECK(fetching.fault_of(*listing, 1).empty());
  temp.file("0.tar.gz", packed_as("tgz", tar_of(1)));
  temp.file("1.tar.gz", packed_as("tgz", tar_of(0)).substr(0, 100'000));
  const std::string fault = fetching.fault_of(*listing, kSamples + 100);
  CHECK_THAT(fault, Contains("1.tar.gz") && Contains("was it replaced?"));
  CHECK_THAT(fetching.fault_of(*listing, kSamples - 1), Contains("0.tar.gz") && Contains("was it replaced?"));
  CHECK_FALSE(listing->unchanged());
  fs::remove(temp.path() / "1.tar.gz");
  CHECK_THAT(fetching.fault_of(*listing, kSamples + 100), Contains("can't be opened"));
}

TEST_CASE("archives that are cut, damaged or a bomb are refused, and the samples before may be used") {
  const test::TempFolder temp;
  const std::string tar = tar_of(0);
  std::string damaged = packed_as("tgz", tar);
  damaged[damaged.size() - 6] ^= 1;  // of the checksum
  test::TarWriter bomb;
  bomb.file("0.jpg", "a").file("1.jpg", std::string(300 << 20, '\0')).end();
  const std::map<std::string, std::pair<std::string, std::string>> all = {
      {"cut.tgz", {packed_as("tgz", tar).substr(0, 3'000'000), "its gzip data is cut at byte 3000000 of 3000000"}},
      {"cut.tar.zst", {packed_as("tar.zst", tar).substr(0, 3'000'000), "its zstd data is cut at byte"}},
      {"damaged.tar.gz", {damaged, "its gzip data is damaged (a checksum or a size is wrong) at byte"}},
      {"bomb.tar.zst",
       {test::zstd(bomb.bytes(), 3), "its zstd data unpacks to more than 1024 times its size at byte"}}};
  Fetching fetching;
  for (const auto& [name, one] : all) {
    INFO(name);
    temp.file(name, one.first);
    CHECK_THAT(refusal_of(spec_of(temp / name)), Contains(name + ": " + one.second) && Contains("samples before"));
    if (name == "bomb.tar.zst") continue;
    const auto listing = open_listing(spec_of(temp / name, config::OnMissing::kWarn), {}, {});
    CHECK(listing->size() > 30);
    CHECK(listing->missing_count() == 1);
    CHECK(fetching.fault_of(*listing, listing->size() - 1).empty());
  }
  temp.file("none.tar.gz", test::gzip("this is no archive"));
  CHECK_THAT(refusal_of(spec_of(temp / "none.tar.gz")), Contains("is not a tar archive"));
  temp.file("both/twice.tar", tar);
  temp.file("both/twice.tar.zst", packed_as("tar.zst", tar));
  CHECK_THAT(refusal_of(spec_of(temp / "both")), Contains("holds both twice.tar and twice.tar.zst"));
}

TEST_CASE("what compressed archives can't do is refused with the option to write") {
  const test::TempFolder temp;
  temp.file("a.tar.gz", packed_as("tgz", tar_of(0)));
  auto spec = spec_of(temp / "a.tar.gz");
  spec.access = config::Access::kRanges;
  CHECK_THAT(refusal_of(spec), Contains("is compressed by gzip") && Contains("write access = \"stream\""));
  temp.file("b.tar.zst", test::zstd(tar_of(0), 3, 27));
  spec = spec_of(temp / "b.tar.zst");
  spec.stream_bytes_max = 64 << 20;
  CHECK_THAT(refusal_of(spec), Contains("source.stream_bytes_max = \"516 MiB\" or more"));
  spec.stream_bytes_max = 516 << 20;
  CHECK(open_listing(spec, {}, {})->size() == kSamples);
}

}  // namespace spdld::packed_archives_test
