#include "client/src/crew/crew_link.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "tests/support/crew_host.h"
#include "tests/support/fake_daemon.h"
#include "tests/support/temp_dir.h"

namespace spdld::crew_link_test {

using namespace spdld;
using namespace spdld::test;
using client::CallOutcome;
using client::CrewEvent;
using client::CrewEventKind;
using client::CrewLink;
using client::Deadline;

namespace {

// A daemon, and a crew of this process that has joined it.
struct Joined {
  using Answer = std::function<bool(int socket, const proto::Message&)>;
  explicit Joined(Answer answer) : daemon(socket, script_of(std::move(answer))) {
    const CallOutcome outcome = link.join(socket, "secret", Deadline::after_ms(5000));
    INFO(outcome.text);
    REQUIRE(outcome.ok());
  }
  static FakeScript script_of(Answer answer) {
    FakeScript script;
    script.on_other = std::move(answer);
    return script;
  }
  CrewEvent await() {
    for (;;) {  // each turn waits for a message
      CrewEvent event = link.take();
      if (event.kind != CrewEventKind::kNone) return event;
      pollfd entry = {link.poll_fd(), POLLIN, 0};
      REQUIRE(::poll(&entry, 1, 5000) > 0);
    }
  }
  TempDir folder;
  const std::string socket = folder.path().string() + "/s";
  FakeDaemon daemon;
  CrewLink link;
};

template <typename Table>
bool send(int socket, proto::Body type, flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Table> body,
          std::span<const int> fds = {}) {
  return proto::send_message(socket, proto::finish(builder, type, body), fds) == proto::IoStatus::kOk;
}

}  // namespace

TEST_CASE("a crew joins, hears of workers, and tells how they fare") {
  CrewHost host("secret", R"({"errands": []})", 4096, 77);
  Joined joined([&](int socket, const proto::Message& message) { return host.serve(socket, message); });
  CHECK(joined.daemon.counts().pidfds == 1);
  const CrewEvent first = joined.await();
  CHECK(first.kind == CrewEventKind::kJoined);
  CHECK(first.text == R"({"errands": []})");
  CHECK(first.scratch_bytes == 4096);
  CHECK(first.memory_max == 77);
  CHECK(first.fds.size() == 1);
  CHECK(host.take_said(5000)->what == "joined");

  host.start_worker(3);
  const CrewEvent second = joined.await();
  CHECK(second.kind == CrewEventKind::kStartWorker);
  CHECK(second.worker == 3);
  CHECK(second.fds.size() == 2);
  host.end_worker(3);
  const CrewEvent third = joined.await();
  CHECK(third.kind == CrewEventKind::kEndWorker);
  CHECK(third.worker == 3);

  joined.link.tell_progress("importing augment", 1, 2);
  joined.link.tell_ready();
  joined.link.tell_worker_ended(3, "was ended");
  joined.link.tell_failed(std::string(100'000, 'x'));
  CHECK(joined.link.flush());
  const auto progress = host.take_said(5000);
  REQUIRE(progress);
  CHECK((progress->what == "progress" && progress->text == "importing augment"));
  CHECK((progress->number == 1 && progress->total == 2));
  CHECK(host.take_said(5000)->what == "ready");
  const auto ended = host.take_said(5000);
  REQUIRE(ended);
  CHECK((ended->what == "ended" && ended->number == 3 && ended->text == "was ended"));
  const auto failed = host.take_said(5000);
  REQUIRE(failed);
  CHECK((failed->what == "failed" && failed->text == std::string(16 * 1024, 'x')));  // as much as a message holds

  host.hang_up();
  CHECK(joined.await().kind == CrewEventKind::kEnd);
  CHECK(joined.link.flush());  // there is nobody to send to
}

TEST_CASE("a crew that nobody wants any more, or whose token is another, is told") {
  CrewHost host("secret", "", 4096, 0);
  Joined joined([&](int socket, const proto::Message& message) { return host.serve(socket, message); });
  CHECK(joined.await().kind == CrewEventKind::kNotWanted);

  CrewHost other("other", "{}", 4096, 0);
  Joined refused([&](int socket, const proto::Message& message) { return other.serve(socket, message); });
  const CrewEvent event = refused.await();
  CHECK(event.kind == CrewEventKind::kEnd);
  CHECK(event.text == "no crew of this token is wanted");
}

TEST_CASE("a daemon that shuts down or breaks the protocol ends the crew with a sentence") {
  struct Case {
    std::function<bool(int, flatbuffers::FlatBufferBuilder&)> sends;
    std::string words;
  };
  const Case given = GENERATE_COPY(
      Case{[](int socket, auto& builder) {
             return send(socket, proto::Body::Goodbye, builder, proto::CreateGoodbyeDirect(builder, "for the night"));
           },
           "shuts down: for the night"},
      Case{[](int socket, auto& builder) {
             return send(socket, proto::Body::CrewJoined, builder, proto::CreateCrewJoinedDirect(builder, "{}", 1, 0));
           },
           "CREW_JOINED without the scratch memory"},
      Case{[](int socket, auto& builder) {
             const int fds[] = {STDOUT_FILENO, STDOUT_FILENO, STDOUT_FILENO};
             return send(socket, proto::Body::StartWorker, builder, proto::CreateStartWorker(builder, 1), fds);
           },
           "START_WORKER without two descriptors"},
      Case{[](int socket, auto& builder) {
             return send(socket, proto::Body::Answer, builder, proto::CreateAnswer(builder));
           },
           "a message that a crew does not expect"},
      Case{[](int socket, auto&) {
             const uint8_t garbage[] = {1, 2, 3};
             return proto::send_message(socket, garbage) == proto::IoStatus::kOk;
           },
           "something that is no message"},
      Case{[](int, auto&) { return false; }, "closed the connection"});
  Joined joined([&](int socket, const proto::Message&) {
    flatbuffers::FlatBufferBuilder builder;
    return given.sends(socket, builder);
  });
  const CrewEvent event = joined.await();
  CHECK(event.kind == CrewEventKind::kEnd);
  INFO(event.text);
  CHECK(event.text.find(given.words) != std::string::npos);
}

TEST_CASE("what finds no room in the socket goes out later") {
  CrewHost host("secret", "{}", 4096, 0);
  std::mutex closed;
  Joined joined([&](int socket, const proto::Message& message) {
    const std::lock_guard lock(closed);  // a daemon that is busy
    return host.serve(socket, message);
  });
  CHECK(joined.await().kind == CrewEventKind::kJoined);
  constexpr uint32_t kMany = 2000;
  {
    const std::lock_guard lock(closed);
    for (uint32_t i = 0; i < kMany; i++) joined.link.tell_worker_ended(i, std::string(500, 'x'));
    CHECK_FALSE(joined.link.flush());
  }
  CHECK(host.take_said(5000)->what == "joined");
  for (uint32_t i = 0; i < kMany; i++) {
    joined.link.flush();
    const auto said = host.take_said(5000);
    REQUIRE(said);
    REQUIRE(said->number == i);
  }
}

TEST_CASE("a crew finds no daemon, and says so") {
  const TempDir folder;
  CrewLink link;
  CHECK(link.join(folder.path().string() + "/s", "secret", Deadline::after_ms(1000)).result == SPDLD_NO_DAEMON);
}

}  // namespace spdld::crew_link_test
