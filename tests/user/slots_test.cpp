// Results that workers write into the slots themselves: where they go, and what becomes of a sample's place when its
// worker ends, when its stream goes elsewhere, and when the stream ends.
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <set>
#include <string>

#include "tests/user/items.h"

namespace spdld::slots_test {

using namespace spdld;
using namespace spdld::test;
using making_test::Bytes;
using making_test::bytes_of;
using making_test::has_each_once;
using making_test::raw;
using making_test::take_epoch;
using proto::crew::Task;

namespace {

// The samples' numbers as they are: the function ends the chain, and its result has one shape.
Given again(uint64_t epochs = 1) {
  Given given;
  given.epochs = epochs;
  given.outputs = {{"value", "text", {{"parse-int", {}, {}}, python("t:again", "int64 []")}, {}}};
  return given;
}
Made make_again(const Task&, const Bytes& input) { return {.bytes = input, .shape = {}}; }

SlotUse& use_of(CrewRig& crew) { return crew.process->slots; }

void take_all(CrewRig& crew, uint64_t samples = 20) {
  std::multiset<int64_t> ids;
  while (ids.size() < samples) {
    crew.rig->tick_until_ready();
    const Received batch = crew.rig->take();
    CHECK(batch.values == tenfold(batch.ids));
    CHECK(batch.batch.substituted.empty());
    ids.insert(batch.ids.begin(), batch.ids.end());
  }
  CHECK(has_each_once(ids));
}

}  // namespace

TEST_CASE("a result that ends its chain is written into the slot, and takes no scratch memory of its own") {
  std::atomic<uint64_t> in_scratch{0};
  CrewRig crew(again(), {[&](const Task& task, const Bytes& input) {
                           if (task.slot == 0) in_scratch++;
                           return make_again(task, input);
                         },
                         2});
  crew.rig->fill_all();
  take_all(crew);
  CHECK(in_scratch == 0);
  CHECK(use_of(crew).written == 20);
  CHECK(use_of(crew).mapped <= 2 * 3);
  for (const auto& slot : crew.rig->slots) CHECK(slot.memory->is_lent());
}

TEST_CASE("bunches write into slots, also where some of their samples have none, or where their call fails") {
  Given given;
  given.epochs = 1;
  given.outputs = {{"value", "text", {{"parse-int", {}, {}}, bunched("t:again", "int64 []", 8)}, {}}};
  std::atomic<int> begun_without{0}, again{0}, in_slot{0};
  const bool refuses = GENERATE(false, true);
  Bunches bunches{.most = 8, .begun = [&](const std::vector<Task>& bunch) {
                    if (bunch.size() > 1 && again++ % 2 == 0) return Made::Way::kAgain;
                    if (bunch.size() > 1 && again % 4 == 1) return Made::Way::kDies;
                    return Made::Way::kGives;
                  }};
  CrewRig crew(given, {.function =
                           [&](const Task& task, const Bytes& input) {
                             if (task.slot != 0) refuses ? begun_without++ : in_slot++;
                             return make_again(task, input);
                           },
                       .workers = 2,
                       .is_ready = false,
                       .bunches = bunches});
  crew.rig->fill_all();
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  use_of(crew).refuses = refuses;
  crew.be_ready();
  take_all(crew);
  CHECK(begun_without == 0);
  CHECK((refuses ? in_slot == 0 : in_slot > 0));
}

TEST_CASE("a worker that can't map a slot gets its room in the scratch memory, once for each slot") {
  std::atomic<uint64_t> in_slot{0};
  CrewRig crew(again(), {[&](const Task& task, const Bytes& input) {
                           if (task.slot != 0) in_slot++;
                           return make_again(task, input);
                         },
                         2, false});
  crew.rig->fill_all();
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  use_of(crew).refuses = true;
  crew.be_ready();
  take_all(crew);
  CHECK(in_slot == 0);
  CHECK(use_of(crew).given <= 2 * 3);
  CHECK(crew.started() == 2);
}

TEST_CASE("items whose workers can't map slots come in the record") {
  CrewRig crew(making_test::tens(), {making_test::ten, 2, false});
  crew.rig->fill_all();
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  use_of(crew).refuses = true;
  crew.be_ready();
  CHECK(has_each_once(take_epoch(*crew.rig)));
  CHECK(use_of(crew).written == 0);
  CHECK(use_of(crew).given > 0);
  crew.rig->stream->stop();
  CHECK(soon([&] { return crew.scratch->taken_bytes() == 0; }));
}

TEST_CASE("a worker that has no slot for a call without one is ended") {
  Given given;
  given.outputs = {{"value", "text", {python("t:again", "bytes"), {"parse-int", {}, {}}}, {}}};
  std::atomic<int> lies{0};
  CrewRig crew(given, {[&](const Task& task, const Bytes& input) {
                         if (task.sample != 7 || lies.fetch_add(1) > 0)
                           return gives(std::string(input.begin(), input.end()));
                         Made made{.way = Made::Way::kSays};
                         made.reply.number = task.number, made.reply.kind = proto::crew::ReplyKind::kNoSlot;
                         return made;
                       },
                       1});
  crew.rig->fill_all();
  take_all(crew);
  CHECK(crew.started() == 2);
}

TEST_CASE("slots come and go while a worker reads nothing, and its tasks keep their places") {
  memory::HostSlot memory(4096, memory::Access::kWritable);
  user::Worker worker(1);
  const std::vector<UniqueFd> descriptors = worker.take_descriptors();
  Mapped ring(descriptors.at(0).get());
  const auto& tasks = reinterpret_cast<proto::crew::Ring*>(ring.at(0))->tasks;
  uint32_t given = 0;
  for (uint32_t number = 1; number <= 100; number++) {
    if (worker.has_slot({number, memory.shared().fd, 4096, memory.fill_address()})) given++;
    worker.take_slot(number);
  }
  CHECK(given > 0);
  CHECK(tasks.written <= user::Worker::kSlotTasksMax);
}

TEST_CASE("a worker that ends in the middle of its write leaves no torn row, and another one makes the sample anew") {
  std::mutex mutex;
  std::set<uint64_t> torn;
  CrewRig crew(again(), {[&](const Task& task, const Bytes& input) {
                           const std::lock_guard lock(mutex);
                           if (task.sample % 5 != 2 || !torn.insert(task.sample).second) return make_again(task, input);
                           return Made{.way = Made::Way::kTears,
                                       .bytes = Bytes(input.size(), 0xee),
                                       .with_room = Made::Way::kDies};
                         },
                         2});
  crew.rig->fill_all();
  take_all(crew);
  CHECK(torn.size() == 4);
}

TEST_CASE("a batch is not published while a worker that does not end may write into its place") {
  Given given = again();
  given.python.call_limit_s = 0.1;
  given.shuffle = false;
  std::atomic<int> torn{0};
  CrewRig crew(given, {[&](const Task& task, const Bytes& input) {
                         if (task.sample != 2 || torn.fetch_add(1) > 0) return make_again(task, input);
                         return Made{.way = Made::Way::kTears, .bytes = Bytes(input.size(), 0xee)};
                       },
                       2});
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.control.run([&] { crew.process->clings = true; });  // it does not end when it is told to
  crew.rig->fill_all();
  REQUIRE(soon([&] { return torn == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(400));  // for a batch that must not come
  crew.rig->stream->tick();
  crew.rig->wait([&] {
    CHECK(crew.rig->ready.empty());  // batches come in their order, and the first one has the place
    return true;
  });
  crew.control.run([&] {
    crew.process->clings = false;
    crew.process->die();  // its workers, which others take the place of
  });
  take_all(crew);
}

TEST_CASE("a seek does not give a slot back while a worker may write into it") {
  Given given = again(0);
  given.shuffle = false;
  std::atomic<bool> holds{true};
  std::atomic<int> held{0};
  CrewRig crew(given, {[&](const Task& task, const Bytes& input) {
                         if (task.sample == 1 && holds) {
                           held = 1;
                           holds.wait(true);
                         }
                         return make_again(task, input);
                       },
                       1});
  crew.rig->fill_all();
  REQUIRE(soon([&] { return held == 1; }));
  crew.rig->stream->seek(1, {0, 0});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  size_t back = 0;
  crew.rig->wait([&] {
    back = crew.rig->abandoned;
    return true;
  });
  CHECK(back < crew.rig->slots.size());
  holds = false;
  holds.notify_all();
  crew.rig->tick_until([&] { return crew.rig->abandoned == crew.rig->slots.size(); });
  crew.rig->fill_all();
  take_all(crew);
}

TEST_CASE("workers unmap the slots of a stream that has ended, and keep those of another one") {
  CrewRig crew(again(0), {make_again, 2});
  crew.rig->fill_all();
  take_all(crew);
  const int before = use_of(crew).mapped;
  CHECK(before > 0);
  // A second reader's stream, with slots of its own, on the same pipeline.
  struct Second final : pipeline::FillObserver {
    void on_batch(const batch::Batch&) override { batches++; }
    void on_abandoned(batch::Slot&) override {}
    void on_failed(const Error&) override {}
    void on_quiet() override { quiet = true; }
    void on_wanting() override {}
    std::atomic<int> batches{0};
    std::atomic<bool> quiet{false};
  } second;
  const sampler::Sharding sharding(crew.rig->pipeline->samples(), crew.rig->pipeline->spec().batch, 0, 1);
  const batch::Layout layout(crew.rig->pipeline->plan().tensors(), sharding.batch_size(), 1 << 20);
  std::vector<batch::Slot> slots;
  for (uint32_t i = 0; i < 2; i++)
    slots.push_back({i, std::make_unique<memory::HostSlot>(layout.slot_bytes(), memory::Access::kCopyOnWrite,
                                                           memory::MemoryKind::kHost, true)});
  {
    pipeline::Stream stream(crew.rig->pipeline, sharding, layout, slots.size(), {0, 0}, second);
    for (auto& slot : slots) stream.fill(slot);
    REQUIRE(soon([&] { return second.batches == 2; }));
    for (const auto& slot : slots) CHECK(slot.memory->is_lent());
    CHECK(use_of(crew).mapped > before);
    stream.stop();
    REQUIRE(soon([&] { return second.quiet.load(); }));
  }
  CHECK(soon([&] { return use_of(crew).mapped <= 2 * static_cast<int>(crew.rig->slots.size()); }));
  take_all(crew);
  crew.rig->stream->stop();
  CHECK(soon([&] { return use_of(crew).mapped == 0; }));
}

TEST_CASE("a worker that writes all over its slots at any time costs values alone") {
  Given given = again(0);
  given.mixes = true;
  CrewRig crew(given, {make_again, 2});
  std::vector<std::unique_ptr<Mapped>> mapped;  // as a worker has them
  for (const auto& slot : crew.rig->slots) mapped.push_back(std::make_unique<Mapped>(slot.memory->shared().fd));
  std::jthread scribbler([&](const std::stop_token& stop) {
    uint64_t state = 1;
    while (!stop.stop_requested())
      for (const auto& slot : mapped)
        for (size_t at = 0; at + sizeof state <= slot->bytes(); at += sizeof state) {
          state = state * 6364136223846793005 + 1442695040888963407;
          std::memcpy(slot->at(at), &state, sizeof state);
        }
  });
  crew.rig->fill_all();
  for (int i = 0; i < 100; i++) {
    crew.rig->tick_until_ready();
    const Received batch = crew.rig->take();
    CHECK(batch.batch.slice.count == given.batch_size);
    CHECK(batch.batch.flaws.empty());
  }
  scribbler = {};
  CHECK(crew.rig->failure.empty());
  CHECK(crew.started() == 2);
}

TEST_CASE("a slot that is sealed against writing is filled over the scratch memory") {
  CrewRig crew(again(0), {make_again, 2});
  for (auto& slot : crew.rig->slots)
    slot.memory = std::make_unique<memory::HostSlot>(slot.memory->bytes(), memory::Access::kCopyOnWrite);
  crew.rig->fill_all();
  take_all(crew);
  CHECK(use_of(crew).given == 0);
  CHECK(!crew.rig->slots[0].memory->is_lent());
}

TEST_CASE("many streams come and go, and no worker loses its place in the lane") {
  CrewRig crew(again(0), {make_again, 1});
  crew.rig->fill_all();
  for (int round = 0; round < 60; round++) {
    const Received batch = crew.rig->take(false);
    CHECK(batch.values == tenfold(batch.ids));
    crew.rig->pipeline->end_lending(*batch.batch.slot->memory);  // as of a stream that has ended
    crew.rig->stream->fill(*batch.batch.slot);
  }
  CHECK(crew.started() == 1);
  CHECK(use_of(crew).given > 30);
  CHECK(use_of(crew).mapped <= 3 + 1);
}

TEST_CASE("values of items that the batch has as they are lie in the slot, and the rest in the record") {
  Given given = making_test::tens("value int64 []; text bytes; pad uint8 [1000]");
  config::OutputSpec text{"text", "text", {{"bytes", {{"text", true}}, {}}}, {}};
  text.varying = {.form = config::Form::kRagged, .length_max = 100};
  given.outputs.push_back(text);
  given.outputs.push_back({"pad", "pad", {raw("uint8", {1000})}, {}});
  std::atomic<int> wrong{0};
  const auto make = [&](const Task& task, const Bytes&) {
    const bool is_right = task.slot != 0 && task.value_at[0] != proto::crew::kInRecord &&
                          task.value_at[1] == proto::crew::kInRecord && task.value_at[2] != proto::crew::kInRecord;
    wrong += is_right ? 0 : 1;
    return making_test::made({Bytes(1000, static_cast<uint8_t>(task.index)), bytes_of(std::string("abc")),
                              bytes_of(static_cast<int64_t>(10 * task.index))});
  };
  CrewRig crew(given, {make, 2});
  crew.rig->fill_all();
  CHECK(has_each_once(take_epoch(*crew.rig)));
  CHECK(wrong == 0);
  CHECK(use_of(crew).written == 40);
  crew.rig->stream->stop();
  CHECK(soon([&] { return crew.scratch->taken_bytes() == 0; }));
}

TEST_CASE("a record whose values lie in the slot has the rest alone") {
  const auto lie = [](const Task& task, const Bytes& input) {
    Made one = making_test::ten(task, input);
    if (task.index == 4) one.values.clear(), one.bytes.resize(63);
    return one;
  };
  CrewRig crew(making_test::tens(), {lie, 2});
  crew.rig->fill_all();
  const auto ids = take_epoch(*crew.rig);
  CHECK_FALSE(ids.contains(4));
  CHECK(crew.rig->pipeline->errors().entries().at(0).reason == "photos:train: its result has another size");
}

TEST_CASE("a value lies in the slot where nothing else is made of it") {
  const auto placed = [](const config::OutputSpec& more, const std::string& gives = "value int64 []; more int64 []") {
    Given given = making_test::tens(gives);
    given.outputs.push_back(more);
    const Rig rig([&] {
      given.delegates = {
          {std::string(config::kUserExecutor), [](const pipeline::Pipeline&) {
             struct None final : pipeline::Delegate {
               media::ScratchMemory& scratch() override { std::abort(); }
               std::unique_ptr<pipeline::Stage> make_stage(std::vector<const pipeline::Errand*>) override {
                 std::abort();
               }
             };
             return std::make_unique<None>();
           }}};
      return given;
    }());
    const pipeline::Making& making = rig.pipeline->plan().makings().front();
    return std::vector<bool>{making.may_place(1), making.may_place(0)};  // values come in the order of their names
  };
  using Bools = std::vector<bool>;
  CHECK(placed({"more", "more", {raw("int64")}, {}}) == Bools{true, true});
  CHECK(placed({"more", "value", {raw("int64")}, {}}) == Bools{false, false});  // two outputs of one value
  CHECK(placed({"more", "more", {raw("bool")}, {}}, "value int64 []; more bool []") == Bools{true, false});
  CHECK(placed({"more", "more", {raw("int64", {2})}, {}}, "value int64 []; more int64 [2]") == Bools{true, true});
  CHECK(placed({"more", "more", {raw("uint8", {4})}, {}}, "value int64 []; more bytes") == Bools{true, false});
}

TEST_CASE("an item whose worker ends in the middle of its write is made anew") {
  std::mutex mutex;
  std::set<uint64_t> died;
  CrewRig crew(making_test::tens(), {[&](const Task& task, const Bytes& input) {
                                       const std::lock_guard lock(mutex);
                                       if (task.index % 7 == 3 && died.insert(task.index).second)
                                         return Made{.way = Made::Way::kDies};
                                       return making_test::ten(task, input);
                                     },
                                     2});
  crew.rig->fill_all();
  take_all(crew);
  CHECK(died.size() == 3);
}

TEST_CASE("with cache = \"encoded\" values come in the record, from which they are kept") {
  Given given = making_test::tens();
  given.cache = config::CacheForm::kEncoded;
  given.cache_bytes = 64 << 20;
  given.epochs = 3;
  CrewRig crew(given, {making_test::ten, 2});
  crew.rig->pipeline->open_cache();
  crew.rig->fill_all();
  for (int epoch = 0; epoch < 3; epoch++) CHECK(has_each_once(take_epoch(*crew.rig)));
  CHECK(use_of(crew).written == 0);
  crew.rig->stream->stop();
  crew.rig->pipeline->close_cache();
}

}  // namespace spdld::slots_test
