// Samples that a crew makes: the items of a data set in user code.
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tests/user/items.h"

namespace spdld::making_test {

TEST_CASE("a crew makes each item, in the order of the epoch") {
  CrewRig crew(tens(), {ten, 3});
  crew.rig->fill_all();
  CHECK(has_each_once(take_epoch(*crew.rig)));
  CHECK(crew.started() == 3);
  const auto& stages = crew.rig->pipeline->stages();
  REQUIRE(stages.size() == 2);  // no stage behind the decoding
  const pipeline::Stage& first = *stages.front();
  CHECK(first.statistics().samples.value() == 20);
  CHECK(first.busy_ns() == 20'000);  // as the workers said
  CHECK(first.concurrency() == 3);
  CHECK(first.account().reads_source);
  CHECK(first.account().name == "fetch");
  CHECK(first.account().work == "Making the items of the data set");
  CHECK(first.account().lanes(3) == "3 workers");
  CHECK(
      crew.process->errands ==
      R"({"errands":[{"gives":{"fields":[{"dtype":"int64","kind":"tensor","name":"value","shape":[]}],"kind":"record"},)"
      R"("ops":[{"call":"photos:train","code":"","place":0}],"samples":20,"source":"","takes":{"kind":"index"}}]})");
}

TEST_CASE("an item has several values, of any length") {
  Given given = tens("boxes int64 [-1, 2]; text bytes; value int64 []");
  config::OutputSpec text{"text", "text", {{"bytes", {{"text", true}}, {}}}, {}};
  text.varying = {.form = config::Form::kRagged, .length_max = 65'536};
  config::OutputSpec boxes{"boxes", "boxes", {raw("int64", {0, 2})}, {}};
  boxes.varying = {.form = config::Form::kRagged, .length_max = 100};
  given.outputs.push_back(text);
  given.outputs.push_back(boxes);
  // Some take far more room than the others, and some have nothing.
  const auto make = [](const Task& task, const Bytes&) {
    const auto number = static_cast<int64_t>(task.index);
    Bytes pairs(static_cast<size_t>(number % 4) * 16, 1);
    const std::string shown = number % 5 == 0 ? std::string() : std::string(number % 7 == 0 ? 60'000 : 3, 'x');
    return made({pairs, bytes_of(shown), bytes_of(10 * number)});
  };
  CrewRig crew(given, {make, 2});
  crew.rig->fill_all();
  CHECK(has_each_once(take_epoch(*crew.rig)));
  crew.rig->stream->stop();
  CHECK(crew.rig->failure.empty());
}

TEST_CASE("an item that can't be made is bad content, and another one stands for it") {
  const auto make = [](const Task& task, const Bytes& input) {
    return task.index == 7 ? bad("photos:train raised ValueError: seven (photos.py:3, in __getitem__)")
                           : ten(task, input);
  };
  CrewRig crew(tens(), {make, 2});
  crew.rig->fill_all();
  const auto ids = take_epoch(*crew.rig);
  CHECK_FALSE(ids.contains(7));
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors.front().reason, Contains("raised ValueError: seven"));
  CHECK(crew.rig->pipeline->listing().name(7) == "photos:train[7]");
}

TEST_CASE("an item that is dropped is no bad content, and is in no cache") {
  Given given = tens();
  given.epochs = 2, given.on_drop = config::OnDrop::kShorter;
  given.cache = config::CacheForm::kEncoded, given.cache_bytes = 1 << 20;
  std::mutex mutex;
  std::map<uint64_t, int> asked;
  const auto make = [&](const Task& task, const Bytes& input) {
    const std::lock_guard lock(mutex);
    asked[task.index]++;
    return task.index % 5 == 1 ? drops(task) : ten(task, input);
  };
  CrewRig crew(given, {make, 2});
  crew.rig->fill_all();
  const auto ids = take_epoch(*crew.rig, 32);
  for (int64_t id = 0; id < 20; id++) CHECK(ids.count(id) == (id % 5 == 1 ? 0 : 2));
  const pipeline::Stage& first = *crew.rig->pipeline->stages().front();
  CHECK(first.statistics().failures.value() == 0);
  CHECK(crew.rig->pipeline->statistics().dropped.value() == 8);
  for (const auto& entry : crew.rig->pipeline->errors().entries()) CHECK(entry.reason == "photos:train dropped it");
  const std::lock_guard lock(mutex);
  for (uint64_t index = 1; index < 20; index += 5) CHECK(asked[index] == 2);
}

TEST_CASE("an item whose worker dies is made anew once, and is bad after that") {
  std::atomic<int> deaths{0};
  const auto make = [&](const Task& task, const Bytes& input) {
    if (task.index == 3 && deaths++ == 0) return Made{.way = Made::Way::kDies};
    if (task.index == 9) return Made{.way = Made::Way::kDies};
    return ten(task, input);
  };
  CrewRig crew(tens(), {make, 2});
  crew.rig->fill_all();
  std::multiset<int64_t> ids;
  while (ids.size() < 20) {
    crew.rig->tick_until_ready();
    const Received batch = crew.rig->take();
    ids.insert(batch.ids.begin(), batch.ids.end());
  }
  CHECK(ids.count(3) == 1);
  CHECK_FALSE(ids.contains(9));
  CHECK_THAT(crew.rig->pipeline->errors().entries().front().reason,
             Contains("photos:train: its process was ended by signal 11"));
}

TEST_CASE("a record that claims what it has not is bad content of its item alone") {
  const auto lie = [](const Task& task, const Bytes& input) {
    Made one = ten(task, input);
    const uint64_t claimed[] = {0, UINT64_MAX, 1 << 20, 9, 7};
    if (task.index < 5) std::memcpy(one.bytes.data(), &claimed[task.index], sizeof claimed[0]);
    return one;
  };
  CrewRig crew(in_records(tens()), {lie, 2});
  crew.rig->fill_all();
  const auto ids = take_epoch(*crew.rig);
  for (int64_t id = 0; id < 5; id++) CHECK_FALSE(ids.contains(id));
  CHECK(crew.rig->failure.empty());
}

TEST_CASE("a record of another size than all have ends nothing but its item") {
  const auto lie = [](const Task& task, const Bytes& input) {
    Made one = ten(task, input);
    if (task.index == 4) one.bytes.pop_back();
    if (task.index == 5) one.shape = {3};
    return one;
  };
  CrewRig crew(in_records(tens()), {lie, 2});
  crew.rig->fill_all();
  const auto ids = take_epoch(*crew.rig);
  CHECK_FALSE(ids.contains(4));
  CHECK_FALSE(ids.contains(5));
}

TEST_CASE("an item gets a key of its own in each epoch") {
  std::mutex mutex;
  std::map<uint64_t, std::set<uint64_t>> keys;
  std::set<uint64_t> all;
  const auto make = [&](const Task& task, const Bytes& input) {
    const std::lock_guard lock(mutex);
    keys[task.index].insert(task.key);
    all.insert(task.key);
    return ten(task, input);
  };
  Given given = tens();
  given.epochs = 3;
  CrewRig crew(given, {make, 2});
  crew.rig->fill_all();
  for (int epoch = 0; epoch < 3; epoch++) CHECK(has_each_once(take_epoch(*crew.rig)));
  const std::lock_guard lock(mutex);
  for (const auto& [index, of_item] : keys) CHECK(of_item.size() == 3);
  CHECK(all.size() == 60);
}

TEST_CASE("seeks leave no item behind") {
  Given given = tens();
  given.epochs = 0;
  CrewRig crew(given, {ten, 2});
  crew.rig->fill_all();
  for (uint32_t run = 1; run <= 30; run++) {
    for (uint32_t i = 0; i < run % 4; i++) CHECK(crew.rig->take().batch.run == run - 1);
    crew.rig->seek(run, {run % 3, run % 5});
    crew.rig->fill_all();
    const Received batch = crew.rig->take();
    CHECK(batch.values == tenfold(batch.ids));
  }
  crew.rig->stream->stop();
  CHECK(soon([&] { return crew.scratch->taken_bytes() == 0; }));
}

TEST_CASE("two data sets of a mix are told apart, and each item by its own number") {
  Given given = tens();
  given.sources = {source_of("value int64 []", 6), source_of("value int64 []", 14)};
  given.sources[0].name = "first", given.sources[1].name = "second";
  given.sources[1].parameters["call"] = std::string("photos:more");
  const auto make = [](const Task& task, const Bytes&) {
    return made({bytes_of(10 * static_cast<int64_t>(task.errand == 0 ? task.index : 6 + task.index))});
  };
  CrewRig crew(given, {make, 2});
  crew.rig->fill_all();
  CHECK(has_each_once(take_epoch(*crew.rig)));
  CHECK_THAT(crew.process->errands, Contains(R"("source":"first")") && Contains(R"("source":"second")"));
}

}  // namespace spdld::making_test
