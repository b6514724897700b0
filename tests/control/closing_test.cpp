// Descriptors whose closing takes long, sent by clients that wish the daemon ill.
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "tests/control/raw_client.h"
#include "tests/support/lingering.h"

namespace spdld::closing_test {

using namespace spdld;
using proto::ErrorCode;
using test::Lingering;
using test::RawClient;
using test::Served;

namespace {

std::vector<Lingering> make_lingering(size_t count) { return std::vector<Lingering>(count); }

std::vector<int> fds_of(const std::vector<Lingering>& lingering) {
  std::vector<int> fds;
  for (const auto& one : lingering) fds.push_back(one.fd());
  return fds;
}

void close_own_copies(std::vector<Lingering>& lingering) {
  for (auto& one : lingering) one.close_own_copy();
}

// The control thread receives the descriptors when it has the only copies: they would linger in this thread otherwise.
void send_as_last(Served& served, std::vector<Lingering>& lingering, const std::function<void()>& send) {
  served.on_control([&] {
    send();
    close_own_copies(lingering);
  });
}

// Answers come while what lingers would still linger: within the ten seconds that hear() waits.
void check_answers(Served& served) {
  RawClient other(served.path());
  other.hello();
  other.send_query(1, proto::Topic::ping);
  const auto heard = other.hear();
  REQUIRE(heard);
  CHECK(heard->message().body_as_Answer());
}

void answer_queries(Served& served) {
  served.service.on_query = [](std::string_view, std::string_view) { return std::string("{}"); };
}

std::vector<uint8_t> release_message() {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = proto::finish(builder, proto::Body::Release, proto::CreateRelease(builder, 1, 0, 1, 1, 0));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("lingering descriptors in a message end its session, with a sentence, and nobody else waits") {
  Served served;
  answer_queries(served);
  auto lingering = make_lingering(3);
  RawClient bad(served.path());
  std::function<void()> send;
  SECTION("in HELLO") {
    send = [&] { bad.send_hello(1, 1, fds_of(lingering)); };
  }
  SECTION("before HELLO") {
    send = [&] { bad.send(release_message(), fds_of(lingering)); };
  }
  SECTION("in RELEASE") {
    bad.hello();
    send = [&] { bad.send(release_message(), fds_of(lingering)); };
  }
  SECTION("in what is no message") {
    bad.hello();
    send = [&] { bad.send(std::vector<uint8_t>(20, 7), fds_of(lingering)); };
  }
  send_as_last(served, lingering, send);
  const auto [code, text] = bad.hear_error();
  CHECK(code == ErrorCode::malformed);
  CHECK_THAT(text, Catch::Contains("carries 3 descriptors"));
  CHECK_FALSE(bad.hear());
  check_answers(served);
}

TEST_CASE("one lingering descriptor in the place of HELLO's pidfd or of a spec does not stop the control thread") {
  Served served;
  answer_queries(served);
  auto lingering = make_lingering(1);
  RawClient bad(served.path());
  std::function<void()> send = [&] { bad.send_hello(1, 1, fds_of(lingering)); };
  SECTION("HELLO") {}
  SECTION("ATTACH") {
    bad.hello();
    send = [&] {
      flatbuffers::FlatBufferBuilder builder;
      proto::AttachBuilder attach(builder);
      attach.add_request(1);
      attach.add_spec_in_fd(true);
      bad.send(proto::finish(builder, proto::Body::Attach, attach.Finish()), fds_of(lingering));
    };
  }
  send_as_last(served, lingering, send);
  CHECK(bad.hear_error().first == ErrorCode::malformed);
  check_answers(served);
}

TEST_CASE("lingering descriptors that nobody has read hold up nobody when their sender goes") {
  Served served;
  answer_queries(served);
  auto lingering = make_lingering(20);
  bool greeted = false;
  SECTION("with HELLO") { greeted = true; }
  SECTION("without HELLO"){} {
    RawClient bad(served.path());
    if (greeted) bad.hello();
    served.wait_for_sessions(1);
    // The control thread is kept busy until all messages lie in the socket, and then closes it unread.
    served.on_control([&] {
      for (const auto& one : lingering) bad.send(release_message(), {one.fd()});
      close_own_copies(lingering);
      for (const auto& [id, session] : served.server->sessions()) session->end("the test says so");
    });
    served.wait_for_sessions(0);
    CHECK_FALSE(bad.hear());  // told at once
  }
  check_answers(served);
}

TEST_CASE("a full server turns away clients with lingering descriptors and goes on") {
  Served served(1);
  answer_queries(served);
  RawClient only(served.path());
  only.hello();
  auto lingering = make_lingering(8);
  std::vector<RawClient> late;
  served.on_control([&] {  // sent before the server accepts them
    for (const auto& one : lingering) {
      late.emplace_back(served.path());
      late.back().send(release_message(), {one.fd()});
    }
    close_own_copies(lingering);
  });
  for (auto& one : late) {
    const auto heard = one.hear();
    REQUIRE(heard);
    REQUIRE(heard->message().body_as_ErrorReply());
    CHECK(heard->message().body_as_ErrorReply()->code() == ErrorCode::limit);
    CHECK_FALSE(one.hear());
  }
  only.send_query(1, proto::Topic::ping);
  CHECK(only.hear()->message().body_as_Answer());
}

TEST_CASE("the end of the server does not wait for what was sent to it") {
  auto lingering = make_lingering(5);
  std::vector<RawClient> clients;
  const auto begin = std::chrono::steady_clock::now();
  {
    Served served;
    served.on_control([&] {
      for (const auto& one : lingering) {
        clients.emplace_back(served.path());
        clients.back().send(release_message(), {one.fd()});
      }
      close_own_copies(lingering);
      served.server->stop("the test ends");  // they wait in the listener still
    });
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(35));  // one of them takes 40 s
}

}  // namespace spdld::closing_test
