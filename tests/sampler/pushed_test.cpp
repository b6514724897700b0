// The pushed order: which steps come of what was pushed, and that what is wrong changes nothing.
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <set>

#include "daemon/sampler/pushed.h"

namespace spdld::pushed_test {

using namespace spdld;
using sampler::Position;
using sampler::Pushed;
using sampler::PushedSteps;

namespace {

using Ids = std::vector<uint64_t>;

Pushed make(uint64_t epochs = 0) { return Pushed({100, 4, epochs, 5}, {}); }

PushedSteps steps(Position first, const std::vector<Ids>& ids, bool last = false) {
  PushedSteps made{first, {}, {}, last};
  for (const Ids& one : ids) {
    made.sizes.push_back(static_cast<uint32_t>(one.size()));
    made.ids.insert(made.ids.end(), one.begin(), one.end());
  }
  return made;
}

void refused(Pushed& pushed, const PushedSteps& what, Trouble trouble, const std::string& sentence) {
  const Status status = pushed.push(what);
  REQUIRE_FALSE(status);
  CHECK(status.error().trouble == trouble);
  CHECK_THAT(status.error().message, Catch::Contains(sentence));
}

}  // namespace

TEST_CASE("steps come as they were pushed, over the ends of epochs", "[pushed]") {
  Pushed pushed = make();
  CHECK_FALSE(pushed.has_next());
  REQUIRE(pushed.push(steps({0, 0}, {{3, 3, 99}, {0}})));
  REQUIRE(pushed.push(steps({0, 2}, {{7}}, true)));
  REQUIRE(pushed.push(steps({1, 0}, {{1, 2, 3, 4}})));
  const std::vector<std::pair<Position, Ids>> expected = {
      {{0, 0}, {3, 3, 99}}, {{0, 1}, {0}}, {{0, 2}, {7}}, {{1, 0}, {1, 2, 3, 4}}};
  for (const auto& [position, ids] : expected) {
    REQUIRE(pushed.has_next());
    const auto step = pushed.take();
    CHECK(step.position == position);
    CHECK(step.ids == ids);
  }
  CHECK_FALSE(pushed.has_next());
}

TEST_CASE("the end of an epoch may come after its last step was taken, or before", "[pushed]") {
  const bool taken = GENERATE(true, false);
  Pushed pushed = make();
  REQUIRE(pushed.push(steps({0, 0}, {{1}, {2}})));
  CHECK(pushed.take().position == Position{0, 0});
  if (taken) CHECK(pushed.take().position == Position{0, 1});
  REQUIRE(pushed.push(steps({0, 2}, {}, true)));
  REQUIRE(pushed.push(steps({1, 0}, {{5}})));
  if (!taken) CHECK(pushed.take().position == Position{0, 1});
  CHECK(pushed.take().position == Position{1, 0});
}

TEST_CASE("what is wrong is named, and changes nothing", "[pushed]") {
  Pushed pushed = make(2);
  refused(pushed, steps({0, 1}, {{1}}), Trouble::kUsage, "begins at epoch 0, step 1, where epoch 0, step 0 comes next");
  refused(pushed, steps({0, 0}, {{1}, {}}), Trouble::kUsage, "has 0 samples for epoch 0, step 1: a step has 1 to 4");
  refused(pushed, steps({0, 0}, {{1, 2, 3, 4, 5}}), Trouble::kUsage, "has 5 samples for epoch 0, step 0");
  refused(pushed, steps({0, 0}, {{1}, {2, 100}}), Trouble::kUsage, "names sample 100, and the data set has 100");
  refused(pushed, steps({0, 0}, {{UINT64_MAX}}), Trouble::kUsage, "names sample 18446744073709551615");
  refused(pushed, steps({0, 0}, {}), Trouble::kUsage, "has no step");
  refused(pushed, steps({0, 0}, {}, true), Trouble::kUsage, "ends epoch 0 before it has a step");
  PushedSteps uneven = steps({0, 0}, {{1, 2}});
  uneven.ids.pop_back();
  refused(pushed, uneven, Trouble::kUsage, "has 1 ids for steps of 2");
  uneven.sizes.assign(1u << 14, 4), uneven.ids = {1};
  refused(pushed, uneven, Trouble::kUsage, "has 1 ids for steps of 65536");
  CHECK_FALSE(pushed.has_next());
  REQUIRE(pushed.push(steps({0, 0}, {{1}}, true)));
  REQUIRE(pushed.push(steps({1, 0}, {{2}}, true)));
  refused(pushed, steps({2, 0}, {{3}}), Trouble::kUsage, "goes on in epoch 2, and the pipeline has 2");
}

TEST_CASE("no more than so many steps and samples are known and not taken", "[pushed]") {
  Pushed pushed = make();
  for (uint64_t step = 0; step < Pushed::kStepsMax; step++) REQUIRE(pushed.push(steps({0, step}, {{1}})));
  refused(pushed, steps({0, Pushed::kStepsMax}, {{1}}), Trouble::kLimit, "at most 256 steps of 262144 samples");
  REQUIRE(pushed.push(steps({0, Pushed::kStepsMax}, {}, true)));  // an end needs no room
  pushed.take();
  REQUIRE(pushed.push(steps({1, 0}, {{1}})));

  Pushed large({100, Pushed::kBatchSizeMax, 0, 5}, {});
  const Ids whole(Pushed::kBatchSizeMax, 7);
  uint64_t step = 0;
  for (; (step + 1) * whole.size() <= Pushed::kIdsMax; step++) REQUIRE(large.push(steps({0, step}, {whole})));
  refused(large, steps({0, step}, {whole}), Trouble::kLimit, "is too far ahead");
  large.take();
  CHECK(large.push(steps({0, step}, {whole})));
}

TEST_CASE("another place forgets what was pushed", "[pushed]") {
  Pushed pushed = make();
  REQUIRE(pushed.push(steps({0, 0}, {{1}, {2}})));
  pushed.go_to({3, 7});
  CHECK_FALSE(pushed.has_next());
  refused(pushed, steps({0, 2}, {{1}}), Trouble::kUsage, "where epoch 3, step 7 comes next");
  REQUIRE(pushed.push(steps({3, 7}, {{9}})));
  CHECK(pushed.take().position == Position{3, 7});
  REQUIRE(pushed.push(steps({3, 8}, {}, true)));
  REQUIRE(pushed.push(steps({4, 0}, {{9}})));
  CHECK(pushed.take().position == Position{4, 0});
}

TEST_CASE("random pushes give a plain queue's steps", "[pushed]") {
  std::mt19937_64 random(11);
  Pushed pushed = make();
  std::deque<std::pair<Position, Ids>> model;
  Position tail;
  for (int turn = 0; turn < 20'000; turn++) {
    if (random() % 3 == 0 && !model.empty()) {
      const auto step = pushed.take();
      REQUIRE(step.position == model.front().first);
      REQUIRE(step.ids == model.front().second);
      model.pop_front();
      continue;
    }
    std::vector<Ids> made(random() % 4);
    for (Ids& ids : made) {
      ids.resize(random() % 4 + 1);
      for (uint64_t& id : ids) id = random() % 100;
    }
    const bool last = random() % 5 == 0;
    const bool sound = made.empty() ? last && tail.step > 0 : model.size() + made.size() <= Pushed::kStepsMax;
    REQUIRE(static_cast<bool>(pushed.push(steps(tail, made, last))) == sound);
    if (!sound) continue;
    for (const Ids& ids : made) model.emplace_back(tail, ids), tail.step++;
    if (last) tail = {tail.epoch + 1, 0};
  }
}

TEST_CASE("each place of an epoch has a pass of its own, and a substitute that is another sample", "[pushed]") {
  const Pushed pushed = make();
  std::set<uint64_t> passes;
  for (uint64_t epoch : {0u, 1u, 2u})
    for (uint64_t step = 0; step < 50; step++)
      for (uint64_t index = 0; index < 20; index++) passes.insert(pushed.pass(epoch, Pushed::place(step, index)));
  CHECK(passes.size() == 3 * 50 * 20);
  CHECK(make().pass(1, 65536 * 2 + 3) == pushed.pass(1, Pushed::place(2, 3)));
  CHECK(Pushed({100, 4, 0, 6}, {}).pass(0, 0) != pushed.pass(0, 0));
  std::set<uint64_t> substitutes;
  for (uint64_t place = 0; place < 5'000; place++) {
    const uint64_t other = pushed.substitute(0, place, 17, 1);
    REQUIRE(other != 17);
    REQUIRE(other < 100);
    substitutes.insert(other);
  }
  CHECK(substitutes.size() == 99);
  CHECK(Pushed({1, 4, 0, 5}, {}).substitute(0, 0, 0, 1) == 0);
}

}  // namespace spdld::pushed_test
