// What a crew makes of samples, and what becomes of them when its workers fail.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "tests/user/crew_rig.h"

namespace spdld::crew_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using proto::crew::Task;

namespace {

int64_t number_in(const std::vector<uint8_t>& input) {
  int64_t number = 0;
  if (input.size() != sizeof number) std::abort();  // no assertion: this is a worker's thread
  std::memcpy(&number, input.data(), sizeof number);
  return number;
}

config::OperationSpec parse_int() { return {"parse-int", {}, {}}; }

// The samples' numbers, thrice.
Given thrice() {
  Given given;
  given.outputs = {{"value", "text", {parse_int(), python("t:thrice", "int64 []")}, {}}};
  return given;
}
Made make_thrice(const Task&, const std::vector<uint8_t>& input) { return gives({3 * number_in(input)}, {}); }

std::vector<int64_t> times(int64_t factor, const std::vector<int64_t>& ids) {
  std::vector<int64_t> values;
  for (const int64_t id : ids) values.push_back(factor * id);
  return values;
}

}  // namespace

TEST_CASE("a crew makes each sample, in its order") {
  CrewRig crew(thrice(), {make_thrice, 3});
  crew.rig->fill_all();
  std::set<int64_t> seen;
  for (int i = 0; i < 5; i++) {
    const Received batch = crew.rig->take();
    CHECK(batch.values == times(30, batch.ids));
    seen.insert(batch.ids.begin(), batch.ids.end());
  }
  CHECK(seen.size() == 20);
  CHECK(crew.started() == 3);
  CHECK(crew.stage().statistics().samples.value() == 20);
  CHECK(crew.stage().busy_ns() == 20'000);  // as the workers said
  CHECK(crew.stage().concurrency() == 3);
  CHECK(
      crew.process->errands ==
      R"({"errands":[{"call_limit_s":60.0,"gives":{"dtype":"int64","kind":"tensor","shape":[]},"ops":[{"call":"t:thrice","code":"",)"
      R"("gives":{"dtype":"int64","kind":"tensor","shape":[]},"place":1,)"
      R"("takes":{"dtype":"int64","kind":"tensor","shape":[]}}],)"
      R"("output":"value","takes":{"dtype":"int64","kind":"tensor","shape":[]}}]})");
}

TEST_CASE("bytes of any length pass to a crew and back") {
  Given given;
  given.outputs = {{"value", "text", {python("t:again", "bytes"), parse_int()}, {}}};
  // Some results need more room than there is at first, and the room for the next ones follows.
  const auto pad = [](const Task& task, const std::vector<uint8_t>& input) {
    const size_t zeros = task.sample % 3 == 0 ? 20'000 : 1;
    return gives(std::string(zeros, '0') + std::string(input.begin(), input.end()));
  };
  CrewRig crew(given, {pad, 2});
  crew.rig->fill_all();
  for (int i = 0; i < 5; i++) {
    const Received batch = crew.rig->take();
    CHECK(batch.values == times(10, batch.ids));
  }
}

TEST_CASE("several functions of one chain and of several outputs, with the daemon's work between them") {
  Given given;
  given.outputs = {{"label", "text", {parse_int(), python("t:thrice", "int64 []")}, {}},
                   {"value", "text", {python("t:text", "bytes"), parse_int(), python("t:thrice", "int64 []")}, {}}};
  const auto either = [](const Task& task, const std::vector<uint8_t>& input) {
    if (task.errand == 1) return gives("1" + std::string(input.begin(), input.end()));
    return gives({3 * number_in(input)}, {});
  };
  CrewRig crew(given, {either, 2});
  crew.rig->fill_all();
  for (int i = 0; i < 5; i++) {
    const Received batch = crew.rig->take();
    std::vector<int64_t> expected;
    for (const int64_t id : batch.ids) expected.push_back(3 * std::stoll("1" + std::to_string(10 * id)));
    CHECK(batch.values == expected);
  }
}

TEST_CASE("a sample has one key in whatever order and worker, another one in another epoch, and no other has it") {
  const auto keys_of = [](uint32_t workers, bool shuffle) {
    Given given = thrice();
    given.epochs = 2, given.shuffle = shuffle;
    std::mutex mutex;
    std::map<uint64_t, std::set<uint64_t>> keys;
    CrewRig crew(given, {[&](const Task& task, const std::vector<uint8_t>& input) {
                           const std::lock_guard lock(mutex);
                           keys[task.sample].insert(task.key);
                           return make_thrice(task, input);
                         },
                         workers});
    crew.rig->fill_all();
    for (int i = 0; i < 10; i++) crew.rig->take();
    const std::lock_guard lock(mutex);
    return keys;
  };
  const auto one = keys_of(1, true);
  CHECK(keys_of(3, false) == one);
  std::set<uint64_t> all;
  for (const auto& [sample, keys] : one) {
    CHECK(keys.size() == 2);
    all.insert(keys.begin(), keys.end());
  }
  CHECK(all.size() == 40);
}

TEST_CASE("a function's fault is its sample's alone") {
  Given given = thrice();
  given.on_bad = config::OnBad::kMask;
  CrewRig crew(given, {[](const Task& task, const std::vector<uint8_t>& input) {
                 return task.sample == 7 ? bad("ValueError: \x1b no (augment.py:3)") : make_thrice(task, input);
               }});
  crew.rig->fill_all();
  size_t masked = 0;
  for (int i = 0; i < 5; i++) masked += crew.rig->take().batch.masked.size();
  CHECK(masked == 1);
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].sample == 7);
  CHECK(errors[0].reason == "ValueError: \\x1b no (augment.py:3)");
  CHECK(crew.stage().statistics().failures.value() == 1);
}

TEST_CASE("a function drops a sample, and the reason names it whatever its worker says") {
  Given given;
  given.on_drop = config::OnDrop::kShorter;
  given.outputs = {{"value", "text", {python("t:again", "bytes"), python("t:sieve", "bytes"), parse_int()}, {}}};
  const std::map<uint64_t, uint64_t> dropped = {{3, 0}, {7, 1}, {11, 2}, {12, UINT64_MAX}};  // by sample: the place
  CrewRig crew(given, {[&](const Task& task, const std::vector<uint8_t>& input) {
                         const auto at = dropped.find(task.sample);
                         return at == dropped.end() ? gives(std::string(input.begin(), input.end()))
                                                    : drops(task, at->second);
                       },
                       2});
  crew.rig->fill_all();
  std::set<int64_t> seen;
  for (int i = 0; i < 5; i++) {
    const Received batch = crew.rig->take();
    CHECK(batch.values == times(10, batch.ids));
    CHECK(batch.batch.substituted.empty());
    seen.insert(batch.ids.begin(), batch.ids.end());
  }
  CHECK(seen.size() == 16);
  std::map<uint64_t, std::string> reasons;
  for (const auto& entry : crew.rig->pipeline->errors().entries()) {
    CHECK(entry.kind == batch::FlawKind::kDropped);
    reasons[entry.sample] = entry.reason;
  }
  const std::string both = "t:again, t:sieve dropped it";
  CHECK(reasons ==
        std::map<uint64_t, std::string>{{3, "t:again dropped it"}, {7, "t:sieve dropped it"}, {11, both}, {12, both}});
  CHECK(crew.stage().statistics().failures.value() == 0);
  CHECK(crew.stage().statistics().samples.value() == 20);
  CHECK(crew.started() == 2);
  CHECK(soon([&] { return crew.scratch->taken_bytes() == 0; }));
}

TEST_CASE("a sample whose worker dies is tried once more, and all others come") {
  Given given = thrice();
  given.samples = 200;
  std::mutex mutex;
  std::set<uint64_t> died;
  CrewRig crew(given, {[&](const Task& task, const std::vector<uint8_t>& input) {
                         const std::lock_guard lock(mutex);
                         if (task.sample % 50 == 7 && died.insert(task.sample).second)
                           return Made{.way = Made::Way::kDies};
                         return make_thrice(task, input);
                       },
                       2});
  crew.rig->fill_all();
  std::set<int64_t> seen;
  for (int i = 0; i < 50; i++) {
    crew.rig->tick_until_ready();
    const Received batch = crew.rig->take();
    CHECK(batch.values == times(30, batch.ids));
    CHECK(batch.batch.substituted.empty());
    seen.insert(batch.ids.begin(), batch.ids.end());
  }
  CHECK(seen.size() == 200);
  CHECK(soon([&] { return crew.started() == 6; }));
}

TEST_CASE("a sample that ends its worker twice is bad, with the reason, and its neighbours are not") {
  Given given = thrice();
  given.on_bad = config::OnBad::kMask;
  given.shuffle = false;
  std::atomic<int> deaths{0};
  // One worker, which has the next samples in hand both times.
  CrewRig crew(given, {[&](const Task& task, const std::vector<uint8_t>& input) {
                         if (task.sample != 7) return make_thrice(task, input);
                         deaths++;
                         return Made{.way = Made::Way::kDies};
                       },
                       1});
  crew.rig->fill_all();
  size_t masked = 0;
  for (int i = 0; i < 5; i++) {
    crew.rig->tick_until_ready();
    masked += crew.rig->take().batch.masked.size();
  }
  CHECK(masked == 1);
  CHECK(deaths == 2);
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].reason == "t:thrice: its process was ended by signal 11");
}

TEST_CASE("a death that was followed by a result is forgotten") {
  Given given = thrice();
  given.shuffle = false, given.epochs = 0;
  std::mutex mutex;
  std::map<uint64_t, int> calls;  // of the sample, by its key in each epoch: each first one of two dies
  CrewRig crew(given, {[&](const Task& task, const std::vector<uint8_t>& input) {
                         const std::lock_guard lock(mutex);
                         if (task.sample == 7 && calls[task.key]++ % 2 == 0) return Made{.way = Made::Way::kDies};
                         return make_thrice(task, input);
                       },
                       1});
  for (uint32_t run = 1; run <= 2; run++) {
    crew.rig->fill_all();
    std::vector<int64_t> seen;
    for (int i = 0; i < 5; i++) {
      crew.rig->tick_until_ready();
      const Received batch = crew.rig->take();
      CHECK(batch.batch.substituted.empty());
      seen.insert(seen.end(), batch.values.begin(), batch.values.end());
    }
    CHECK(seen.size() == 20);
    crew.rig->seek(run, {0, 0});  // the same epoch once more
  }
  const std::lock_guard lock(mutex);
  CHECK(std::ranges::any_of(calls, [](const auto& entry) { return entry.second >= 4; }));
}

TEST_CASE("a call that takes too long ends its worker alone") {
  Given given = thrice();
  given.on_bad = config::OnBad::kMask;
  given.python.call_limit_s = 0.2;
  CrewRig crew(given, {[&](const Task& task, const std::vector<uint8_t>& input) {
                 return task.sample == 7 ? Made{.way = Made::Way::kHangs} : make_thrice(task, input);
               }});
  crew.rig->fill_all();
  size_t masked = 0;
  for (int i = 0; i < 5; i++) {
    crew.rig->tick_until_ready();
    masked += crew.rig->take().batch.masked.size();
  }
  CHECK(masked == 1);
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0].reason, Contains("call_limit_s of [python]"));
}

TEST_CASE("a worker that lies is ended, and its lie reaches no batch") {
  using proto::crew::Reply;
  using proto::crew::ReplyKind;
  const auto lie = GENERATE(0, 1, 2, 3);
  Given given;
  given.outputs = {{"value", "text", {python("t:again", "bytes"), parse_int()}, {}}};
  std::atomic<int> lies{0};
  CrewRig crew(given, {[&](const Task& task, const std::vector<uint8_t>& input) {
                 if (task.sample != 7 || lies.fetch_add(1) > 0) return gives(std::string(input.begin(), input.end()));
                 Made made{.way = Made::Way::kSays};
                 made.reply.number = task.number;
                 if (lie == 0) made.reply.number += 1000;                     // a call that it does not have
                 if (lie == 1) made.reply.bytes = uint64_t{1} << 50;          // more than its room has
                 if (lie == 2) made.reply.kind = static_cast<ReplyKind>(77);  // no kind of reply
                 if (lie == 3) made.reply.shape.dimensions = 1u << 30;        // more than there can be
                 return made;
               }});
  crew.rig->fill_all();
  std::set<int64_t> seen;
  for (int i = 0; i < 5; i++) {
    crew.rig->tick_until_ready();
    const Received batch = crew.rig->take();
    CHECK(batch.values == times(10, batch.ids));
    seen.insert(batch.ids.begin(), batch.ids.end());
  }
  CHECK(lies > 0);
  CHECK(seen.size() >= 19);
  if (lie == 0 || lie == 2) CHECK(crew.rig->pipeline->errors().entries().empty());  // another worker has done it
}

}  // namespace spdld::crew_test
