#include <unistd.h>

#include <catch2/catch.hpp>

#include "daemon/control/outbox.h"
#include "tests/control/raw_client.h"

namespace spdld::backpressure_test {

using namespace spdld;
using test::RawClient;
using test::Served;

TEST_CASE("a client that asks and never reads is cut off, and slows nobody else") {
  const std::string text(8000, 'x');
  Served served;
  served.service.on_query = [&](std::string_view, std::string_view) { return "\"" + text + "\""; };
  RawClient greedy(served.path()), good(served.path());
  greedy.hello();
  good.hello();
  // It asks until its own side is full too: then the server has stopped reading from it.
  flatbuffers::FlatBufferBuilder builder;
  const auto query = proto::finish(builder, proto::Body::Query, proto::CreateQuery(builder, 1, proto::Topic::ping));
  size_t asked = 0;
  while (asked < 100'000 && proto::send_message(greedy.fd(), query) == proto::IoStatus::kOk) {
    asked++;
    if (asked % 100 == 0) {
      good.send_query(2, proto::Topic::ping);
      REQUIRE(good.hear()->message().body_as_Answer());
    }
  }
  CHECK(asked < 100'000);
  for (size_t i = 0; i < asked; i++)
    REQUIRE(greedy.hear()->message().body_as_Answer());  // and goes on where it stopped
  good.send_query(2, proto::Topic::ping);
  REQUIRE(good.hear()->message().body_as_Answer());
}

TEST_CASE("what waits for one client is bounded") {
  auto [mine, theirs] = proto::socket_pair();
  control::Outbox outbox(mine.get());
  const std::vector<uint8_t> message(1000, 1);
  size_t sent = 0;
  while (outbox.send(message)) REQUIRE(++sent < 100'000);
  CHECK(sent >= control::Outbox::kMessagesMax);
  proto::Received received;
  size_t heard = 0;
  for (;;) {
    if (proto::receive_message(theirs.get(), received) == proto::IoStatus::kOk) {
      heard++;
      continue;
    }
    if (outbox.empty()) break;
    REQUIRE(outbox.flush());
  }
  CHECK(heard == sent);
}

TEST_CASE("a message goes behind those that wait, also where the socket has room again") {
  auto [mine, theirs] = proto::socket_pair();
  control::Outbox outbox(mine.get());
  uint8_t sent = 0, heard = 0;
  const auto send = [&, &from = outbox] { return from.send(std::vector<uint8_t>(20'000, sent++)); };
  while (outbox.empty()) {
    REQUIRE(sent < 200);
    REQUIRE(send());
  }
  proto::Received received;
  const auto hear = [&, &socket = theirs] {
    while (proto::receive_message(socket.get(), received) == proto::IoStatus::kOk) CHECK(received.bytes[0] == heard++);
  };
  hear();
  CHECK(heard < sent);
  REQUIRE(send());
  while (!outbox.empty()) {
    REQUIRE(outbox.flush());
    hear();
  }
  CHECK(heard == sent);
}

TEST_CASE("descriptors that wait outlive the caller's") {
  auto [mine, theirs] = proto::socket_pair();
  control::Outbox outbox(mine.get());
  const std::vector<uint8_t> message(1000, 1);
  while (outbox.empty()) REQUIRE(outbox.send(message));
  {
    const UniqueFd text = proto::text_to_memfd("still here", "test");
    const int fd = text.get();
    REQUIRE(outbox.send(message, std::span<const int>(&fd, 1)));
  }
  std::string read;
  proto::Received received;
  while (read.empty()) {
    if (proto::receive_message(theirs.get(), received) != proto::IoStatus::kOk) {
      REQUIRE(outbox.flush());
      continue;
    }
    if (!received.fds.empty()) REQUIRE(proto::text_from_memfd(received.fds[0].get(), 100, read));
    received.fds.clear();
  }
  CHECK(read == "still here");
}

TEST_CASE("the descriptors that wait for one client are bounded") {
  auto [mine, theirs] = proto::socket_pair();
  control::Outbox outbox(mine.get());
  const std::vector<uint8_t> message(1000, 1);
  while (outbox.empty()) REQUIRE(outbox.send(message));
  const std::vector<int> fds(60, STDIN_FILENO);
  size_t waiting = 0;
  while (outbox.send(message, fds)) REQUIRE((waiting += fds.size()) < 100'000);
  CHECK(waiting <= control::Outbox::kFdsMax);
  CHECK(waiting + fds.size() > control::Outbox::kFdsMax);
  CHECK(outbox.send(message));
  proto::Received received;
  while (!outbox.empty()) {
    while (proto::receive_message(theirs.get(), received) == proto::IoStatus::kOk) {
    }
    REQUIRE(outbox.flush());
  }
  while (outbox.empty()) REQUIRE(outbox.send(message));
  CHECK(outbox.send(message, fds));  // there is room again
}

TEST_CASE("one client too many is turned away with a sentence") {
  Served served(2);
  RawClient a(served.path()), b(served.path());
  a.hello();
  b.hello();
  RawClient c(served.path());
  const auto [code, text] = c.hear_error();
  CHECK(code == proto::ErrorCode::limit);
  CHECK_THAT(text, Catch::Contains("sessions_max"));
  CHECK_FALSE(c.hear());
}

TEST_CASE("stopping says GOODBYE to everybody") {
  Served served;
  RawClient a(served.path()), b(served.path());
  a.hello();
  b.hello();
  served.on_control([&] { served.server->stop("maintenance"); });
  for (RawClient* client : {&a, &b}) {
    const auto heard = client->hear();
    REQUIRE(heard);
    REQUIRE(heard->message().body_as_Goodbye());
    CHECK(proto::text_of(heard->message().body_as_Goodbye()->message()) == "maintenance");
    CHECK_FALSE(client->hear());
  }
}

}  // namespace spdld::backpressure_test
