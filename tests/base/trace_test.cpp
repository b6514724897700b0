#include "daemon/base/trace.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <thread>
#include <utility>

using namespace spdld;
using trace::Note;
using trace::Recording;
using trace::What;

namespace {

Note numbered(uint64_t sample) { return {.start_ns = monotonic_ns(), .sample = sample, .what = What::kWork}; }

// By thread, in their order.
std::map<size_t, std::vector<uint64_t>> samples_of(const Recording& recording, uint64_t from = 0) {
  std::map<size_t, std::vector<uint64_t>> samples;
  recording.read(from, [&](const Note& note, size_t thread) {
    samples[thread].push_back(note.sample);
    return true;
  });
  return samples;
}

constexpr size_t kChunk = Recording::kChunkBytes;

}  // namespace

TEST_CASE("trace: without a recording nobody is recorded, and a note does nothing", "[trace]") {
  const uint64_t subject = trace::new_subject();
  CHECK(subject != trace::new_subject());
  CHECK_FALSE(trace::is_on(subject));
  CHECK_FALSE(trace::is_on(trace::kNobody));
  CHECK(trace::begin(subject) == 0);
  trace::note(subject, numbered(1));
  const Recording recording(subject, kChunk);
  CHECK(trace::is_on(subject));
  CHECK(trace::begin(subject) >= recording.start_ns());
}

TEST_CASE("trace: a recording has all fields of its own subject's notes, and no others", "[trace]") {
  const uint64_t subject = trace::new_subject(), other = trace::new_subject();
  Recording recording(subject, kChunk);
  CHECK_FALSE(trace::is_on(other));
  const Note whole{.start_ns = 7,
                   .duration_ns = uint64_t{1} << 40,
                   .batch = 3,
                   .sample = UINT64_MAX,
                   .value = 5,
                   .index = UINT32_MAX,
                   .what = What::kSlotsHeld,
                   .failed = true};
  trace::note(subject, whole);
  trace::note(other, numbered(1));
  recording.end();
  trace::note(subject, numbered(2));
  CHECK_FALSE(trace::is_on(subject));
  REQUIRE(recording.size() == 1);
  CHECK(recording.dropped() == 0);
  CHECK(recording.end_ns() >= recording.start_ns());
  recording.read(0, [&](const Note& note, size_t thread) {
    CHECK(note.start_ns == 7);
    CHECK(note.duration_ns == uint64_t{1} << 40);
    CHECK(note.batch == 3);
    CHECK(note.sample == UINT64_MAX);
    CHECK(note.value == 5);
    CHECK(note.index == UINT32_MAX);
    CHECK(note.what == What::kSlotsHeld);
    CHECK(note.failed);
    CHECK(thread == 0);
    return true;
  });
  CHECK(recording.threads().at(0).id == gettid());
}

TEST_CASE("trace: each kind of note has a name of its own, of the pipeline and of each of its stages", "[trace]") {
  const std::vector<trace::NoteKind> kinds = trace::kinds_of({{.name = "fetch", .lane = "read"}, {.name = "grade"}});
  std::set<std::string> names;
  for (const trace::NoteKind& kind : kinds) names.insert(kind.name);
  CHECK(names.size() == kinds.size());
  CHECK(kinds.size() == trace::kWhats + trace::kWhatsOfStage);
  const auto name_of = [&](What what, uint8_t stage = 0) {
    return kinds.at(trace::kind_of({.what = what, .stage = stage})).name;
  };
  CHECK(name_of(What::kFinish) == "finish");
  CHECK(name_of(What::kRelease, 1) == "release");
  CHECK(name_of(What::kSlotsHeld) == "slots-held");
  CHECK(name_of(What::kWork) == "fetch");
  CHECK(name_of(What::kWork, 1) == "grade");
  CHECK(name_of(What::kWait, 0) == "fetch-wait");
  CHECK(name_of(What::kWaiting, 1) == "grade-waiting");
  CHECK(name_of(What::kWorkElsewhere, 1) == "grade-elsewhere");
  CHECK(kinds.at(trace::kind_of({.what = What::kWait})).shown == "wait for a read");
}

TEST_CASE("trace: notes beyond the bound are dropped and counted", "[trace]") {
  const uint64_t subject = trace::new_subject(), room = 2 * Recording::kNotesOfChunk;
  Recording recording(subject, 2 * kChunk);
  for (uint64_t i = 0; i < room + 10; i++) trace::note(subject, numbered(i));
  recording.end();
  CHECK(recording.size() == room);
  CHECK(recording.dropped() == 10);
  const auto samples = samples_of(recording).at(0);
  for (uint64_t i = 0; i < room; i++) REQUIRE(samples[i] == i);
}

TEST_CASE("trace: reading goes on from any note, and stops where it is told to", "[trace]") {
  const uint64_t subject = trace::new_subject();
  Recording recording(subject, 4 * kChunk);
  const uint64_t count = Recording::kNotesOfChunk + 5;
  for (uint64_t i = 0; i < count; i++) trace::note(subject, numbered(i));
  recording.end();
  for (const uint64_t from : {uint64_t{0}, uint64_t{1}, count - 6, count - 5, count - 1}) {
    uint64_t seen = 0, first = UINT64_MAX;
    recording.read(from, [&](const Note& note, size_t) {
      if (seen++ == 0) first = note.sample;
      return seen < 3;
    });
    CHECK(first == from);
    CHECK(seen == std::min<uint64_t>(3, count - from));
  }
  CHECK(samples_of(recording, count).empty());
}

TEST_CASE("trace: there is one recording at a time, and the next begins empty", "[trace]") {
  const uint64_t subject = trace::new_subject();
  {
    Recording first(subject, kChunk);
    trace::note(subject, numbered(1));
    CHECK_THROWS_AS(Recording(subject, kChunk), SetupError);
    CHECK_FALSE(trace::give_back());
    CHECK(trace::is_on(subject));  // the refused one has not ended it
    first.end();
    CHECK_THROWS_AS(Recording(subject, kChunk), SetupError);  // its notes are still there
  }
  CHECK_FALSE(trace::is_on(subject));
  CHECK(trace::give_back());
  Recording second(subject, kChunk);
  trace::note(subject, numbered(2));
  second.end();
  CHECK(samples_of(second) == std::map<size_t, std::vector<uint64_t>>{{0, {2}}});
}

TEST_CASE("trace: threads that write all the time lose nothing while recordings come and go", "[trace]") {
  constexpr size_t kThreads = 6, kRounds = 30;
  const uint64_t subject = trace::new_subject();
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> written{0};
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      name_thread("writer", static_cast<unsigned>(t));
      for (uint64_t i = 0; !is_over; i++) {
        trace::note(subject, {.batch = t + 1, .sample = i, .what = What::kWork});
        written.fetch_add(1, std::memory_order_relaxed);
      }
    });
  uint64_t notes = 0;
  for (size_t round = 0; round < kRounds; round++) {
    while (!trace::give_back()) std::this_thread::yield();  // writers may be within note()
    Recording recording(subject, 16 * kChunk);
    const uint64_t before = written;
    while (written < before + 2000) std::this_thread::yield();
    recording.end();
    notes += recording.size();
    const auto samples = samples_of(recording);
    std::set<uint64_t> writers;
    recording.read(0, [&](const Note& note, size_t thread) {
      writers.insert(note.batch);
      return recording.threads().at(thread).name == "writer-" + std::to_string(note.batch - 1);
    });
    CHECK(writers.size() == samples.size());  // each thread's notes are in chunks of its own
    uint64_t size = 0;
    for (const auto& [thread, numbers] : samples) {
      size += numbers.size();
      const auto skips = [](uint64_t number, uint64_t next) { return next != number + 1; };
      CHECK(std::adjacent_find(numbers.begin(), numbers.end(), skips) == numbers.end());
    }
    CHECK(size == recording.size());
  }
  is_over = true;
  CHECK(notes > 0);
}
