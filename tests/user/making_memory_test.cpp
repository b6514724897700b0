// The memory of samples that a crew makes: scratch, budgets, and what the cache keeps of them.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "tests/support/temp_dir.h"
#include "tests/user/items.h"

namespace spdld::making_test {

namespace {

// Two outputs of one value, which therefore lies in the record, and not in the slot.
void add_pad(Given& given) {
  given.outputs.push_back({"pad", "pad", {raw("uint8", {100'000})}, {}});
  config::OperationSpec first = raw("uint8", {1});
  first.parameters["offset"] = int64_t{0};
  given.outputs.push_back({"first", "pad", {first}, {}});
}

}  // namespace

TEST_CASE("items wait for scratch memory, and none is lost") {
  Given given = tens("pad uint8 [100000]; value int64 []");
  given.python.scratch_bytes = 1 << 20;  // eight records at once
  given.batch_size = 10;
  add_pad(given);
  given.epochs = 20;
  const auto make = [](const Task& task, const Bytes&) {
    return made({Bytes(100'000, static_cast<uint8_t>(task.index)), bytes_of(static_cast<int64_t>(10 * task.index))});
  };
  CrewRig crew(given, {make, 3});
  crew.rig->fill_all();
  for (int epoch = 0; epoch < 20; epoch++) CHECK(has_each_once(take_epoch(*crew.rig)));
  CHECK(crew.rig->pipeline->statistics().memory_waits.value() == 0);
  crew.rig->stream->stop();
  CHECK(soon([&] { return crew.scratch->taken_bytes() == 0; }));
}

TEST_CASE("copies of bytes are held to the pipeline's budget") {
  Given given = tens("text bytes; value int64 []");
  given.budget = std::make_shared<ByteBudget>(70'000);  // three copies of 20,000 bytes do not fit
  given.epochs = 5;
  config::OutputSpec text{"text", "text", {{"bytes", {{"text", true}}, {}}}, {}};
  text.varying = {.form = config::Form::kRagged, .length_max = 30'000};
  given.outputs.push_back(text);
  const auto make = [](const Task& task, const Bytes&) {
    return made({bytes_of(std::string(20'000, 'x')), bytes_of(static_cast<int64_t>(10 * task.index))});
  };
  CrewRig crew(given, {make, 3});
  crew.rig->fill_all();
  for (int epoch = 0; epoch < 5; epoch++) CHECK(has_each_once(take_epoch(*crew.rig)));
  CHECK(given.budget->bytes_peak() > 0);
  CHECK(given.budget->bytes_peak() <= 70'000);
  crew.rig->stream->stop();
  CHECK(soon([&] { return given.budget->bytes() == 0 && crew.scratch->taken_bytes() == 0; }));
}

TEST_CASE("an item that waits for memory is made when others give theirs back, though nobody works") {
  Keeping* keeping = nullptr;
  Given given = tens("pad uint8 [100000]; value int64 []");
  given.python.scratch_bytes = 1 << 20;
  given.batch_size = 10;
  add_pad(given);
  given.more_stages = {[&](const pipeline::Pipeline&) {
    auto stage = std::make_unique<Keeping>();
    keeping = stage.get();
    return stage;
  }};
  const auto make = [](const Task& task, const Bytes&) {
    return made({Bytes(100'000, 1), bytes_of(static_cast<int64_t>(10 * task.index))});
  };
  CrewRig crew(given, {make, 3});
  crew.rig->fill_all();
  // All memory is in the records that are kept, and no worker has anything in hand.
  REQUIRE(soon([&] { return crew.scratch->taken_bytes() == 1 << 20 && keeping->count() == 8; }));
  keeping->open();
  CHECK(has_each_once(take_epoch(*crew.rig)));
}

TEST_CASE("records take three quarters of the memory where functions stand behind them") {
  Keeping* keeping = nullptr;
  Given given = tens("pad uint8 [100000]; value int64 []");
  given.python.scratch_bytes = 1 << 20;
  given.batch_size = 10;
  given.outputs[0].ops.push_back(python("t:again", "int64 []"));
  add_pad(given);
  given.more_stages = {[&](const pipeline::Pipeline&) {
    auto stage = std::make_unique<Keeping>();
    keeping = stage.get();
    return stage;
  }};
  const auto make = [](const Task& task, const Bytes& input) {
    if (task.errand == 1) return Made{.bytes = input, .shape = {}};
    return made({Bytes(100'000, 1), bytes_of(static_cast<int64_t>(10 * task.index))});
  };
  CrewRig crew(given, {make, 3});
  crew.rig->fill_all();
  REQUIRE(soon([&] { return keeping->count() == 6; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for one that must not come
  CHECK(keeping->count() == 6);
  keeping->open();
  CHECK(has_each_once(take_epoch(*crew.rig)));
}

TEST_CASE("records leave memory to the functions behind them") {
  Given given = tens("pad uint8 [100000]; value int64 []");
  given.python.scratch_bytes = 1 << 20;
  given.batch_size = 10;
  given.epochs = 10;
  given.outputs.push_back({"pad", "pad", {raw("uint8", {100'000}), python("t:again", "uint8 [100000]")}, {}});
  const auto make = [](const Task& task, const Bytes& input) {
    if (task.errand == 1) return Made{.bytes = input, .shape = {100'000}};
    return made({Bytes(100'000, static_cast<uint8_t>(task.index)), bytes_of(static_cast<int64_t>(10 * task.index))});
  };
  CrewRig crew(given, {make, 3});
  crew.rig->fill_all();
  std::multiset<int64_t> ids;
  while (ids.size() < 200) {
    crew.rig->tick_until_ready();
    const Received batch = crew.rig->take();
    ids.insert(batch.ids.begin(), batch.ids.end());
  }
  for (int64_t id = 0; id < 20; id++) CHECK(ids.count(id) == 10);
  CHECK(crew.rig->failure.empty());
}

TEST_CASE("memory that could not hold some records at once is refused before anything is made") {
  Given given = tens("pad uint8 [1000000]; value int64 []");
  given.python.scratch_bytes = 1 << 20;
  CHECK_THROWS_WITH(CrewRig(given, {ten, 1}), Contains("photos:train: its items take 1000072 bytes each") &&
                                                  Contains("write scratch = 8000576, or more, under [python]"));
}

TEST_CASE("with cache = \"encoded\" an item is made once and kept") {
  std::atomic<int> made_items{0};
  const auto make = [&](const Task& task, const Bytes& input) {
    made_items++;
    return ten(task, input);
  };
  Given given = tens();
  given.epochs = 10;
  given.cache = config::CacheForm::kEncoded;
  given.cache_bytes = 64 << 20;
  CrewRig crew(given, {make, 2});
  crew.rig->pipeline->open_cache();
  CHECK(crew.rig->pipeline->caching().choice().form == config::CacheForm::kEncoded);
  crew.rig->fill_all();
  for (int epoch = 0; epoch < 10; epoch++) CHECK(has_each_once(take_epoch(*crew.rig)));
  // The second epoch's first samples may be wanted before the first epoch's last ones are there.
  CHECK(made_items <= static_cast<int>(20 + given.slots * given.batch_size));
  crew.rig->stream->stop();
  crew.rig->pipeline->close_cache();
}

TEST_CASE("items that a disk keeps outlive the daemon, and are made anew where the copies can't be read") {
  const TempDir folder;
  std::atomic<int> made_items{0};
  const auto make = [&](const Task& task, const Bytes& input) {
    made_items++;
    return ten(task, input);
  };
  Given given = tens();
  given.cache = config::CacheForm::kEncoded;
  given.cache_folder = folder.path();
  source::LocalFetcher local(2);
  given.fetcher = &local;
  const auto run = [&](const std::function<void()>& once_open) {
    made_items = 0;
    CrewRig crew(given, {make, 2});
    crew.rig->pipeline->open_cache();
    once_open();
    crew.rig->fill_all();
    CHECK(has_each_once(take_epoch(*crew.rig)));
    crew.rig->stream->stop();
    crew.rig->pipeline->close_cache();
    return made_items.load();
  };
  const auto cut = [&] {
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path()))
      if (file.is_regular_file() && file.file_size() > 100) std::filesystem::resize_file(file.path(), 0);
  };
  CHECK(run([] {}) == 20);
  CHECK(run([] {}) == 0);
  CHECK(run(cut) > 10);
}

TEST_CASE("by itself the daemon keeps no items, which may be others each time") {
  Given given = tens();
  given.epochs = 0;
  given.cache_bytes = 64 << 20;
  CrewRig crew(given, {ten, 2});
  crew.rig->pipeline->open_cache();
  CHECK(crew.rig->pipeline->caching().choice().form == config::CacheForm::kOff);
  CHECK(crew.rig->pipeline->caching().choice().why == "user code makes its samples, which may be others each time");
  crew.rig->pipeline->close_cache();
}

TEST_CASE("bytes that are read more than once are the daemon's own, and a tensor lies where it was made") {
  struct Looking final : pipeline::Stage {
    Looking() : Stage({.name = "looking"}) {}
    pipeline::StageOutcome start(pipeline::Passage& passage, pipeline::Caller&) override {
      // The fields come in the outputs' order: the number, and the text.
      if (passage.borrowed.at(0).keeper == nullptr || passage.borrowed.at(1).keeper != nullptr) wrong++;
      if (passage.bytes.at(1).size() != 3) wrong++;
      return pipeline::StageOutcome::kDone;
    }
    uint64_t busy_ns() const override { return 0; }
    unsigned concurrency() const override { return 1; }
    std::atomic<int> wrong{0};
  };
  Looking* looking = nullptr;
  Given given = tens("text bytes; value int64 []");
  config::OutputSpec text{"text", "text", {{"bytes", {{"text", true}}, {}}}, {}};
  text.varying = {.form = config::Form::kRagged, .length_max = 100};
  given.outputs.push_back(text);
  given = in_records(given);
  given.more_stages = {[&](const pipeline::Pipeline&) {
    auto stage = std::make_unique<Looking>();
    looking = stage.get();
    return stage;
  }};
  const auto make = [](const Task& task, const Bytes&) {
    return made({bytes_of(std::string("abc")), bytes_of(static_cast<int64_t>(10 * task.index))});
  };
  CrewRig crew(given, {make, 2});
  crew.rig->fill_all();
  CHECK(has_each_once(take_epoch(*crew.rig)));
  CHECK(looking->wrong == 0);
}

TEST_CASE("what the cache has of a user's items is that user's alone") {
  const auto owner = [](uid_t user) {
    source::Places places;
    places.user = user;
    return source::open_listings(std::vector{source_of("value int64 []")}, {}, {}, {}, nullptr, {}, places);
  };
  CHECK(owner(1000)->fingerprint() == owner(1001)->fingerprint());
  CHECK(owner(1000)->owner() == "user 1000");
  CHECK(owner(1001)->owner() == "user 1001");
}

}  // namespace spdld::making_test
