// Clients that come and go in the midst of others.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "proto/seqpacket.h"
#include "tests/control/raw_client.h"

namespace spdld::churn_test {

using namespace spdld;
using test::Served;

namespace {

// A client for many threads, where nothing may be asserted. false: the other side has closed.
class Visitor {
 public:
  explicit Visitor(const std::string& path) : socket_(proto::connect_to(path)) {}

  bool say_hello() {
    flatbuffers::FlatBufferBuilder builder;
    const auto body = proto::CreateHello(builder, proto::kVersionMin, proto::kVersionMax, 0, getpid());
    const UniqueFd self = proto::open_pidfd(getpid());
    const int fds[] = {self.get()};
    return send(proto::finish(builder, proto::Body::Hello, body), fds);
  }
  bool ask() {
    flatbuffers::FlatBufferBuilder builder;
    const auto body = proto::CreateQuery(builder, 1, proto::Topic::ping);
    return send(proto::finish(builder, proto::Body::Query, body), {});
  }
  bool hear() {
    proto::Received received;
    for (;;) {  // each turn waits for the other side
      const auto status = proto::receive_message(socket_.get(), received);
      if (status != proto::IoStatus::kWouldBlock) return status == proto::IoStatus::kOk;
      pollfd watched{socket_.get(), POLLIN, 0};
      if (poll(&watched, 1, 10'000) != 1) return false;
    }
  }

 private:
  bool send(std::span<const uint8_t> bytes, std::span<const int> fds) {
    return socket_ && proto::send_message(socket_.get(), bytes, fds) == proto::IoStatus::kOk;
  }
  UniqueFd socket_;
};

}  // namespace

// What the event loop has heard of a descriptor that is closed since, it may hand on to the one that has come in its
// place: a session ended so although its client lives.
TEST_CASE("clients that go at any moment end no session but their own") {
  constexpr int kPolite = 3, kTurns = 1500;
  Served served(256);
  served.service.on_query = [](std::string_view, std::string_view) -> Result<std::string> { return {"\"pong\""}; };
  const std::string path = served.path();
  std::atomic<bool> over{false};
  std::atomic<int> answered{0}, cut_off{0};
  std::vector<std::thread> rude, polite;
  for (int i = 0; i < 3; i++)
    rude.emplace_back([&] {
      while (!over) {
        Visitor visitor(path);
        visitor.say_hello();
        visitor.hear();
        for (int n = 0; n < 4; n++) visitor.ask();  // and does not wait for the answers
      }
    });
  for (int i = 0; i < kPolite; i++)
    polite.emplace_back([&] {
      for (int turn = 0; turn < kTurns && cut_off == 0; turn++) {
        Visitor visitor(path);
        const bool well = visitor.say_hello() && visitor.hear() && visitor.ask() && visitor.hear();
        (well ? answered : cut_off)++;
      }
    });
  for (auto& thread : polite) thread.join();
  over = true;
  for (auto& thread : rude) thread.join();
  CHECK(cut_off == 0);
  CHECK(answered == kPolite * kTurns);
}

}  // namespace spdld::churn_test
