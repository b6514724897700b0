// How a session ends when its client does.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <optional>
#include <utility>

#include "tests/control/noting.h"
#include "tests/control/raw_client.h"

namespace spdld::ending_test {

using namespace spdld;
using test::Notes;
using test::OneRing;
using test::RawClient;
using test::Served;

namespace {

// A process that sleeps until it is killed, and that a client can name as its own.
class Sleeper {
 public:
  Sleeper() : pid_(fork()) {
    if (pid_ != 0) return;
    pause();
    _exit(0);
  }
  ~Sleeper() { kill(); }
  pid_t pid() const { return pid_; }
  // Returns when the process has ended.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("a session ends with its client's process, even where a forked child still holds the socket") {
  Served served;
  Sleeper process;
  RawClient client(served.path());  // this process goes on holding the socket, as a forked child would
  client.hello(process.pid());
  served.wait_for_sessions(1);
  process.kill();
  served.wait_for_sessions(0);
  CHECK(served.emptied == 1);
}

TEST_CASE("what a client sent before its process ended is taken, even where the daemon was not reading it") {
  OneRing ring;
  Notes notes;
  int answers = 0;
  Served served;
  test::attach_all(served, ring, notes);
  served.service.on_query = [&](std::string_view, std::string_view) {
    answers++;
    return std::string(30'000, 'x');
  };
  Sleeper process;
  RawClient client(served.path());
  client.hello(process.pid());
  const uint32_t number = test::attach(client);
  for (uint32_t i = 0; i < 20; i++) client.send_query(2 + i, proto::Topic::ping);  // whose answers it does not read
  client.send_release(number, 0, 7);
  client.send_detach(number);
  int answered = 0;
  for (int last = -1; last != answered || answered == 0;) {  // until it waits for this client to read
    last = answered;
    served.on_control([&] { answered = answers; });
  }
  CHECK(answered < 20);
  process.kill();
  served.wait_for_sessions(0);
  CHECK(notes.released == std::vector<delivery::LeaseId>{{0, 7}});
  CHECK(notes.ended == 1);
}

TEST_CASE("a session whose client was asked after ends with the process, where a forked child holds the socket") {
  OneRing ring;
  Notes notes;
  std::shared_ptr<control::AttachReply> reply;
  Served served;
  test::attach_all(served, ring, notes, &reply);
  Sleeper process;
  RawClient client(served.path());  // this process goes on holding the socket, as a forked child would
  client.hello(process.pid());
  test::attach(client);
  served.on_control([&] {  // before the control thread hears of the end by itself
    process.kill();
    CHECK(reply->client_gone());
  });
  served.wait_for_sessions(0);
  CHECK(notes.ended == 1);
}

TEST_CASE("a daemon that finds a client's socket closed takes the messages that lie in it, then ends the session") {
  // How the daemon finds the end: it looks, because another client wants the seat, or it sends a message in vain.
  const bool by_question = GENERATE(true, false);
  OneRing ring;
  Notes notes;
  std::shared_ptr<control::AttachReply> reply;
  Served served;
  test::attach_all(served, ring, notes, &reply);
  std::optional<RawClient> client(served.path());
  client->hello();
  const uint32_t number = test::attach(*client);
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

TEST_CASE("a silent client ends if it holds batches, and only then") {
  OneRing ring;
  Notes notes;
  Served served;
  test::attach_all(served, ring, notes);
  served.service.on_query = [](std::string_view, std::string_view) { return std::string("{}"); };
  RawClient client(served.path());
  client.hello();
  const uint32_t number = test::attach(client);
  const auto answered = [&] {
    client.send_query(2, proto::Topic::ping);
    const auto heard = client.hear();
    return heard && heard->message().body_as_Answer();
  };
  const auto end_silent = [&] {
    served.on_control([&] { served.server->end_silent(std::chrono::milliseconds(-1)); });  // whoever is silent now
  };
  end_silent();
  CHECK(answered());
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<proto::LeaseId> keeps = {proto::LeaseId(7, 0)};
  const auto kept = builder.CreateVectorOfStructs(keeps);
  client.send(proto::finish(builder, proto::Body::Detach, proto::CreateDetach(builder, number, kept)));
  REQUIRE(answered());
  served.on_control([&] {  // which has not read yet that the client is not silent
    client.send_query(3, proto::Topic::ping);
    served.server->end_silent(std::chrono::milliseconds(-1));
  });
  const auto heard = client.hear();
  REQUIRE(heard);
  CHECK(heard->message().body_as_Answer());
  end_silent();
  const auto [code, text] = client.hear_error();
  CHECK(code == proto::ErrorCode::limit);
  CHECK_THAT(text, Catch::Contains("limits.silent_ms_max"));
  CHECK_FALSE(client.hear());
}

}  // namespace spdld::ending_test
