// The samples that streams have in flight stay within their budgets, and whatever becomes of a stream gives all back.
#include "tests/pipeline/rig.h"

namespace spdld::budget_test {

using namespace spdld::test;

namespace {

Given within(const std::shared_ptr<ByteBudget>& budget) {
  Given given;
  given.samples = 200, given.batch_size = 10, given.epochs = 0, given.shuffle = false;
  given.budget = budget;
  return given;
}

}  // namespace

TEST_CASE("a stream whose window is larger than its budget delivers everything, within the budget") {
  const auto node = std::make_shared<ByteBudget>(10'000);
  Given given = within(std::make_shared<ByteBudget>(500, node));
  given.epochs = 1;
  Rig rig(given);
  rig.fetcher.set_bytes_of_each(200);
  rig.fill_all();
  for (int step = 0; step < 20; step++) {
    const Received got = rig.take();
    CHECK(got.ids.front() == 10 * step);
    CHECK(got.values == tenfold(got.ids));
  }
  CHECK(given.budget->bytes_peak() == 400);
  CHECK(given.budget->waits() > 0);
  CHECK(node->waits() == 0);
  CHECK(node->bytes() == 0);
}

TEST_CASE("two pipelines share the node's bytes, and samples larger than both bounds come as well") {
  const auto node = std::make_shared<ByteBudget>(600);
  const Given first = within(std::make_shared<ByteBudget>(400, node)),
              second = within(std::make_shared<ByteBudget>(400, node));
  {
    Rig small(first), huge(second);
    small.fetcher.set_bytes_of_each(150);
    huge.fetcher.set_bytes_of_each(1000);
    small.fill_all(), huge.fill_all();
    for (int step = 0; step < 10; step++) {
      CHECK(small.take().ids.front() == 10 * step);
      CHECK(huge.take().ids.front() == 10 * step);
    }
  }
  CHECK(node->bytes_peak() == 1000);
  CHECK(node->bytes() == 0);
}

TEST_CASE("a stream that seeks, stops or fails gives back all that its samples held") {
  const auto budget = std::make_shared<ByteBudget>(500);
  Given given = within(budget);
  SECTION("seeks and stops") {
    Rig rig(given);
    rig.fetcher.set_bytes_of_each(200);
    rig.fill_all();
    for (uint32_t run = 1; run <= 20; run++) {
      rig.seek(run, {run, 2});
      rig.fill_all();
    }
  }
  SECTION("fails") {
    given.on_bad = config::OnBad::kFail;
    Rig rig(given);
    rig.fetcher.set_bytes_of_each(200);
    rig.fetcher.make_bad(13);
    rig.fill_all();
    rig.wait([&] { return !rig.failure.empty(); });
  }
  SECTION("waits for a store that is down") {
    Rig rig(given);
    rig.fetcher.set_bytes_of_each(200);
    rig.fetcher.set_down(true);
    rig.fill_all();
    // Samples that wait for the store hold no bytes, so that every sample comes to ask it.
    while (rig.pipeline->statistics().waiting_out_faults.value() < 24) std::this_thread::yield();
    CHECK(budget->bytes() == 0);
  }
  CHECK(budget->bytes() == 0);
}

}  // namespace spdld::budget_test
