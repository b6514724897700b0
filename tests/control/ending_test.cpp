// How a session ends when its client does.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <optional>

#include "tests/control/noting.h"
#include "tests/control/raw_client.h"

namespace spdld::ending_test {

using namespace spdld;
using test::Notes;
using test::NotingAttachment;
using test::OneRing;
using test::RawClient;
using test::Served;

TEST_CASE("a session ends with its client's process, even where a forked child still holds the socket") {
  Served served;
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  RawClient client(served.path());  // this process goes on holding the socket, as a forked child would
  client.hello(child);
  served.wait_for_sessions(1);
  kill(child, SIGKILL);
  served.wait_for_sessions(0);
  CHECK(served.emptied == 1);
  waitpid(child, nullptr, 0);
}

TEST_CASE("what a client sent before its process ended is taken, even where the daemon was not reading it") {
  Served served;
  OneRing ring;
  Notes notes;
  test::attach_all(served, ring, notes);
  int answers = 0;
  served.service.on_query = [&](std::string_view, std::string_view) {
    answers++;
    return std::string(30'000, 'x');
  };
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  RawClient client(served.path());
  client.hello(child);
  client.send_attach(1, "p");
  const auto heard = client.hear();
  REQUIRE(heard->message().body_as_Attached());
  const uint32_t number = heard->message().body_as_Attached()->attachment();
  for (uint32_t i = 0; i < 20; i++) client.send_query(2 + i, proto::Topic::ping);  // whose answers it does not read
  client.send_release(number, 0, 7);
  client.send_detach(number);
  int answered = 0;
  for (int last = -1; last != answered || answered == 0;) {  // until it waits for this client to read
    last = answered;
    served.on_control([&] { answered = answers; });
  }
  CHECK(answered < 20);
  kill(child, SIGKILL);
  served.wait_for_sessions(0);
  waitpid(child, nullptr, 0);
  CHECK(notes.released == std::vector<delivery::LeaseId>{{0, 7}});
  CHECK(notes.ended == 1);
}

TEST_CASE("a session whose client was asked after ends with the process, where a forked child holds the socket") {
  Served served;
  OneRing ring;
  Notes notes;
  std::shared_ptr<control::AttachReply> reply;
  served.service.on_attach = [&](const control::Client&, control::AttachRequest,
                                 std::shared_ptr<control::AttachReply> to) {
    reply = to;
    to->attached(std::make_unique<NotingAttachment>(notes), ring.info());
  };
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  RawClient client(served.path());  // this process goes on holding the socket, as a forked child would
  client.hello(child);
  client.send_attach(1, "p");
  REQUIRE(client.hear()->message().body_as_Attached());
  served.on_control([&] {  // before the control thread hears of the end by itself
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    CHECK(reply->client_gone());
  });
  served.wait_for_sessions(0);
  CHECK(notes.ended == 1);
}

TEST_CASE("messages that lie in a closed socket are taken, whoever notices first that the client has gone") {
  const bool by_question = GENERATE(true, false);  // another client that wants its seat, or a message to it
  Served served;
  OneRing ring;
  Notes notes;
  std::shared_ptr<control::AttachReply> reply;
  served.service.on_attach = [&](const control::Client&, control::AttachRequest,
                                 std::shared_ptr<control::AttachReply> to) {
    reply = to;
    to->attached(std::make_unique<NotingAttachment>(notes), ring.info());
  };
  std::optional<RawClient> client(served.path());
  client->hello();
  client->send_attach(1, "p");
  const auto heard = client->hear();
  REQUIRE(heard->message().body_as_Attached());
  const uint32_t number = heard->message().body_as_Attached()->attachment();
  served.on_control([&] {
    client->send_release(number, 0, 7);
    client->send_detach(number);
    client.reset();
    if (!by_question) return reply->failed({Trouble::kTransient, "nobody hears this"});
    CHECK(reply->client_gone());
    CHECK(notes.ended == 1);
  });
  served.wait_for_sessions(0);
  CHECK(notes.released == std::vector<delivery::LeaseId>{{0, 7}});
  CHECK(notes.ended == 1);
}

}  // namespace spdld::ending_test
