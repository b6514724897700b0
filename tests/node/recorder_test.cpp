// Recordings for users: who may have one, how it is fetched, and what becomes of one that nobody fetches.
#include "daemon/node/recorder.h"

#include <unistd.h>

#include <chrono>
#include <map>
#include <sstream>
#include <thread>

#include "config/text/json.h"
#include "tests/node/rig.h"

namespace spdld::recorder_test {

using namespace spdld::test;
using config::Json;

namespace {

class RecorderRig : public SeatingRig {
 public:
  explicit RecorderRig(std::chrono::milliseconds kept_for = node::Recorder::kKeptFor)
      : recorder(loop(), seating, kept_for), guard_(loop()) {
    client = client_of(1001, process);
  }
  // Runs what comes in this time.
  void run_for(std::chrono::milliseconds time) {
    bool is_over = false;
    guard_.start(time, [&is_over] { is_over = true; });
    while (!is_over) {
      loop().run_ready();
      std::this_thread::yield();
    }
  }

  static control::Client client_of(uid_t uid, const FakeProcess& process) {
    control::Client client;
    client.uid = client.gid = uid;
    client.process = process.pidfd();
    return client;
  }
  Result<std::string> ask(const std::string& words, const control::Client& by) {
    return recorder.query(by, words, [this](const std::string& name) -> Result<std::shared_ptr<pipeline::Pipeline>> {
      if (name == "test") return pipeline();
      return Error{Trouble::kNotFound, "no pipeline " + name};
    });
  }
  Result<std::string> ask(const std::string& words) { return ask(words, client); }
  Json answer(const std::string& words) {
    const auto answer = ask(words);
    if (!answer) FAIL(answer.error().message);
    return *Json::parse(*answer);
  }
  std::string refusal(const std::string& words, const control::Client& by) {
    const auto answer = ask(words, by);
    return answer ? "" : answer.error().message;
  }
  std::string refusal(const std::string& words) { return refusal(words, client); }
  std::string start(const std::string& seconds = "60") {
    return std::to_string(answer("test start " + seconds).find("recording")->count());
  }
  // How many notes of each kind there are, and the last part.
  std::map<std::string, uint64_t> take(const std::string& number) {
    std::map<std::string, uint64_t> counts;
    do {
      part = answer("test take " + number + " " + std::to_string(part.is_object() ? part.find("next")->count() : 0));
      std::istringstream lines(part.find("lines")->text());
      for (std::string line; std::getline(lines, line);)
        counts[part.find("kinds")->values()[std::stoul(line)].find("name")->text()]++;
      parts++;
    } while (part.find("next")->count() < part.find("notes")->count());
    return counts;
  }

  FakeProcess process;
  node::Recorder recorder;
  Json part;
  size_t parts = 0;

 private:
  Timer guard_;
};

}  // namespace

TEST_CASE("recorder: a recording has what rings did, and their levels") {
  RecorderRig rig;
  Trainer& trainer = rig.attach("a");
  rig.client.process = rig.process.pidfd();
  const std::string number = rig.start();
  rig.consume(trainer, 3);
  const auto counts = rig.take(number);
  CHECK(counts.at("release") == 3);
  CHECK(counts.at("ready") == 3);
  CHECK(counts.at("publish") == 3);
  CHECK(counts.at("fill") == 3);
  CHECK_FALSE(counts.contains("copy"));  // the slots lie in host memory
  // Levels are noted at the beginning, and again every kLevelsEvery: always all of them.
  CHECK(counts.at("fetch-waiting") >= 1);
  for (const char* level : {"decode-waiting", "slots-free", "slots-filling", "slots-ready", "slots-held"}) {
    INFO(level);
    CHECK(counts.at(level) == counts.at("fetch-waiting"));
  }
  CHECK(rig.part.find("pipeline")->text() == "test");
  CHECK(rig.part.find("dropped")->count() == 0);
  CHECK(rig.part.find("pid")->count() == static_cast<uint64_t>(getpid()));
  REQUIRE(rig.part.find("rings")->size() == 1);
  CHECK(rig.part.find("rings")->values()[0].find("group")->text() == "a");
  CHECK(rig.refusal("test take " + number + " 0").find("there is no recording " + number) == 0);
}

TEST_CASE("recorder: wrong questions are refused, and begin nothing") {
  RecorderRig rig;
  for (const char* words :
       {"", "test", "test start", "test start 0.09", "test start 60.1", "test start -5", "test start nan",
        "test start inf", "test start 5s", "test start 5 5", "test stop 5", "test take", "test take 1", "test take 1 x",
        "test take -1 0", "test take 1 0 0", "test take 1 0 0 0 0 0"}) {
    INFO(words);
    CHECK(rig.refusal(words).find("\"trace\" takes") == 0);
  }
  CHECK(rig.refusal("other start 5") == "no pipeline other");
  CHECK(rig.refusal("test take 1 0").find("there is no recording 1") == 0);
  CHECK_FALSE(trace::is_on(rig.pipeline()->subject()));
  rig.take(rig.start());
}

TEST_CASE("recorder: there is one at a time, and only its user and the daemon's take it") {
  RecorderRig rig;
  const FakeProcess other;
  const std::string number = rig.start();
  const auto stranger = RecorderRig::client_of(1002, other), owner = RecorderRig::client_of(geteuid(), other);
  CHECK(rig.refusal("test start 5").find("this node makes one recording at a time") == 0);
  CHECK(rig.refusal("test start 5", stranger).find("this node makes one recording at a time") == 0);
  CHECK(rig.refusal("test take " + number + " 0", stranger).find("there is no recording") == 0);
  CHECK(rig.refusal("test take 77 0").find("there is no recording") == 0);
  CHECK(rig.refusal("other take " + number + " 0").find("there is no recording") == 0);
  CHECK(trace::is_on(rig.pipeline()->subject()));  // none of them has ended it
  CHECK(rig.refusal("test take " + number + " 1000000", owner).find("recording " + number + " has ") == 0);
  CHECK_FALSE(trace::is_on(rig.pipeline()->subject()));
  CHECK(rig.ask("test take " + number + " 0", owner));
  CHECK(rig.start() != number);
}

TEST_CASE("recorder: other users' groups are not told") {
  RecorderRig rig;
  rig.attach("secret");
  const FakeProcess other;
  const auto stranger = RecorderRig::client_of(1002, other);
  const auto begun = rig.ask("test start 60", stranger);
  REQUIRE(begun);
  const std::string number = std::to_string(Json::parse(*begun)->find("recording")->count());
  const auto taken = rig.ask("test take " + number + " 0", stranger);
  REQUIRE(taken);
  CHECK(taken->find("secret") == std::string::npos);
  CHECK(Json::parse(*taken)->find("rings")->size() == 1);
}

TEST_CASE("recorder: a recording ends with the process that began it") {
  RecorderRig rig;
  const std::string number = rig.start();
  rig.settle();
  CHECK(trace::is_on(rig.pipeline()->subject()));
  rig.process.end();
  rig.settle();
  CHECK_FALSE(trace::is_on(rig.pipeline()->subject()));
  const FakeProcess next;
  rig.client.process = next.pidfd();
  CHECK(rig.refusal("test take " + number + " 0").find("there is no recording") == 0);
  rig.take(rig.start());
}

TEST_CASE("recorder: the times of a recording that is gone do not end the next one") {
  using namespace std::chrono_literals;
  RecorderRig rig(300ms);
  const auto is_on = [&rig] { return trace::is_on(rig.pipeline()->subject()); };
  SECTION("the end of one whose process has ended") {
    rig.start("0.2");
    rig.process.end();
    rig.run_for(20ms);
    REQUIRE_FALSE(is_on());
    rig.run_for(250ms);  // beyond its end
  }
  SECTION("the last time to fetch one that was fetched") {
    const std::string number = rig.start("0.1");
    rig.run_for(150ms);
    REQUIRE_FALSE(is_on());
    rig.take(number);
  }
  const FakeProcess next;
  rig.client.process = next.pidfd();
  rig.part = {};
  const std::string number = rig.start();
  rig.run_for(600ms);
  CHECK(is_on());
  CHECK(rig.take(number).size() > 0);
}

TEST_CASE("recorder: a recording that nobody fetches is given up in time, and its levels end with it") {
  using namespace std::chrono_literals;
  RecorderRig rig(200ms);
  const std::string number = rig.start("0.1");
  rig.run_for(150ms);
  CHECK_FALSE(trace::is_on(rig.pipeline()->subject()));
  rig.run_for(300ms);
  CHECK(rig.refusal("test take " + number + " 0").find("there is no recording") == 0);
}

TEST_CASE("recorder: a long recording is taken in parts, and each part goes on where the part before ended") {
  RecorderRig rig;
  const std::string number = rig.start();
  constexpr uint64_t kCount = 30'000;
  for (uint64_t i = 0; i < kCount; i++)
    trace::note(rig.pipeline()->subject(),
                {.start_ns = monotonic_ns(), .sample = i, .what = trace::What::kWork, .stage = 1});
  CHECK(rig.take(number).at("decode") == kCount);
  CHECK(rig.parts > 3);
}

}  // namespace spdld::recorder_test
