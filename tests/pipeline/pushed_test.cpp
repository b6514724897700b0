// A stream whose order is pushed: what comes, how it waits, and what its samples are keyed by.
#include <catch2/catch.hpp>

#include "tests/pipeline/rig.h"

namespace spdld::pushed_test {

using namespace spdld;
using test::Given;
using test::Received;
using test::Rig;
using test::tenfold;

namespace {

using Ids = std::vector<int64_t>;

Given by_client() {
  Given given;
  given.order.shuffle = config::Shuffle::kClient;
  given.epochs = 0;
  return given;
}

sampler::PushedSteps steps(sampler::Position first, const std::vector<Ids>& ids, bool last = false) {
  sampler::PushedSteps made{first, {}, {}, last};
  for (const Ids& one : ids) {
    made.sizes.push_back(static_cast<uint32_t>(one.size()));
    made.ids.insert(made.ids.end(), one.begin(), one.end());
  }
  return made;
}

}  // namespace

TEST_CASE("batches of any sizes come as they were pushed, the same sample twice as well") {
  Rig rig(by_client());
  CHECK_FALSE(rig.stream->wants_slot());  // nothing is known
  CHECK_FALSE(rig.stream->fill(rig.slots[0]));
  const std::vector<Ids> pushed = {{4, 4, 19}, {0}, {7, 8, 9, 4}, {1, 2}};
  REQUIRE(rig.stream->push(steps({0, 0}, {pushed[0], pushed[1]}, true)));
  REQUIRE(rig.stream->push(steps({1, 0}, {pushed[2]})));
  CHECK(rig.stream->wants_slot());
  rig.fill_all();
  CHECK_FALSE(rig.stream->wants_slot());
  const std::vector<sampler::Position> places = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  for (size_t i = 0; i < 3; i++) {
    const Received got = rig.take(false);
    CHECK(got.batch.position == places[i]);
    CHECK(got.ids == pushed[i]);
    CHECK(got.values == tenfold(got.ids));
    CHECK(got.batch.slice.first == places[i].step * 4);
  }
  REQUIRE(rig.stream->push(steps({1, 1}, {pushed[3]})));
  CHECK(rig.stream->fill(rig.slots[0]));
  CHECK(rig.take(false).ids == pushed[3]);
  CHECK_FALSE(rig.stream->fill(rig.slots[0]));
  const Status wrong = rig.stream->push(steps({1, 2}, {{20}}));
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().message, Catch::Contains("names sample 20, and the data set has 20"));
  CHECK(rig.failure.empty());
}

TEST_CASE("a seek voids what was pushed, and goes on from its place") {
  Rig rig(by_client());
  REQUIRE(rig.stream->push(steps({0, 0}, {{1}, {2}, {3}})));
  rig.stream->seek(1, {2, 5});
  CHECK_FALSE(rig.stream->fill(rig.slots[0]));
  CHECK_FALSE(rig.stream->push(steps({0, 3}, {{4}})));
  REQUIRE(rig.stream->push(steps({2, 5}, {{6}})));
  CHECK(rig.stream->fill(rig.slots[0]));
  const Received got = rig.take(false);
  CHECK(got.batch.run == 1);
  CHECK(got.batch.position == sampler::Position{2, 5});
  CHECK(got.ids == Ids{6});
}

TEST_CASE("only the client's order is pushed") {
  Rig rig({});
  const Status refused = rig.stream->push(steps({0, 0}, {{1}}));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Catch::Contains("order.shuffle = \"client\""));
}

TEST_CASE("bad content that was pushed is substituted by its place, and a replay does the same") {
  const auto run = [](unsigned threads) {
    Given given = by_client();
    given.threads = threads;
    Rig rig(given);
    rig.fetcher.make_bad(5);
    REQUIRE(rig.stream->push(steps({0, 0}, {{5, 1, 5, 5}, {5, 2}})));
    rig.fill_all();
    const Received first = rig.take(false), second = rig.take(false);
    CHECK(first.batch.substituted.size() == 3);
    CHECK(second.batch.substituted.size() == 1);
    CHECK(first.ids[1] == 1);
    CHECK(second.ids[1] == 2);
    for (const Received* got : {&first, &second}) CHECK(got->values == tenfold(got->ids));
    Ids all = first.ids;
    all.insert(all.end(), second.ids.begin(), second.ids.end());
    for (const int64_t id : all) CHECK(id != 5);
    return all;
  };
  const Ids once = run(1);
  CHECK(run(4) == once);
  CHECK((once[0] != once[2] || once[2] != once[3]));  // another place, another draw
}

}  // namespace spdld::pushed_test
