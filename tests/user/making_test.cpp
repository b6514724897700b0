// Samples that a crew makes: the items of a data set in user code.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "daemon/source/opening/opening.h"
#include "proto/crew/record.h"
#include "tests/support/temp_dir.h"
#include "tests/user/crew_rig.h"

namespace spdld::making_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using proto::crew::Task;

namespace {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(int64_t number) {
  Bytes bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}
Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

Bytes record_of(const std::vector<Bytes>& values) {
  std::vector<uint64_t> sizes;
  Bytes record(values.size() * sizeof(uint64_t));
  for (size_t i = 0; i < values.size(); i++) {
    const uint64_t size = values[i].size(), at = proto::crew::value_offset(sizes, values.size());
    std::memcpy(record.data() + i * sizeof size, &size, sizeof size);
    if (size > 0) {
      record.resize(at);
      record.insert(record.end(), values[i].begin(), values[i].end());
    }
    sizes.push_back(size);
  }
  return record;
}

Made made(const std::vector<Bytes>& values) { return {.bytes = record_of(values)}; }

config::SourceSpec source_of(const std::string& gives, int64_t samples = 20) {
  config::SourceSpec source;
  source.type = "python";
  source.uris = {};
  source.parameters = {{"call", "photos:train"}, {"code", std::string()}, {"samples", samples}, {"gives", gives}};
  return source;
}

config::OperationSpec raw(const std::string& dtype, std::vector<double> shape = {}) {
  return {"raw", {{"dtype", dtype}, {"shape", std::move(shape)}, {"offset", int64_t{-1}}}, {}};
}

std::unique_ptr<source::Listing> list(const std::vector<config::SourceSpec>& sources) {
  return source::open_listings(sources, {}, {});
}

// One number, ten times the index.
Given tens(const std::string& gives = "value int64 []") {
  Given given;
  given.sources = {source_of(gives)};
  given.list = list;
  given.outputs = {{"value", "value", {raw("int64")}, {}}};
  return given;
}
Made ten(const Task& task, const Bytes&) { return made({bytes_of(static_cast<int64_t>(10 * task.index))}); }

// As many batches as an epoch has.
std::multiset<int64_t> take_epoch(Rig& rig, uint64_t samples = 20) {
  std::multiset<int64_t> ids;
  while (ids.size() < samples) {
    const Received batch = rig.take();
    CHECK(batch.values == tenfold(batch.ids));
    ids.insert(batch.ids.begin(), batch.ids.end());
  }
  return ids;
}

bool has_each_once(const std::multiset<int64_t>& ids, int64_t samples = 20) {
  for (int64_t id = 0; id < samples; id++)
    if (ids.count(id) != 1) return false;
  return static_cast<int64_t>(ids.size()) == samples;
}

}  // namespace

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
  CHECK(ids.count(7) == 0);
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors.front().reason, Contains("raised ValueError: seven"));
  CHECK(crew.rig->pipeline->listing().name(7) == "photos:train[7]");
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
  CHECK(ids.count(9) == 0);
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
  CrewRig crew(tens(), {lie, 2});
  crew.rig->fill_all();
  const auto ids = take_epoch(*crew.rig);
  for (int64_t id = 0; id < 5; id++) CHECK(ids.count(id) == 0);
  CHECK(crew.rig->failure.empty());
}

TEST_CASE("a record of another size than all have ends nothing but its item") {
  const auto lie = [](const Task& task, const Bytes& input) {
    Made one = ten(task, input);
    if (task.index == 4) one.bytes.pop_back();
    if (task.index == 5) one.shape = {3};
    return one;
  };
  CrewRig crew(tens(), {lie, 2});
  crew.rig->fill_all();
  const auto ids = take_epoch(*crew.rig);
  CHECK(ids.count(4) == 0);
  CHECK(ids.count(5) == 0);
}

TEST_CASE("items wait for scratch memory, and none is lost") {
  Given given = tens("pad uint8 [100000]; value int64 []");
  given.python.scratch_bytes = 1 << 20;  // eight records at once
  given.batch_size = 10;
  given.outputs.push_back({"pad", "pad", {raw("uint8", {100'000})}, {}});
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
  const auto run = [&] {
    made_items = 0;
    CrewRig crew(given, {make, 2});
    crew.rig->pipeline->open_cache();
    crew.rig->fill_all();
    CHECK(has_each_once(take_epoch(*crew.rig)));
    crew.rig->stream->stop();
    crew.rig->pipeline->close_cache();
    return made_items.load();
  };
  CHECK(run() == 20);
  CHECK(run() == 0);
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path()))
    if (file.is_regular_file() && file.file_size() > 1000)
      std::filesystem::resize_file(file.path(), file.file_size() / 2);
  CHECK(run() > 0);
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
