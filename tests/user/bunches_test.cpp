// Functions that take several samples a call, and workers that have several calls under way at once.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <set>
#include <string>

#include "tests/user/crew_rig.h"

namespace spdld::bunches_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using proto::crew::Task;
using Bunch = std::vector<Task>;

namespace {

constexpr size_t kMost = 8;

Given again_in_bunches() {
  Given given;
  given.outputs = {{"value", "text", {bunched("t:again", "bytes", kMost), {"parse-int", {}, {}}}, {}}};
  given.samples = 200;
  given.shuffle = false;
  return given;
}

Made make_again(const Task&, const std::vector<uint8_t>& input) {
  return gives(std::string(input.begin(), input.end()));
}

bool has(const Bunch& bunch, uint64_t sample) {
  return std::any_of(bunch.begin(), bunch.end(), [&](const Task& task) { return task.sample == sample; });
}

// All samples of one epoch come, but for so many that are masked.
void take_all(CrewRig& crew, size_t masked) {
  std::set<int64_t> seen;
  size_t missing = 0;
  for (size_t i = 0; i < 50; i++) {
    crew.rig->tick_until_ready();
    const Received batch = crew.rig->take();
    missing += batch.batch.masked.size();
    if (batch.batch.masked.empty()) CHECK(batch.values == tenfold(batch.ids));
    seen.insert(batch.ids.begin(), batch.ids.end());
  }
  CHECK(seen.size() == 200);
  CHECK(missing == masked);
}

}  // namespace

TEST_CASE("samples that wait are called in bunches, and none waits for others", "[bunches]") {
  std::mutex mutex;
  std::vector<size_t> sizes;
  std::atomic<CrewRig*> rig{nullptr};
  Bunches bunches{.most = kMost, .begun = [&](const Bunch& bunch) {
                    const std::lock_guard lock(mutex);
                    // The first call goes on until more than a bunch of others waits.
                    if (sizes.empty())
                      static_cast<void>(soon([&] { return rig && rig.load()->stage().waiting() >= kMost; }));
                    sizes.push_back(bunch.size());
                    return Made::Way::kGives;
                  }};
  Given given = again_in_bunches();
  given.batch_size = 20;
  CrewRig crew(given, {.function = make_again, .workers = 1, .bunches = bunches});
  rig = &crew;
  crew.rig->fill_all();
  std::set<int64_t> seen;
  for (int i = 0; i < 10; i++) {
    const Received batch = crew.rig->take();
    CHECK(batch.values == tenfold(batch.ids));
    seen.insert(batch.ids.begin(), batch.ids.end());
  }
  CHECK(seen.size() == 200);
  const std::lock_guard lock(mutex);
  CHECK(std::ranges::max(sizes) == kMost);
  size_t all = 0;
  for (const size_t size : sizes) all += size;
  CHECK(all == 200);
}

TEST_CASE("the samples of a bunch that fails are called alone, and one of them is bad", "[bunches]") {
  std::atomic<int> alone{0};
  Bunches bunches{.most = kMost, .begun = [&](const Bunch& bunch) {
                    if (bunch.front().is_alone != 0) alone++;
                    if (has(bunch, 7) && bunch.front().is_alone == 0) return Made::Way::kAgain;
                    return Made::Way::kGives;
                  }};
  Given given = again_in_bunches();
  given.on_bad = config::OnBad::kMask;
  CrewRig crew(given, {.function =
                           [](const Task& task, const std::vector<uint8_t>& input) {
                             return task.sample == 7 ? bad("t:again raised ValueError") : make_again(task, input);
                           },
                       .workers = 2,
                       .bunches = bunches});
  crew.rig->fill_all();
  take_all(crew, 1);
  CHECK(alone >= 1);
  CHECK(alone <= static_cast<int>(kMost));
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].sample == 7);
  CHECK(errors[0].reason == "t:again raised ValueError");
  CHECK(crew.started() == 2);
}

TEST_CASE("each sample of a bunch that ended its worker is tried alone, and the culprit is bad", "[bunches]") {
  std::mutex mutex;
  std::vector<Bunch> deaths;
  Bunches bunches{.most = kMost, .begun = [&](const Bunch& bunch) {
                    if (!has(bunch, 7)) return Made::Way::kGives;
                    const std::lock_guard lock(mutex);
                    deaths.push_back(bunch);
                    return Made::Way::kDies;
                  }};
  Given given = again_in_bunches();
  given.on_bad = config::OnBad::kMask;
  CrewRig crew(given, {.function = make_again, .workers = 1, .bunches = bunches});
  crew.rig->fill_all();
  take_all(crew, 1);
  const std::lock_guard lock(mutex);
  REQUIRE(deaths.size() == 2);
  CHECK(deaths[1].size() == 1);
  CHECK(deaths[1][0].is_alone == 1);
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].sample == 7);
  CHECK(errors[0].reason == "t:again: its process was ended by signal 11");
}

TEST_CASE("a bunch that takes too long costs the sample that does so alone as well", "[bunches]") {
  Bunches bunches{.most = kMost, .begun = [&](const Bunch& bunch) {
                    if (has(bunch, 7)) return Made::Way::kHangs;
                    return Made::Way::kGives;
                  }};
  Given given = again_in_bunches();
  given.on_bad = config::OnBad::kMask;
  given.python.call_limit_s = 0.2;
  CrewRig crew(given, {.function = make_again, .workers = 1, .bunches = bunches});
  crew.rig->fill_all();
  take_all(crew, 1);
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].sample == 7);
  CHECK_THAT(errors[0].reason, Contains("call_limit_s of [python]"));
}

TEST_CASE("a worker that lies about the calls that it has begun makes no sample bad", "[bunches]") {
  std::atomic<int> deaths{0};
  Bunches bunches{.most = 128, .begun = [&](const Bunch& bunch) {
                    // It has begun all that it has in hand, whatever the errand takes.
                    if (bunch.size() > 1 && deaths.fetch_add(1) < 3) return Made::Way::kDies;
                    return Made::Way::kGives;
                  }};
  CrewRig crew(again_in_bunches(), {.function = make_again, .workers = 2, .bunches = bunches});
  crew.rig->fill_all();
  take_all(crew, 0);
  CHECK(crew.rig->pipeline->errors().entries().empty());
}

TEST_CASE("a sample that was called alone can't be called alone again", "[bunches]") {
  std::atomic<int> lies{0};
  Bunches bunches{.most = kMost, .begun = [&](const Bunch& bunch) {
                    if (!has(bunch, 7) || lies >= 2) return Made::Way::kGives;
                    lies++;
                    return Made::Way::kAgain;
                  }};
  CrewRig crew(again_in_bunches(), {.function = make_again, .workers = 1, .bunches = bunches});
  crew.rig->fill_all();
  take_all(crew, 0);
  CHECK(lies == 2);
  CHECK(crew.started() == 2);  // the second time it was a lie
}

TEST_CASE("a function that takes one sample can't have it called again", "[bunches]") {
  std::atomic<int> lies{0};
  Given given = again_in_bunches();
  given.outputs = {{"value", "text", {python("t:again", "bytes"), {"parse-int", {}, {}}}, {}}};
  CrewRig crew(given, {.function =
                           [&](const Task& task, const std::vector<uint8_t>& input) {
                             if (task.sample == 7 && lies++ == 0) return Made{.way = Made::Way::kAgain};
                             return make_again(task, input);
                           },
                       .workers = 1});
  crew.rig->fill_all();
  take_all(crew, 0);
  CHECK(lies == 2);
  CHECK(crew.started() == 2);
}

TEST_CASE("bunches of several errands and their neighbours come to no harm", "[bunches]") {
  Given given = again_in_bunches();
  given.outputs = {{"label", "text", {bunched("t:again", "bytes", kMost), {"parse-int", {}, {}}}, {}},
                   {"value",
                    "text",
                    {python("t:again", "bytes"),
                     bunched("t:again", "bytes", 3),
                     bunched("t:again", "bytes", kMost),
                     {"parse-int", {}, {}}},
                    {}}};
  CrewRig crew(given, {.function = make_again, .workers = 3, .bunches = {.most = 3}});
  crew.rig->fill_all();
  take_all(crew, 0);
}

TEST_CASE("a worker is given as many calls as it says that it has under way", "[bunches]") {
  std::mutex mutex;
  size_t most = 0;
  Bunches bunches{.most = 6, .in_flight = 6, .begun = [&](const Bunch& bunch) {
                    const std::lock_guard lock(mutex);
                    most = std::max(most, bunch.size());
                    return Made::Way::kGives;
                  }};
  Given given = again_in_bunches();
  given.outputs = {{"value", "text", {python("t:again", "bytes"), {"parse-int", {}, {}}}, {}}};
  given.batch_size = 20;
  CrewRig crew(given, {.function =
                           [](const Task& task, const std::vector<uint8_t>& input) {
                             Made made = make_again(task, input);
                             made.call_ns = 50'000'000;  // of such calls, two would be in hand
                             return made;
                           },
                       .workers = 1,
                       .bunches = bunches});
  crew.rig->fill_all();
  for (int i = 0; i < 10; i++) {
    const Received batch = crew.rig->take();
    CHECK(batch.values == tenfold(batch.ids));
  }
  const std::lock_guard lock(mutex);
  CHECK(most == 6);
}

TEST_CASE("one of several calls under way that never ends is noticed, though others end", "[bunches]") {
  // Sample 7 is begun and never replied to, until its second worker makes it.
  std::atomic<int> lost{0};
  Given given = again_in_bunches();
  given.python.call_limit_s = 0.1;
  given.outputs = {{"value", "text", {python("t:again", "bytes"), {"parse-int", {}, {}}}, {}}};
  CrewRig crew(given, {.function =
                           [&](const Task& task, const std::vector<uint8_t>& input) {
                             if (task.sample == 7 && lost++ == 0) return Made{.way = Made::Way::kNothing};
                             return make_again(task, input);
                           },
                       .workers = 1,
                       .bunches = {.most = 2, .in_flight = 2}});
  crew.rig->fill_all();
  take_all(crew, 0);
  CHECK(lost == 2);
  CHECK(crew.started() == 2);
}

}  // namespace spdld::bunches_test
