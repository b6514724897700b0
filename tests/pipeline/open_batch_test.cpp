#include "daemon/pipeline/open_batch.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <mutex>
#include <thread>

#include "daemon/memory/host/host_slot.h"

namespace spdld::open_batch_test {

using pipeline::OpenBatch;
using pipeline::SampleRange;

namespace {

struct Opened {
  explicit Opened(uint64_t samples) {
    slot.memory = std::make_unique<memory::HostSlot>(4096, memory::Access::kWritable);
    open.open({&slot, 0, {}, {0, samples, 0}}, {}, 0);
  }
  batch::Slot slot;
  OpenBatch open;
};

}  // namespace

TEST_CASE("threads take every sample of a batch once") {
  Opened opened(10'000);
  std::mutex mutex;
  std::vector<uint64_t> taken;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; i++)
      threads.emplace_back([&, i] {
        for (;;) {
          const SampleRange range = opened.open.take(1 + 7 * i, 4);
          if (range.count == 0) return;
          const std::lock_guard lock(mutex);
          for (uint64_t k = 0; k < range.count; k++) taken.push_back(range.first + k);
        }
      });
  }
  std::sort(taken.begin(), taken.end());
  REQUIRE(taken.size() == 10'000);
  for (uint64_t i = 0; i < taken.size(); i++) REQUIRE(taken[i] == i);
  CHECK_FALSE(opened.open.has_untaken());
}

TEST_CASE("runs get short near the end of a batch, so that there are some for all threads") {
  Opened opened(64);
  CHECK(opened.open.take(32, 4).count == 8);
  CHECK(opened.open.take(32, 4).count == 7);
  CHECK(opened.open.take(4, 4).count == 4);
  uint64_t taken = 19;
  while (taken < 64) {
    const SampleRange range = opened.open.take(32, 4);
    CHECK(range.count <= std::max<uint64_t>((64 - taken) / 8, 4));
    taken += range.count;
  }
  CHECK(opened.open.take(32, 4).count == 0);
  Opened dear(64);  // samples that are taken one by one stay so
  for (int i = 0; i < 64; i++) CHECK(dear.open.take(1, 4).count == 1);
}

TEST_CASE("samples that were given back come first, one by one") {
  Opened opened(100);
  const SampleRange range = opened.open.take(10, 1);
  REQUIRE(range.count == 10);
  opened.open.give_back({7, 3});
  CHECK(opened.open.has_returned());
  for (uint64_t i = 7; i < 10; i++) {
    const SampleRange one = opened.open.take_first(32, 1);
    CHECK(one.first == i);
    CHECK(one.count == 1);
  }
  CHECK_FALSE(opened.open.has_returned());
  CHECK(opened.open.take_first(5, 1).first == 10);
}

TEST_CASE("an abandoned batch is whole once the samples that were taken are finished") {
  Opened opened(100);
  REQUIRE(opened.open.take(20, 1).count == 20);
  opened.open.give_back({15, 5});
  CHECK(opened.open.abandon() == 85);
  CHECK(opened.open.is_abandoned());
  CHECK(opened.open.take(10, 1).count == 0);
  CHECK_FALSE(opened.open.has_untaken());
  CHECK_FALSE(opened.open.is_whole());
  opened.open.finish(15);
  CHECK(opened.open.is_whole());
  opened.open.open({&opened.slot, 1, {}, {0, 3, 0}}, {}, 0);  // the slot is filled anew
  CHECK_FALSE(opened.open.is_abandoned());
  CHECK(opened.open.take(1, 1).first == 0);
}

}  // namespace spdld::open_batch_test
