#include "client/cli/top/looker.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "client/cli/cli.h"

namespace spdld::top_looker_test {

using namespace spdld::cli;
using cli::top::Looker;
using config::Json;

constexpr int kWaitMs = 30'000;

std::optional<Looker::Answer> next(Looker& looker) {
  pollfd file{looker.fd(), POLLIN, 0};
  while (poll(&file, 1, kWaitMs) < 0 && errno == EINTR) continue;
  return looker.take();
}

// Whether this process has further threads, and none of them runs.
bool all_others_sleep() {
  size_t others = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(gettid())) continue;
    std::ifstream file(thread.path() / "stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    if (stat.find(") S ") == std::string::npos) return false;
    others++;
  }
  return others > 0;
}

TEST_CASE("answers and failures come in turn, the newest alone") {
  std::atomic<int> looks = 0;
  Looker looker(
      [&looks]() -> Json {
        const int number = ++looks;
        if (number % 2 == 0) throw Failure(kNoDaemon, "nobody is there.");
        return {{"number", number}};
      },
      0.001);
  bool has_document = false, has_failure = false;
  int last = 0;
  while (!has_document || !has_failure || last < 5) {
    const auto answer = next(looker);
    REQUIRE(looks > 0);
    if (!answer) continue;
    if (answer->document) {
      const int number = static_cast<int>(answer->document->find("number")->count());
      CHECK(number > last);
      last = number, has_document = true;
    } else {
      CHECK(answer->why == "nobody is there.");
      has_failure = true;
    }
  }
}

TEST_CASE("the end does not wait for a daemon that does not answer") {
  std::atomic<bool> waits = false;
  std::atomic<int> interrupted = 0;
  {
    Looker looker(
        [&]() -> Json {
          waits = true;
          waits.notify_all();
          if (poll(nullptr, 0, kWaitMs) < 0 && errno == EINTR) interrupted++;
          throw Failure(kTimedOut, "interrupted.");
        },
        0.001);
    waits.wait(false);
  }
  CHECK(interrupted == 1);
}

TEST_CASE("a looker that has not looked yet ends at once") {
  {
    Looker looker([]() -> Json { return Json::object(); }, 3600);
    CHECK(!looker.take());
  }
  Looker looker([]() -> Json { return Json::object(); }, 3600);
  // The looker's thread sleeps in its pause of an hour now. The end of this scope must wake the thread.
  while (!all_others_sleep()) std::this_thread::yield();
}

}  // namespace spdld::top_looker_test
