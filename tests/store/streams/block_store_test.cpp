#include "daemon/store/streams/block_store.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <numeric>
#include <thread>

#include "daemon/store/streams/range_filler.h"
#include "tests/store/streams/fake_store.h"
#include "tests/store/streams/reads.h"
#include "tests/support/soon.h"

namespace spdld::store::streams::block_store_test {
namespace {

using test::FakeStore;
using test::noise;
using test::Reads;

constexpr uint64_t kMember = 50'000;

// Archives of members, as a webdataset has them, in blocks that come from a fake store.
struct Archives {
  explicit Archives(size_t count, size_t bytes, uint64_t bytes_max = 64 * kBlockBytes) {
    std::map<std::string, std::string> objects;
    for (size_t i = 0; i < count; ++i) objects["a" + std::to_string(i)] = noise(bytes, i);
    inner = std::make_shared<FakeStore>(std::move(objects));
    std::vector<BlockStore::Object> blocked;
    std::vector<RangeFiller::Object> ranges;
    for (size_t i = 0; i < count; ++i) {
      const std::string name = "a" + std::to_string(i);
      blocked.push_back({"fake://" + name, bytes, {}});
      for (uint64_t at = 0; at < bytes; at += kBlockBytes)
        blocked.back().useful.push_back(static_cast<uint32_t>(std::min<uint64_t>(kBlockBytes, bytes - at)));
      ranges.push_back({inner, name, {bytes, 1}});
    }
    store =
        std::make_unique<BlockStore>(std::move(blocked), std::make_unique<RangeFiller>(std::move(ranges)), bytes_max);
  }
  static std::string name(size_t archive) { return "fake://a" + std::to_string(archive); }
  std::string_view member(size_t archive, uint64_t number) const {
    return std::string_view(inner->at("a" + std::to_string(archive))).substr(number * kMember, kMember);
  }

  std::shared_ptr<FakeStore> inner;
  std::unique_ptr<BlockStore> store;
};

// A number that is below `count`, another one for each i below it.
uint64_t shuffled(uint64_t i, uint64_t count) {
  uint64_t step = count / 2 + 1;
  while (std::gcd(step, count) != 1) ++step;
  return i * step % count;
}

}  // namespace

TEST_CASE("a window over archives takes a request for a block, and each byte once; so does the next epoch") {
  constexpr size_t kArchives = 6, kMembers = 400;  // 20 MB each
  const Archives archives(kArchives, kMembers * kMember);
  constexpr uint64_t kBlocks = kArchives * ((kMembers * kMember + kBlockBytes - 1) / kBlockBytes);
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    Reads reads(*archives.store);
    for (uint64_t window = 0; window < kArchives / 2; ++window)
      for (uint64_t i = 0; i < 2 * kMembers; ++i) {
        const uint64_t place = shuffled(i, 2 * kMembers), archive = 2 * window + place / kMembers;
        reads.begin(Archives::name(archive), place % kMembers * kMember, archives.member(archive, place % kMembers));
        reads.wait_for(200);
      }
    CHECK(reads.good() == kArchives * kMembers);
    CHECK(archives.inner->requests() <= (epoch + 1) * (kBlocks + kBlocks / 20));
    CHECK(archives.inner->bytes() <= (epoch + 1) * kArchives * kMembers * kMember * 105 / 100);
  }
  CHECK(archives.store->counts().held_bytes == 0);  // all was given out
  CHECK(archives.store->counts().pressed == 0);
}

TEST_CASE("what is expected is there before it is read, and room is made only by blocks that are past") {
  const Archives archives(1, 40 * kBlockBytes, 16 * kBlockBytes);
  const auto expect = [&](uint64_t block, uint64_t place) {
    archives.store->expect(Archives::name(0), block * kBlockBytes, 100, place, 100);
  };
  const auto blocks = [&] { return archives.store->counts().blocks; };
  for (uint64_t block = 0; block < 20; ++block) expect(block, 10);
  REQUIRE(test::soon([&] { return blocks() == 16; }));
  CHECK(archives.store->counts().held_bytes_peak == 16 * kBlockBytes);
  {
    Reads reads(*archives.store);
    reads.begin(Archives::name(0), 15 * kBlockBytes,
                std::string_view(archives.inner->at("a0")).substr(15 * kBlockBytes, 9));
    CHECK(reads.good() == 1);
  }
  CHECK(archives.inner->requests() == 16);
  expect(16, 60);
  expect(16, 110);
  expect(16, 5000);  // a jump: it says nothing of the blocks that are there
  expect(16, 110);
  CHECK(archives.inner->requests() == 16);  // the order may still come to the first blocks
  expect(16, 111);
  REQUIRE(test::soon([&] { return blocks() == 17; }));
  CHECK(archives.store->counts().pressed == 0);
}

TEST_CASE("a filler hears of room when a block leaves because it was given, and when the order is past it") {
  // Counts what it hears; blocks come as from any other.
  class Hearing final : public BlockFiller {
   public:
    Hearing(std::vector<RangeFiller::Object> objects, std::atomic<int>& heard)
        : inner_(std::move(objects)), heard_(heard) {}
    void start(BlockShelf& shelf) override { inner_.start(shelf); }
    void want(BlockId block, Urgency urgency) override { inner_.want(block, urgency); }
    void note_room() override { ++heard_; }
    void stop() override { inner_.stop(); }
    unsigned concurrency() const override { return inner_.concurrency(); }

   private:
    RangeFiller inner_;
    std::atomic<int>& heard_;
  };
  constexpr uint64_t kBlocks = 4;
  const auto inner =
      std::make_shared<FakeStore>(std::map<std::string, std::string>{{"a", noise(kBlocks * kBlockBytes, 1)}});
  std::atomic<int> heard = 0;
  BlockStore store(
      {{"fake://a", kBlocks * kBlockBytes, std::vector<uint32_t>(kBlocks, kBlockBytes)}},
      std::make_unique<Hearing>(std::vector<RangeFiller::Object>{{inner, "a", {kBlocks * kBlockBytes, 1}}}, heard),
      64 * kBlockBytes);
  const std::string_view bytes = inner->at("a");
  const auto read = [&](uint64_t at, uint64_t count) {
    Reads reads(store);
    reads.begin("fake://a", at, bytes.substr(at, count));
    CHECK(reads.good() == 1);
  };
  read(0, kBlockBytes - 1);
  CHECK(heard == 0);  // a byte of it is still of use
  read(kBlockBytes - 1, 1);
  CHECK(test::soon([&] { return heard == 1; }));
  CHECK(store.counts().held_bytes == 0);
  store.expect("fake://a", kBlockBytes, 100, 10, 100);
  REQUIRE(test::soon([&] { return store.counts().blocks == 2; }));
  store.expect("fake://a", 2 * kBlockBytes, 100, 60, 100);
  REQUIRE(test::soon([&] { return store.counts().blocks == 3; }));
  CHECK(heard == 1);
  store.expect("fake://a", 3 * kBlockBytes, 100, 111, 100);  // the order is past the first of the two
  CHECK(test::soon([&] { return heard == 2; }));
}

TEST_CASE("an order that needs more than the bound still reads everything, with more requests") {
  const Archives archives(2, 30 * kBlockBytes, 16 * kBlockBytes);
  Reads reads(*archives.store);
  const std::string_view text = archives.inner->at("a1");
  for (uint64_t i = 0; i < 300; ++i) {
    const uint64_t offset = shuffled(i, 300) * (kBlockBytes / 10);
    reads.begin(Archives::name(1), offset, text.substr(offset, 5000));
    reads.wait_for(60);
  }
  CHECK(reads.good() == 300);
  CHECK(archives.inner->requests() > 30);
  CHECK(archives.store->counts().held_bytes_peak <= 16 * kBlockBytes);
}

TEST_CASE("a read over many blocks, in pieces with gaps") {
  const Archives archives(1, 40 * kBlockBytes + 17, 16 * kBlockBytes);
  Reads reads(*archives.store);
  const std::string_view text = archives.inner->at("a0");
  reads.begin(Archives::name(0), 3, text.substr(3));  // longer than all that may be held
  CHECK(reads.good() == 1);

  std::string got(12, '-');
  Reads::One one;
  one.read.object = Archives::name(0);
  one.read.offset = kBlockBytes - 10;
  one.read.bytes = 20;
  one.read.pieces = {{kBlockBytes - 10, 5, reinterpret_cast<uint8_t*>(got.data())},
                     {kBlockBytes - 1, 7, reinterpret_cast<uint8_t*>(got.data() + 5)}};
  reads.ask(one);
  reads.wait_for(0);
  CHECK(one.read.status);
  CHECK(got.substr(5) == text.substr(kBlockBytes - 1, 7));
  CHECK(got.substr(0, 5) == text.substr(kBlockBytes - 10, 5));
}

TEST_CASE("errors reach all that wait, and the next read asks again") {
  const Archives archives(1, 3 * kBlockBytes);
  archives.inner->hold(true);
  archives.inner->fail_next(Trouble::kTransient);
  Reads reads(*archives.store);
  const std::string_view text = archives.inner->at("a0");
  auto& first = reads.begin(Archives::name(0), 5, text.substr(5, 10));
  auto& second = reads.begin(Archives::name(0), 500, text.substr(500, 10));
  reads.begin(Archives::name(0), kBlockBytes, text.substr(kBlockBytes, 10));
  // The request of the third read says that the other two wait.
  REQUIRE(test::soon([&] { return archives.inner->requests() == 2; }));
  archives.inner->hold(false);
  CHECK(reads.good() == 1);
  CHECK(first.read.status.error().trouble == Trouble::kTransient);
  CHECK(second.read.status.error().message == "a0 failed.");
  reads.begin(Archives::name(0), 5, text.substr(5, 10));
  CHECK(reads.good() == 2);
  auto& outside = reads.begin(Archives::name(0), 3 * kBlockBytes - 5, "123456");
  auto& unknown = reads.begin("fake://b", 0, "1");
  auto& empty = reads.begin(Archives::name(0), 7, "");
  reads.wait_for(0);
  CHECK(outside.read.status.error().trouble == Trouble::kContent);
  CHECK(unknown.read.status.error().trouble == Trouble::kInternal);
  CHECK(empty.read.status);
}

TEST_CASE("a read that is cancelled ends at once, and so do all when the store ends") {
  auto archives = std::make_unique<Archives>(1, 3 * kBlockBytes);
  archives->inner->hold(true);
  Reads reads(*archives->store);
  const std::string text = archives->inner->at("a0");
  auto& first = reads.begin(Archives::name(0), 5, text.substr(5, 10));
  auto& second = reads.begin(Archives::name(0), 500, text.substr(500, 10));
  REQUIRE(test::soon([&] { return archives->inner->requests() == 1; }));
  archives->store->cancel(first.read);
  reads.wait_for(1);
  CHECK(first.read.status.error().trouble == Trouble::kStopping);
  archives->store.reset();
  reads.wait_for(0);
  CHECK(second.read.status.error().trouble == Trouble::kStopping);
}

TEST_CASE("many threads read, expect and cancel at once") {
  const Archives archives(4, 10 * kBlockBytes, 16 * kBlockBytes);
  std::vector<std::thread> threads;
  std::vector<size_t> good(4);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      Reads reads(*archives.store);
      size_t cancelled = 0;
      for (uint64_t i = 0; i < 400; ++i) {
        const uint64_t offset = shuffled(i + t * 100, 400) * (kBlockBytes / 40);
        const size_t archive = (t + i / 100) % 4;
        archives.store->expect(Archives::name((archive + 1) % 4), offset, 1000, i, 50);
        const std::string_view text = archives.inner->at("a" + std::to_string(archive));
        auto& one = reads.begin(Archives::name(archive), offset, text.substr(offset, 3000));
        if (i % 50 == 7) archives.store->cancel(one.read), ++cancelled;
        reads.wait_for(30);
      }
      good[t] = reads.good() + cancelled;
    });
  }
  for (auto& thread : threads) thread.join();
  for (const size_t one : good) CHECK(one >= 400);
  CHECK(archives.store->counts().held_bytes_peak <= 16 * kBlockBytes);
}

}  // namespace spdld::store::streams::block_store_test
