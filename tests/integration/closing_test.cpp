// Another user's clients send sockets whose closing takes 40 s. Nobody waits for that.
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/include/spdld.hpp"
#include "proto/message.h"
#include "tests/integration/other_user.h"
#include "tests/support/daemon_process.h"
#include "tests/support/lingering.h"

namespace spdld::integration_closing_test {

using namespace spdld;
using namespace spdld::test;

namespace {

constexpr uid_t kStranger = 12345;
constexpr size_t kSockets = 4;  // of one bad client, each with a descriptor in a message of its own

std::vector<uint8_t> hello() {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = proto::finish(builder, proto::Body::Hello, proto::CreateHello(builder, 1, 1, 0, getpid()));
  return {bytes.begin(), bytes.end()};
}

std::vector<uint8_t> release() {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = proto::finish(builder, proto::Body::Release, proto::CreateRelease(builder, 1, 0, 1, 1, 0));
  return {bytes.begin(), bytes.end()};
}

using Say = std::function<bool(int socket, int lingering)>;

bool send_one(int socket, const std::vector<uint8_t>& bytes, int fd) {
  const int fds[] = {fd};
  return proto::send_message(socket, bytes, fds) == proto::IoStatus::kOk;
}

// A process of another user that has said what it wants to say, over one connection for each lingering socket, when the
// constructor returns. The sockets' peers are this process's, so that they go on lingering when the client dies.
class BadClient {
 public:
  BadClient(const DaemonProcess& daemon, const Say& say) : lingering_(kSockets) {
    Pipe go;
    pid_ = in_child([&] {
      go.close_writer();
      go.read_byte();  // until this process alone, of the two, has the sockets
      if (!become(kStranger)) return 50;
      std::vector<UniqueFd> connections;
      for (auto& one : lingering_) {
        connections.push_back(proto::connect_to(daemon.socket()));
        const bool said = connections.back() && say(connections.back().get(), one.fd());
        if (!said) return 51;
        one.close_own_copy();
      }
      told_.write("x");
      for (;;) pause();
    });
    for (auto& one : lingering_) one.close_own_copy();
    go.close_writer();
    told_.close_writer();
    REQUIRE(told_.read_byte());
  }
  ~BadClient() { kill_now(); }
  void kill_now() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    wait_for(std::exchange(pid_, -1));
  }

 private:
  std::vector<Lingering> lingering_;
  Pipe told_;
  pid_t pid_ = -1;
};

void check_answers(const DaemonProcess& daemon) {
  CHECK_THAT(query("ping", "", daemon.socket().c_str()), Catch::Contains("daemon_id"));
}

}  // namespace

TEST_CASE("another user's lingering sockets stop nobody, wherever they are sent") {
  if (!is_root()) return;
  DaemonProcess daemon("[socket]\nmode = \"0666\"\n");
  chmod(daemon.dir().c_str(), 0755);
  std::vector<std::unique_ptr<BadClient>> bad;
  const auto attack = [&](const Say& say) {
    REQUIRE(kill(daemon.pid(), SIGSTOP) == 0);  // until it alone has the sockets
    bad.push_back(std::make_unique<BadClient>(daemon, say));
  };
  SECTION("in HELLO") {
    attack([](int socket, int fd) { return send_one(socket, hello(), fd); });
  }
  SECTION("before HELLO") {
    attack([](int socket, int fd) { return send_one(socket, release(), fd); });
  }
  SECTION("in RELEASE") {
    attack([](int socket, int fd) {
      const UniqueFd self = proto::open_pidfd(getpid());
      return send_one(socket, hello(), self.get()) && send_one(socket, release(), fd);
    });
  }
  SECTION("unread, as the client dies") {
    attack([](int socket, int fd) {
      const std::vector<uint8_t> nothing(20, 7);
      for (int i = 0; i < 5; i++)
        if (!send_one(socket, nothing, fd)) return false;
      return true;
    });
    bad.back()->kill_now();
  }
  REQUIRE(kill(daemon.pid(), SIGCONT) == 0);
  check_answers(daemon);
  check_answers(daemon);
  // The daemon gets rid of what it was sent, and ends as soon as it is told to.
  CHECK(daemon.stop(SIGTERM) == 0);
}

TEST_CASE("a full daemon turns another user's lingering sockets away and goes on") {
  if (!is_root()) return;
  DaemonProcess daemon("[socket]\nmode = \"0666\"\n[limits]\nsessions_max = 1\n");
  chmod(daemon.dir().c_str(), 0755);
  const UniqueFd self = proto::open_pidfd(getpid());
  UniqueFd only;
  const auto is_welcome = [&] {
    proto::Received received;
    pollfd watched{only.get(), POLLIN, 0};
    if (poll(&watched, 1, 10'000) != 1) return false;
    const bool came = proto::receive_message(only.get(), received) == proto::IoStatus::kOk;
    return came && proto::parse(received.bytes) && proto::parse(received.bytes)->body_as_Welcome();
  };
  REQUIRE(soon([&] {  // once the session of whoever looked whether the daemon answers has ended
    only = proto::connect_to(daemon.socket());
    return only && send_one(only.get(), hello(), self.get()) && is_welcome();
  }));
  REQUIRE(kill(daemon.pid(), SIGSTOP) == 0);
  const BadClient bad(daemon, [](int socket, int fd) { return send_one(socket, release(), fd); });
  REQUIRE(kill(daemon.pid(), SIGCONT) == 0);
  flatbuffers::FlatBufferBuilder builder;
  const auto query = proto::finish(builder, proto::Body::Query, proto::CreateQuery(builder, 1, proto::Topic::ping));
  REQUIRE(proto::send_message(only.get(), query) == proto::IoStatus::kOk);
  pollfd watched{only.get(), POLLIN, 0};
  CHECK(poll(&watched, 1, 30'000) == 1);  // one of the sockets lingers for 40 s
}

}  // namespace spdld::integration_closing_test
