#include "daemon/pipeline/spare_time.h"

#include <catch2/catch.hpp>

#include "tests/pipeline/rig.h"

namespace spdld::spare_time_test {

using namespace spdld;
using pipeline::SpareTime;

TEST_CASE("half of the time in which all slots are ready or held may be used") {
  SpareTime spare;
  CHECK_FALSE(spare.has_some());
  spare.on_batch(1000, true);  // the first batch: nothing was full before
  CHECK_FALSE(spare.has_some());
  spare.on_full(2000);
  CHECK_FALSE(spare.has_some());
  spare.on_batch(3000, true);
  CHECK(spare.has_some());
  spare.spend(499);
  CHECK(spare.has_some());
  spare.spend(1);
  CHECK_FALSE(spare.has_some());
}

TEST_CASE("what was used beyond it is made up for first") {
  SpareTime spare;
  spare.on_full(1000);
  spare.on_batch(2000, true);
  spare.spend(1500);
  spare.on_full(3000);
  spare.on_batch(4000, true);
  CHECK_FALSE(spare.has_some());  // 500 - 1500 + 500
  spare.on_full(5000);
  spare.on_batch(7002, true);
  CHECK(spare.has_some());
}

TEST_CASE("a second batch under way ends it, and a long time counts in part") {
  SpareTime spare;
  spare.on_full(1);
  spare.on_batch(uint64_t{1} << 50, true);
  spare.spend(SpareTime::kMostNs - 1);
  CHECK(spare.has_some());
  spare.spend(1);
  CHECK_FALSE(spare.has_some());
  spare.on_full(1);
  spare.on_batch(uint64_t{1} << 50, true);
  spare.on_batch((uint64_t{1} << 50) + 1, false);
  CHECK_FALSE(spare.has_some());
}

namespace {

// Of a stream over 40 samples in their order, in batches of four: its samples by whether they had spare time.
struct Seen {
  explicit Seen(size_t slots) : rig({.samples = 40, .epochs = 0, .shuffle = false, .threads = 1, .slots = slots}) {
    rig.fetcher.set_witness([this](const source::FetchRequest& request) {
      ++(static_cast<const pipeline::Passage&>(request).spare ? with : without);
    });
  }
  ~Seen() { rig.fetcher.set_witness({}); }
  uint64_t with = 0, without = 0;  // read while nothing is under way
  test::Rig rig;
};

}  // namespace

TEST_CASE("a stream has spare time when its ring was full") {
  Seen seen(1);
  seen.rig.fill_all();
  for (int i = 0; i < 5; ++i) seen.rig.take();
  seen.rig.take(false);
  CHECK(seen.without == 4);
  CHECK(seen.with == 5 * 4);
}

TEST_CASE("a stream has none while a trainer takes each batch before the next is there") {
  Seen seen(2);
  uint64_t last = 7;  // of the batch under way
  seen.rig.fetcher.hold(3);
  seen.rig.fetcher.hold(last);
  seen.rig.fill_all();
  seen.rig.fetcher.let_go(3);
  for (int i = 0; i < 5; ++i) {
    seen.rig.fetcher.hold(last + 4);
    seen.rig.take();
    seen.rig.fetcher.let_go(last);
    last += 4;
  }
  seen.rig.take(false);
  seen.rig.fetcher.let_go(last);
  seen.rig.take(false);
  CHECK(seen.without == 7 * 4);
  CHECK(seen.with == 0);
}

}  // namespace spdld::spare_time_test
