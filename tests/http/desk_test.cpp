// How the control thread is spared, and whether it lives. Both threads are lists of tasks here.
#include "daemon/http/desk.h"

#include <catch2/catch.hpp>
#include <deque>
#include <new>
#include <stdexcept>

#include "daemon/http/health.h"

namespace spdld::http::desk_test {
namespace {

constexpr uint64_t kMs = 1'000'000, kS = 1000 * kMs;

struct Rig {
  std::deque<Desk::Task> control, server;
  uint64_t now_ns = kS;
  int made = 0;
  std::vector<std::string> replies;
  std::shared_ptr<Desk> desk =
      std::make_shared<Desk>([this](Desk::Task task) { control.push_back(std::move(task)); },
                             [this](Desk::Task task) { server.push_back(std::move(task)); }, [this] { return now_ns; });
  Route route{
      .path = "/x",
      .answer =
          [this](const Request& request) { return Answer{.body = request.parameter("q") + std::to_string(++made)}; },
      .parameters = {"q"}};

  void ask(const std::string& q = "") {
    Request request{"/x", {}};
    if (!q.empty()) request.parameters["q"] = q;
    desk->ask(route, request, [this](const Desk::AnswerPtr& answer) {
      replies.push_back(answer->status == 200 ? answer->body : std::to_string(answer->status));
    });
  }
  static void run(std::deque<Desk::Task>& tasks) {
    for (auto all = std::exchange(tasks, {}); const auto& task : all) task();
  }
  void run_all() { run(control), run(server); }
};

using Replies = std::vector<std::string>;

}  // namespace

TEST_CASE("requests for the same share one question", "[http]") {
  Rig rig;
  rig.ask(), rig.ask(), rig.ask("other");
  CHECK(rig.control.size() == 2);
  CHECK(rig.replies.empty());
  rig.run_all();
  CHECK(rig.replies == Replies{"1", "1", "other2"});
}

TEST_CASE("an answer serves for a second, and not longer", "[http]") {
  Rig rig;
  rig.ask(), rig.run_all();
  rig.now_ns += 999 * kMs;
  rig.ask();
  CHECK(rig.replies == Replies{"1", "1"});
  rig.now_ns += kMs;
  rig.ask();
  CHECK(rig.control.size() == 1);
  rig.run_all();
  CHECK(rig.replies == Replies{"1", "1", "2"});
}

TEST_CASE("a route whose answers are not kept is asked each time", "[http]") {
  Rig rig;
  rig.route.kept_ms = 0;
  rig.ask(), rig.run_all(), rig.ask(), rig.run_all();
  CHECK(rig.replies == Replies{"1", "2"});
}

TEST_CASE("a route of any thread is answered at once, each time", "[http]") {
  Rig rig;
  rig.route.thread = Route::Thread::kAny;
  rig.ask(), rig.ask();
  CHECK(rig.replies == Replies{"1", "2"});
  CHECK(rig.control.empty());
}

TEST_CASE("the control thread hears a bounded number of questions in a second", "[http]") {
  Rig rig;
  for (int i = 0; i < 100; i++) rig.ask("q" + std::to_string(i)), rig.run_all();
  CHECK(rig.made == static_cast<int>(Desk::kQuestionsBurst));
  CHECK(std::count(rig.replies.begin(), rig.replies.end(), "503") == 60);
  rig.now_ns += kS;
  for (int i = 0; i < 100; i++) rig.ask("r" + std::to_string(i)), rig.run_all();
  CHECK(rig.made == static_cast<int>(Desk::kQuestionsBurst + Desk::kQuestionsPerS));
}

TEST_CASE("questions about made-up names, however many, leave room for a request without parameters", "[http]") {
  Rig rig;
  for (int second = 0; second < 5; second++, rig.now_ns += kS) {
    for (int i = 0; i < 200; i++) rig.ask("q" + std::to_string(second * 200 + i));
    rig.replies.clear();
    rig.ask(), rig.run_all();
    REQUIRE(!rig.replies.empty());
    CHECK(std::find(rig.replies.begin(), rig.replies.end(), "503") == rig.replies.end());
  }
}

TEST_CASE("parameters that the route does not know make no request another one", "[http]") {
  Rig rig;
  for (int i = 0; i < 200; i++) {
    rig.desk->ask(rig.route, {"/x", {{"made-up" + std::to_string(i), "1"}, {"q", "a"}}},
                  [&](const Desk::AnswerPtr& answer) { rig.replies.push_back(answer->body); });
    rig.run_all();
  }
  CHECK(rig.replies == Replies(200, "a1"));
}

TEST_CASE("a request without parameters that is answered by an error is bounded, too", "[http]") {
  Rig rig;
  rig.route.answer = [&](const Request&) -> Answer { throw std::runtime_error(std::to_string(++rig.made)); };
  for (int i = 0; i < 100; i++) rig.ask(), rig.run_all();
  CHECK(rig.made == static_cast<int>(Desk::kQuestionsBurst));
}

TEST_CASE("a control thread that does not come round is not loaded with more", "[http]") {
  Rig rig;
  constexpr size_t kMany = Desk::kUnderWayMax - Desk::kUnderWayReserve;
  for (int i = 0; i < 1000; i++, rig.now_ns += 100 * kMs) rig.ask("q" + std::to_string(i));
  CHECK(rig.control.size() == kMany);
  CHECK(rig.replies == Replies(1000 - kMany, "503"));
  rig.ask();
  CHECK(rig.control.size() == kMany + 1);
  rig.control.clear();  // dropped, as by a loop that ends
  rig.ask("again");
  CHECK(rig.control.size() == 1);
}

TEST_CASE("a question that is never answered is asked anew after a while", "[http]") {
  Rig rig;
  rig.ask();
  rig.control.clear();
  rig.now_ns += Desk::kPatienceNs - 1;
  rig.ask();
  CHECK(rig.control.empty());
  rig.now_ns += 1;
  rig.ask();
  CHECK(rig.control.size() == 1);
  rig.run_all();
  CHECK(rig.replies == Replies{"1"});  // those before have given up
}

TEST_CASE("an answer that fails is told and not kept", "[http]") {
  Rig rig;
  const auto fine = rig.route.answer;
  rig.route.answer = [](const Request&) -> Answer { throw std::runtime_error("no"); };
  rig.ask(), rig.run_all();
  rig.route.answer = [](const Request&) -> Answer { throw std::bad_alloc(); };
  rig.ask(), rig.run_all();
  rig.route.answer = [](const Request&) { return Answer{.body = std::string(Desk::kBodyBytesMax + 1, 'x')}; };
  rig.ask(), rig.run_all();
  rig.route.answer = fine;
  rig.ask(), rig.run_all();
  CHECK(rig.replies == Replies{"500", "503", "500", "1"});
}

TEST_CASE("few answers are kept, the newest", "[http]") {
  Rig rig;
  for (size_t i = 0; i <= Desk::kKeptMax; i++) rig.ask("q" + std::to_string(i)), rig.run_all(), rig.now_ns += kMs;
  rig.ask("q" + std::to_string(Desk::kKeptMax)), rig.ask("q1");
  CHECK(rig.control.empty());
  rig.ask("q0");
  CHECK(rig.control.size() == 1);
}

TEST_CASE("a desk that is gone makes no answers", "[http]") {
  Rig rig;
  rig.ask();
  rig.desk.reset();
  Rig::run(rig.control);
  CHECK(rig.made == 0);
  CHECK(rig.server.empty());
}

TEST_CASE("a daemon lives while its control thread comes round, and is ready while it takes work", "[http]") {
  Health health(kS);
  CHECK(health.live(kS).status == 200);
  CHECK(health.ready(kS).status == 503);
  CHECK(health.ready(kS).body == "spdld is starting\n");
  health.set_refusal("");
  CHECK(health.ready(kS).status == 200);
  health.note_life(5 * kS);
  CHECK(health.live(4 * kS).status == 200);  // clocks of two threads
  CHECK(health.live(5 * kS + Health::kStuckNs).status == 200);
  CHECK(health.live(5 * kS + Health::kStuckNs + 1).status == 503);
  CHECK(health.ready(5 * kS + Health::kStuckNs + 1).status == 503);
  CHECK_THAT(health.live(25 * kS).body, Catch::Contains("for 20 s"));
  health.set_refusal("spdld stops (SIGTERM)");
  CHECK(health.live(5 * kS).status == 200);
  CHECK(health.ready(5 * kS).status == 503);
}

}  // namespace spdld::http::desk_test
