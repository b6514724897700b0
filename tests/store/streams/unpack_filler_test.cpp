#include "daemon/store/streams/unpack_filler.h"

#include <catch2/catch.hpp>
#include <memory>
#include <numeric>
#include <thread>

#include "daemon/store/object_view.h"
#include "daemon/store/streams/block_store.h"
#include "tests/store/streams/fake_store.h"
#include "tests/store/streams/reads.h"
#include "tests/support/makers/pack.h"

namespace spdld::store::streams::unpack_filler_test {
namespace {

using test::FakeStore;
using test::Reads;
using unpack::Compression;

constexpr uint64_t kMember = 50'000;

// Compressed archives, every other one by gzip, in a fake store.
struct Packed {
  Packed(size_t count, size_t bytes, uint64_t bytes_max, unsigned decoders = 8) {
    std::map<std::string, std::string> packed;
    for (size_t i = 0; i < count; ++i) {
      texts.push_back(test::noise(bytes, i));
      packed["a" + std::to_string(i)] = i % 2 == 0 ? test::gzip(texts[i], 0) : test::zstd(texts[i]);
    }
    change = [packed](size_t i) { return packed.at("a" + std::to_string(i)).size(); };
    inner = std::make_shared<FakeStore>(packed);
    std::vector<BlockStore::Object> objects;
    std::vector<UnpackFiller::Object> fill;
    for (size_t i = 0; i < count; ++i) {
      objects.push_back({name(i), bytes, {}});
      for (uint64_t at = 0; at < bytes; at += kBlockBytes)
        objects.back().useful.push_back(static_cast<uint32_t>(std::min<uint64_t>(kBlockBytes, bytes - at)));
      fill.push_back({name(i), i % 2 == 0 ? Compression::kGzip : Compression::kZstd, bytes,
                      [this, i](const std::stop_token& stop) -> Result<std::unique_ptr<View>> {
                        return std::unique_ptr<View>(std::make_unique<ObjectView>(*inner, "a" + std::to_string(i),
                                                                                  Identity{change(i), 1}, stop));
                      }});
    }
    auto made = std::make_unique<UnpackFiller>(std::move(fill), decoders);
    filler = made.get();
    store = std::make_unique<BlockStore>(std::move(objects), std::move(made), bytes_max);
  }
  static std::string name(size_t archive) { return "fake://a" + std::to_string(archive); }
  std::string_view member(size_t archive, uint64_t number) const {
    return std::string_view(texts[archive]).substr(number * kMember, kMember);
  }
  void expect(uint64_t member, uint64_t members, uint64_t place, uint64_t horizon) {
    store->expect(name(member / members), member % members * kMember, kMember, place, horizon);
  }

  std::vector<std::string> texts;
  std::function<size_t(size_t)> change;  // the size of a compressed archive
  std::shared_ptr<FakeStore> inner;
  UnpackFiller* filler = nullptr;
  std::unique_ptr<BlockStore> store;
};

uint64_t shuffled(uint64_t i, uint64_t count) {
  uint64_t step = count / 2 + 1;
  while (std::gcd(step, count) != 1) ++step;
  return i * step % count;
}

}  // namespace

TEST_CASE(
    "a window over compressed archives unpacks each of them once an epoch, whether the next one is expected or not") {
  constexpr uint64_t kArchives = 4, kMembers = 400, kWindow = 500, kAll = kArchives * kMembers;
  for (const bool expects : {true, false}) {
    Packed packed(kArchives, kMembers * kMember, 3 * kWindow * kMember);
    for (uint64_t epoch = 0; epoch < 2; ++epoch) {
      Reads reads(*packed.store);
      for (uint64_t i = 0; i < kAll; ++i) {
        const uint64_t window = i / kWindow * kWindow, width = std::min(kWindow, kAll - window);
        const uint64_t member = window + shuffled(i - window, width), ahead = i + kWindow;
        if (expects && ahead < kAll) packed.expect(ahead, kMembers, epoch * kAll + i, 2 * kWindow);
        reads.begin(Packed::name(member / kMembers), member % kMembers * kMember,
                    packed.member(member / kMembers, member % kMembers));
        reads.wait_for(50);
      }
      CHECK(reads.good() == kAll);
    }
    INFO("expects: " << expects);
    CHECK(packed.filler->counts().begun == 2 * kArchives);
    CHECK(packed.filler->counts().restarts == 0);
    CHECK(packed.store->counts().held_bytes_peak <= 3 * kWindow * kMember);
    CHECK(packed.store->counts().pressed == 0);
  }
}

TEST_CASE("an order that goes on in the middle of an archive passes over its beginning, in bounded memory") {
  Packed packed(1, 30 * kBlockBytes, 8 * kBlockBytes);
  Reads reads(*packed.store);
  for (uint64_t i = 0; i < 60; ++i) {  // members of the last blocks, shuffled
    const uint64_t offset = 24 * kBlockBytes + shuffled(i, 60) * (5 * kBlockBytes / 60);
    reads.begin(Packed::name(0), offset, std::string_view(packed.texts[0]).substr(offset, 1000));
  }
  CHECK(reads.good() == 60);
  CHECK(packed.filler->counts().begun == 1);
  CHECK(packed.store->counts().held_bytes_peak <= 8 * kBlockBytes);
}

TEST_CASE("any order reads the right bytes, with restarts that are counted") {
  Packed packed(2, 20 * kBlockBytes, 8 * kBlockBytes, 2);
  Reads reads(*packed.store);
  for (uint64_t i = 0; i < 30; ++i) {
    const uint64_t archive = i % 2, offset = shuffled(i, 30) * (20 * kBlockBytes / 30);
    reads.begin(Packed::name(archive), offset, std::string_view(packed.texts[archive]).substr(offset, 5000));
    reads.wait_for(3);
  }
  CHECK(reads.good() == 30);
  CHECK(packed.filler->counts().restarts > 0);
  CHECK(packed.filler->counts().restarts < 30);
  CHECK(packed.store->counts().held_bytes_peak <= 8 * kBlockBytes);
}

TEST_CASE("damage is told to all who read behind it, without another start, and an outage is not damage") {
  Packed packed(1, 5 * kBlockBytes, 16 * kBlockBytes);
  const std::string& text = packed.texts[0];
  packed.change = [](size_t) { return 3 * kBlockBytes; };  // as if the archive were cut there
  {
    packed.inner->fail_next(Trouble::kTransient);
    Reads reads(*packed.store);
    const auto& one = reads.begin(Packed::name(0), 5, std::string_view(text).substr(5, 10));
    CHECK(reads.good() == 0);
    CHECK(one.read.status.error().trouble == Trouble::kTransient);
  }
  Reads reads(*packed.store);
  reads.begin(Packed::name(0), 2 * kBlockBytes, std::string_view(text).substr(2 * kBlockBytes, 10));
  CHECK(reads.good() == 1);
  for (uint64_t i = 0; i < 20; ++i) {
    const auto& one = reads.begin(Packed::name(0), (3 + i % 2) * kBlockBytes + 100 * i, "x");
    reads.wait_for(0);
    REQUIRE_FALSE(one.read.status);
    CHECK(one.read.status.error().trouble == Trouble::kContent);
    CHECK_THAT(
        one.read.status.error().message,
        Catch::Contains("the archive fake://a0 can't be unpacked beyond byte") && Catch::Contains("is cut at byte"));
  }
  CHECK(packed.filler->counts().begun <= 4);
}

TEST_CASE("many threads read compressed archives, and the store ends under them") {
  auto packed = std::make_unique<Packed>(3, 6 * kBlockBytes, 8 * kBlockBytes, 3);
  std::vector<std::thread> threads;
  std::vector<size_t> good(4);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      Reads reads(*packed->store);
      for (uint64_t i = 0; i < 60; ++i) {
        const uint64_t archive = (t + i / 20) % 3, offset = i % 20 * kMember + i / 20 * kBlockBytes;
        packed->store->expect(Packed::name(archive), offset, kMember, i, 50);
        reads.begin(Packed::name(archive), offset, std::string_view(packed->texts[archive]).substr(offset, 1000));
        reads.wait_for(10);
      }
      good[t] = reads.good();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const size_t one : good) CHECK(one == 60);
  Reads reads(*packed->store);
  packed->inner->hold(true);
  for (uint64_t i = 0; i < 3; ++i) reads.begin(Packed::name(i), 5 * kBlockBytes, "x");
  packed->store.reset();
  reads.wait_for(0);
}

}  // namespace spdld::store::streams::unpack_filler_test
