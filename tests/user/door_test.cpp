// How a crew's process comes and goes, and what becomes of its pipeline meanwhile.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "tests/user/crew_rig.h"

namespace spdld::door_test {

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

void take_some(CrewRig& crew, int batches) {
  for (int i = 0; i < batches; i++) {
    crew.rig->tick_until_ready();
    const Received batch = crew.rig->take();
    CHECK(batch.values == tenfold(batch.ids));
  }
}

}  // namespace

TEST_CASE("a process that dies is asked for anew, and no sample is lost") {
  CrewRig crew(again(), {make_again});
  crew.rig->fill_all();
  for (int i = 0; i < 5; i++) {
    take_some(crew, 7);
    crew.kill_process();
  }
  take_some(crew, 7);
  CHECK(crew.joined() == 6);
}

TEST_CASE("a process that is never ready is asked for a few times, and then the pipeline fails") {
  CrewRig crew(again(), {.function = make_again, .is_ready = false});
  crew.rig->fill_all();
  for (size_t i = 1; i <= user::Door::kLossesMax; i++) {
    REQUIRE(soon([&] { return crew.joined() == i; }));
    crew.kill_process();
  }
  CHECK_THAT(crew.failure(), Contains("before they are ready"));
}

TEST_CASE("what a process can't do fails the pipeline in its words") {
  CrewRig crew(again(), {.function = make_again, .is_ready = false});
  crew.rig->fill_all();
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.control.run([&] { crew.seat->failed("there is no module 'augment': write one"); });
  CHECK(crew.failure() == "there is no module 'augment': write one");
  CHECK(soon([&] {
    bool ended = false;
    crew.control.run([&] { ended = !crew.process->ended.empty(); });
    return ended;
  }));
}

TEST_CASE("a process that does not come in time fails the pipeline") {
  CrewRig crew(again(), {make_again});
  crew.control.run([&] { crew.starts = false; });
  crew.kill_process();
  REQUIRE(soon([&] {
    size_t asked = 0;
    crew.control.run([&] { asked = crew.tokens.size(); });
    return asked == 2;
  }));
  crew.rig->fill_all();
  crew.tick(user::Door::kJoinNsMax / 2);
  CHECK(crew.rig->failure.empty());
  crew.tick(user::Door::kJoinNsMax + 1'000'000'000);
  CHECK_THAT(crew.failure(), Contains("did not start within 60 s"));
}

TEST_CASE("the process ends with the last trainer, and another one comes with the next") {
  CrewRig crew(again(), {make_again});
  crew.rig->fill_all();
  take_some(crew, 5);
  crew.leave();
  crew.control.run([&] { CHECK(crew.process->ended == "its last trainer has gone"); });
  crew.control.run([&] { crew.seat.reset(); });
  crew.come();
  take_some(crew, 5);
  CHECK(crew.joined() == 2);
}

TEST_CASE("a token counts once, for its user alone") {
  CrewRig crew(again(), {make_again});
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.control.run([&] {
    const std::string token = crew.tokens.front();
    CHECK(token.size() == 32);
    const auto join = [&](uid_t uid, std::string_view text) {
      return static_cast<bool>(crew.crews->join(client_of(uid), text, crew.process));
    };
    CHECK_FALSE(join(getuid(), token));
    CHECK_FALSE(join(getuid(), ""));
    crew.starts = false;
    crew.process->die();
    crew.seat.reset();
  });
  REQUIRE(soon([&] {
    size_t asked = 0;
    crew.control.run([&] { asked = crew.tokens.size(); });
    return asked == 2;
  }));
  crew.control.run([&] {
    CHECK(crew.tokens[0] != crew.tokens[1]);
    CHECK_FALSE(crew.crews->join(client_of(getuid() + 1), crew.tokens[1], crew.process));
    CHECK_FALSE(crew.crews->join(client_of(getuid()), crew.tokens[0], crew.process));
  });
}

TEST_CASE("a trainer that can't start a crew is refused where none is there, and another user in any case") {
  CrewRig crew(again(), {.function = make_again, .workers = 1, .is_ready = true, .starts_crews = false});
  REQUIRE_FALSE(crew.attended);
  CHECK_THAT(crew.attended.error().message, Contains("spdld.torch.Loader"));
  crew.come();
  REQUIRE(crew.attended);
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.control.run([&] {
    CHECK(crew.crews->attend(*crew.rig->pipeline, client_of(getuid()), false, nullptr));
    CHECK_FALSE(crew.crews->attend(*crew.rig->pipeline, client_of(getuid() + 1), true, nullptr));
  });
}

TEST_CASE("a process without a pipeline in use is ended") {
  CrewRig crew(again(), {make_again});
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.leave();
  crew.control.run([&] { CHECK_FALSE(crew.process->ended.empty()); });
}

TEST_CASE("workers that end with every sample fail the pipeline, by its bad samples") {
  CrewRig crew(again(), {[](const Task&, const std::vector<uint8_t>&) { return Made{.way = Made::Way::kDies}; }, 1});
  crew.rig->fill_all();  // each sample is bad after two deaths, and there are many substitutes
  CHECK_THAT(crew.failure(), Contains("was ended by signal 11"));
}

TEST_CASE("workers that end as soon as they start fail the pipeline") {
  CrewRig crew(again(), {.function = make_again, .workers = 2, .is_ready = false});
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.control.run([&] {
    crew.process->dies_at_start = true;
    crew.seat->ready();
  });
  crew.rig->fill_all();
  CHECK(crew.failure() == "the processes of user code end as soon as they start: the last one was ended by signal 11");
  CHECK(crew.started() < 20);
}

TEST_CASE("a worker that can't be ended fails its pipeline for good, and holds nothing up") {
  Given given = again();
  given.python.call_limit_s = 0.1;
  CrewRig crew(given, {[](const Task&, const std::vector<uint8_t>&) { return Made{.way = Made::Way::kHangs}; }, 1});
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.control.run([&] { crew.process->clings = true; });
  crew.rig->fill_all();
  CHECK_THAT(crew.failure(), Contains("can't be ended"));
  crew.control.run([&] { crew.process->die(); });
  crew.leave();
  crew.control.run([&] { crew.seat.reset(); });
  crew.come();
  crew.control.run([&] { CHECK(crew.tokens.size() == 1); });
}

TEST_CASE("a process of the next trainer knows nothing of the failure of the one before") {
  CrewRig crew(again(), {.function = make_again, .is_ready = false});
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.control.run([&] { crew.seat->failed("there is no module 'augment': write one"); });
  crew.rig->fill_all();  // samples that come behind the failure hear of it
  CHECK(crew.failure() == "there is no module 'augment': write one");
  crew.leave();
  crew.control.run([&] { crew.seat.reset(); });
  crew.come();
  CHECK(soon([&] { return crew.joined() == 2; }));
}

TEST_CASE("samples of a batch that a seek has left are not worked on") {
  std::atomic<int> calls{0};
  CrewRig crew(again(), {.function =
                             [&](const Task& task, const std::vector<uint8_t>& input) {
                               calls++;
                               return make_again(task, input);
                             },
                         .is_ready = false});
  REQUIRE(soon([&] { return crew.joined() == 1; }));
  crew.rig->fill_all();
  REQUIRE(soon([&] { return crew.stage().waiting() == 12; }));
  crew.rig->stream->seek(1, {});
  crew.be_ready();
  crew.rig->wait([&] { return crew.rig->abandoned == 3; });
  CHECK(calls == 0);
  CHECK(crew.stage().waiting() == 0);
}

}  // namespace spdld::door_test
