// Workers and processes that do what they please: it costs their own pipeline, and neither the daemon's processor nor
// its memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <mutex>
#include <set>
#include <string>

#include "tests/user/crew_rig.h"

namespace spdld::hostile_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using proto::crew::Task;

namespace {

Given again() {
  Given given;
  given.epochs = 0;
  given.outputs = {{"value", "text", {python("t:again", "bytes"), {"parse-int", {}, {}}}, {}}};
  return given;
}

Made make_again(const Task&, const std::vector<uint8_t>& input) {
  return gives(std::string(input.begin(), input.end()));
}

Made asks_for_room(const Task& task, uint64_t bytes, Made::Way with_room) {
  Made made{.way = Made::Way::kSays, .with_room = with_room};
  made.reply.number = task.number, made.reply.kind = proto::crew::ReplyKind::kNeedsRoom;
  made.reply.bytes = bytes;
  return made;
}

void take_some(CrewRig& crew, int batches) {
  for (int i = 0; i < batches; i++) {
    crew.rig->tick_until_ready();
    const Received batch = crew.rig->take();
    CHECK(batch.values == tenfold(batch.ids));
  }
}

size_t masked_of(CrewRig& crew, int batches) {
  size_t masked = 0;
  for (int i = 0; i < batches; i++) {
    crew.rig->tick_until_ready();
    masked += crew.rig->take().batch.masked.size();
  }
  return masked;
}

uint64_t processor_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000 + static_cast<uint64_t>(time.tv_nsec) / 1'000'000;
}

// What the process writes to its stderr meanwhile.
std::string said(const std::function<void()>& what) {
  const UniqueFd file(memfd_create("stderr", MFD_CLOEXEC)), before(dup(STDERR_FILENO));
  dup2(file.get(), STDERR_FILENO);
  what();
  dup2(before.get(), STDERR_FILENO);
  std::string text(static_cast<size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
  REQUIRE(pread(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return text;
}

}  // namespace

TEST_CASE("a worker that asks for room and makes nothing of it is ended as one that takes too long") {
  Given given = again();
  given.epochs = 1, given.on_bad = config::OnBad::kMask;
  given.python.call_limit_s = 0.2;
  CrewRig crew(given, {[](const Task& task, const std::vector<uint8_t>& input) {
                         return task.sample == 7 ? asks_for_room(task, 9000, Made::Way::kHangs)
                                                 : make_again(task, input);
                       },
                       1});
  crew.rig->fill_all();
  CHECK(masked_of(crew, 5) == 1);
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].sample == 7);
  CHECK_THAT(errors[0].reason, Contains("call_limit_s of [python]"));
}

TEST_CASE("a sample whose worker dies while it writes the result is bad the second time") {
  Given given = again();
  given.epochs = 1, given.on_bad = config::OnBad::kMask;
  CrewRig crew(given, {[](const Task& task, const std::vector<uint8_t>& input) {
                         return task.sample == 7 ? asks_for_room(task, 9000, Made::Way::kDies)
                                                 : make_again(task, input);
                       },
                       1});
  crew.rig->fill_all();
  CHECK(masked_of(crew, 5) == 1);
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].reason == "t:again: its process was ended by signal 11");
}

TEST_CASE(
    "a worker that asks for more room than a tensor of one shape has is ended, and the sample is made elsewhere") {
  Given given;
  given.outputs = {{"value", "text", {{"parse-int", {}, {}}, python("t:again", "int64 []")}, {}}};
  std::atomic<int> lies{0};
  CrewRig crew(given, {[&](const Task& task, std::vector<uint8_t> input) {
                 if (task.sample == 7 && lies.fetch_add(1) == 0) return asks_for_room(task, 9000, Made::Way::kHangs);
                 return Made{.bytes = std::move(input)};
               }});
  crew.rig->fill_all();
  take_some(crew, 5);
  CHECK(lies == 2);
  CHECK(crew.started() == 3);
  CHECK(crew.rig->pipeline->errors().entries().empty());
}

TEST_CASE("a result that is too large is bad, however much memory is free") {
  Given given = again();
  given.epochs = 1, given.on_bad = config::OnBad::kMask;
  given.python.scratch_bytes = 1 << 20;
  const uint64_t bytes = GENERATE((1 << 18) + 1, 1 << 18);
  CrewRig crew(given, {[&](const Task& task, const std::vector<uint8_t>& input) {
                         const std::string text(input.begin(), input.end());
                         return gives(task.sample == 7 ? std::string(bytes - text.size(), '0') + text : text);
                       },
                       1});
  crew.rig->fill_all();
  CHECK(masked_of(crew, 5) == (bytes > 1 << 18 ? 1 : 0));
  const auto errors = crew.rig->pipeline->errors().entries();
  if (bytes > 1 << 18)
    CHECK(errors.at(0).reason ==
          "t:again gave 262145 bytes, and there is room for 262144: raise scratch under [python]");
}

TEST_CASE("a worker that asks for room twice is ended") {
  std::atomic<int> lies{0};
  Given given = again();
  given.epochs = 1;
  CrewRig crew(given, {[&](const Task& task, const std::vector<uint8_t>& input) {
                         return task.sample == 7 && lies.fetch_add(1) == 0 ? asks_for_room(task, 9000, Made::Way::kSays)
                                                                           : make_again(task, input);
                       },
                       1});
  crew.rig->fill_all();
  take_some(crew, 5);
  CHECK(crew.started() == 2);
  CHECK(crew.rig->pipeline->errors().entries().empty());
}

TEST_CASE("a result is as large as its room and its tensor at the most") {
  const bool is_tensor = GENERATE(true, false);
  const auto lie = GENERATE(0, 1, 2, 3);
  Given given = again();
  given.epochs = 1, given.on_bad = config::OnBad::kMask;
  if (is_tensor) given.outputs = {{"value", "text", {{"parse-int", {}, {}}, python("t:again", "int64 []")}, {}}};
  CrewRig crew(given, {[&](const Task& task, std::vector<uint8_t> input) {
                         if (task.sample != 7) return Made{.bytes = std::move(input)};
                         Made made{.way = Made::Way::kSays};
                         made.reply.number = task.number, made.reply.bytes = is_tensor ? 8 : 1;
                         if (lie == 0) made.reply.bytes = task.room.bytes + 1;
                         if (lie == 1) made.reply.bytes = is_tensor ? 7 : UINT64_MAX;
                         if (lie == 2) made.reply.bytes = uint64_t{1} << 63;
                         if (lie == 3 && is_tensor) made.reply.bytes = 0;
                         if (lie == 3) made.reply.shape.dimensions = proto::crew::kDimensionsMax + 1;
                         return made;
                       },
                       1});
  crew.rig->fill_all();
  CHECK(masked_of(crew, 5) == 1);
  const auto errors = crew.rig->pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].reason == "t:again: its result has another size");
}

TEST_CASE("a text is as long as there is room for, whatever a worker says") {
  Given given = again();
  given.epochs = 1, given.on_bad = config::OnBad::kMask;
  CrewRig crew(given, {[&](const Task& task, std::vector<uint8_t> input) {
                         if (task.sample != 7) return Made{.bytes = std::move(input)};
                         Made made{.way = Made::Way::kSays};
                         made.reply.number = task.number, made.reply.kind = proto::crew::ReplyKind::kBad;
                         made.reply.text_bytes = UINT32_MAX;
                         return made;
                       },
                       1});
  crew.rig->fill_all();
  CHECK(masked_of(crew, 5) == 1);
  CHECK(crew.rig->pipeline->errors().entries().at(0).reason.size() <= 4 * proto::crew::kTextBytesMax);
}

TEST_CASE("many calls of a worker may take longer together than one may") {
  Given given = again();
  given.epochs = 1, given.python.call_limit_s = 0.2;
  CrewRig crew(given, {[](const Task& task, const std::vector<uint8_t>& input) {
                         std::this_thread::sleep_for(std::chrono::milliseconds(25));  // its work
                         return make_again(task, input);
                       },
                       1});
  crew.rig->fill_all();
  take_some(crew, 5);
  CHECK(crew.started() == 1);
}

TEST_CASE("the time that a worker says its calls took is not believed beyond their limit") {
  Given given = again();
  given.epochs = 1, given.python.call_limit_s = 1;
  CrewRig crew(given, {[](const Task& task, const std::vector<uint8_t>&) {
                         Made made{.way = Made::Way::kSays};
                         made.reply.number = task.number, made.reply.kind = proto::crew::ReplyKind::kBad;
                         made.reply.call_ns = made.reply.operation_ns[0] = UINT64_MAX - 5;
                         return made;
                       },
                       1});
  crew.rig->fill_all();
  CHECK_FALSE(crew.failure().empty());
  const auto& statistics = crew.stage().statistics();
  const uint64_t most_ns = (statistics.failures.value() + 100) * 1'000'000'000;
  CHECK(crew.stage().busy_ns() <= most_ns);
  uint64_t calls_ns = 0;
  crew.stage().for_each_operation([&](const std::string&, std::string_view, uint64_t, uint64_t ns) { calls_ns += ns; });
  CHECK(calls_ns > 0);
  CHECK(calls_ns <= most_ns);
}

TEST_CASE("a worker that lies and can't be ended costs no processor time") {
  CrewRig crew(again(), {[](const Task&, const std::vector<uint8_t>&) { return Made{.way = Made::Way::kClaims}; }, 1});
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.control.run([&] { crew.process->clings = true; });
  const uint64_t before_ms = processor_ms();
  crew.rig->fill_all();
  CHECK_THAT(crew.failure(), Contains("can't be ended"));  // after 5 s
  CHECK(processor_ms() - before_ms < 2500);
  crew.control.run([&] { crew.process->die(); });
}

TEST_CASE("a worker that rings its bell all the time is ended") {
  std::atomic<int> rings{0};
  CrewRig crew(again(), {[&](const Task& task, const std::vector<uint8_t>& input) {
                           return rings.fetch_add(1) == 0 ? Made{.way = Made::Way::kRings} : make_again(task, input);
                         },
                         1});
  crew.rig->fill_all();
  take_some(crew, 7);
  CHECK(crew.started() == 2);
}

TEST_CASE("a process that tells its progress all the time fills no log") {
  CrewRig crew(again(), {.function = make_again, .is_ready = false});
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  const std::string text = said([&] {
    crew.control.run([&] {
      for (uint32_t i = 0; i < 3000; i++) crew.seat->progress("loads", i, 3000);
    });
  });
  const auto lines = std::count(text.begin(), text.end(), '\n');
  CHECK(lines > 0);
  CHECK(lines < 500);
}

}  // namespace spdld::hostile_test
