// Streams whose samples are at hand, so that tasks take many of them at once.
#include <set>

#include "tests/pipeline/rig.h"

namespace spdld::runs_test {

using namespace spdld::test;

namespace {

Given many() {
  Given given;
  given.samples = 2000, given.batch_size = 256, given.epochs = 0, given.shuffle = false, given.slots = 4;
  return given;
}

std::vector<int64_t> ids_from(int64_t first, int64_t count) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; i++) ids.push_back(first + i);
  return ids;
}

}  // namespace

TEST_CASE("samples that are at hand come in order, each once, whatever else must be fetched") {
  const uint64_t every = GENERATE(0, 1, 2, 13, 100);
  Given given = many();
  given.at_hand = GENERATE(false, true);
  Rig rig(given);
  rig.fetcher.set_at_hand(every);
  rig.fill_all();
  for (int epoch = 0; epoch < 3; epoch++)
    for (int step = 0; step < 8; step++) {
      const Received got = rig.take();
      REQUIRE(got.ids == ids_from(256 * step, step < 7 ? 256 : 2000 - 7 * 256));
      REQUIRE(got.values == tenfold(got.ids));
    }
  for (uint64_t i = 0; i < 100; i++) CHECK(rig.fetcher.asked(i) >= 3);
  if (given.at_hand && every == 0) CHECK(rig.fetcher.outstanding_peak() == 0);  // decode threads read them all
}

TEST_CASE("no sample waits behind one that must be fetched, nor does a later batch") {
  Given given = many();
  given.epochs = 1;
  Rig rig(given);
  rig.fetcher.set_at_hand(1500);  // all but the first and this one
  rig.fetcher.hold(1500);
  rig.fill_all();
  for (int step = 0; step < 5; step++) CHECK(rig.take().ids == ids_from(256 * step, 256));
  // All other samples are decoded although tasks took many at once when this one came.
  while (rig.pipeline->stages().back()->statistics().samples.value() < 1999) std::this_thread::yield();
  rig.fetcher.let_go(1500);
  for (int step = 5; step < 8; step++) CHECK(rig.take().batch.position.step == static_cast<uint64_t>(step));
}

TEST_CASE("seeks among samples at hand give every slot back once, and the right samples") {
  Given given = many();
  given.threads = 3;
  Rig rig(given);
  rig.fetcher.set_at_hand(50);
  rig.fill_all();
  for (uint32_t run = 1; run <= 60; run++) {
    const uint64_t step = run % 7;
    rig.seek(run, {run, step});
    rig.fill_all();
    if (run % 3) continue;
    for (int i = 0; i < 3; i++) {
      const Received got = rig.take();
      CHECK(got.batch.run == run);
      REQUIRE(got.values == tenfold(got.ids));
      if (i == 0) CHECK(got.ids.front() == static_cast<int64_t>(256 * step));
    }
  }
}

TEST_CASE("bad samples and a store that goes down do not disturb runs") {
  Given given = many();
  given.epochs = 2;
  Rig rig(given);
  for (uint64_t bad = 0; bad < 2000; bad += 37) rig.fetcher.make_bad(bad);
  rig.fetcher.set_at_hand(90);
  rig.fill_all();
  std::set<int64_t> seen;
  for (int step = 0; step < 16; step++) {
    rig.tick_until_ready();
    if (step == 5) rig.fetcher.set_down(true);
    const Received got = rig.take();
    if (step == 5) {
      // The slot that take() has had filled again, at the latest, has samples that must wait.
      while (rig.pipeline->statistics().waiting_out_faults.value() < 1) std::this_thread::yield();
      rig.fetcher.set_down(false);
    }
    REQUIRE(got.values == tenfold(got.ids));
    CHECK(got.batch.position.step == static_cast<uint64_t>(step % 8));
    for (const batch::Flaw& flaw : got.batch.flaws) CHECK(flaw.sample % 37 == 0);
    CHECK(got.batch.flaws.size() == got.batch.substituted.size());
    seen.insert(got.ids.begin(), got.ids.end());
  }
  CHECK_FALSE(seen.contains(37));
  CHECK(seen.contains(38));
}

TEST_CASE("the samples of a mix are counted by source, whatever runs took them") {
  Given given = many();
  given.mixed = {900, 1100};
  given.samples = 2000;
  Rig rig(given);
  rig.fetcher.set_at_hand(40);
  rig.fill_all();
  uint64_t first = 0, all = 0;
  for (int step = 0; step < 8; step++) {
    const Received got = rig.take();
    uint64_t of_first = 0;
    for (const int64_t id : got.ids) of_first += id < 900;
    REQUIRE(got.batch.of_source.size() == 2);
    CHECK(got.batch.of_source[0] == of_first);
    CHECK(got.batch.of_source[0] + got.batch.of_source[1] == got.ids.size());
    first += of_first, all += got.ids.size();
  }
  CHECK(first == 900);
  CHECK(all == 2000);
}

}  // namespace spdld::runs_test
