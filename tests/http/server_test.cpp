// The server over real sockets: what it answers, what it refuses, and how long it waits.
#include "daemon/http/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/http/listener.h"
#include "proto/seqpacket.h"
#include "tests/support/temp_dir.h"

namespace spdld::http::server_test {
namespace {

using Clock = std::chrono::steady_clock;
using Ms = std::chrono::milliseconds;

struct Client;

struct Rig {
  explicit Rig(Limits limits = {}, const std::string& token = "") {
    Settings settings;
    settings.listener = listen_at(*config::parse_http_address("unix:" + path).address, 0600);
    settings.token = token;
    settings.limits = limits;
    settings.routes = {
        {.path = "/text",
         .answer = [this](const Request&) { return Answer{.body = std::to_string(++made)}; },
         .kept_ms = 0},
        {.path = "/open",
         .answer = [](const Request&) { return Answer{.body = "open"}; },
         .thread = Route::Thread::kAny,
         .is_open = true},
        {.path = "/echo",
         .answer = [](const Request& request) { return Answer{.type = kJson, .body = request.parameter("q")}; },
         .parameters = {"q"}},
        {.path = "/large", .answer = [](const Request&) { return Answer{.body = std::string(4 << 20, 'x')}; }}};
    server = std::make_unique<HttpServer>(loop, std::move(settings));
  }
  test::TempDir folder;
  std::string path = (folder.path() / "s").string();
  EventLoop loop;
  int made = 0;
  std::unique_ptr<HttpServer> server;
};

struct Client {
  explicit Client(Rig& rig_) : rig(rig_), fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, rig.path.c_str(), rig.path.size() + 1);
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  // False: the server has ended the connection.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  // Runs the control thread until the server has sent something or the time is over. Empty: nothing came.
  std::string receive(Ms limit = Ms(5'000)) {
    for (const auto until = Clock::now() + limit; Clock::now() < until;) {
      rig.loop.run_ready();
      pollfd one{fd.get(), POLLIN, 0};
      if (::poll(&one, 1, 1) <= 0) continue;
      std::string some(65536, 0);
      const ssize_t count = ::recv(fd.get(), some.data(), some.size(), MSG_DONTWAIT);
      ended = ended || count <= 0;
      return some.substr(0, count > 0 ? static_cast<size_t>(count) : 0);
    }
    return "";
  }
  // One whole answer, header and body.
  std::string answer(bool has_body = true) {
    for (;;) {
      const size_t end = pending.find("\r\n\r\n");
      if (end != std::string::npos) {
        const size_t length = pending.find("Content-Length: ");
        const size_t body = has_body && length < end ? std::stoul(pending.substr(length + 16)) : 0;
        if (pending.size() >= end + 4 + body) {
          std::string whole = pending.substr(0, end + 4 + body);
          pending.erase(0, whole.size());
          return whole;
        }
      }
      const std::string more = receive();
      if (more.empty()) return std::exchange(pending, "");
      pending += more;
    }
  }
  std::string ask(const std::string& target, const std::string& header = "") {
    send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n");
    return answer();
  }
  bool waits_for_end(Ms limit = Ms(5'000)) {
    for (const auto until = Clock::now() + limit; !ended && Clock::now() < until;) receive(Ms(10));
    return ended;
  }

  Rig& rig;
  UniqueFd fd;
  std::string pending;
  bool ended = false;
};

int status_of(const std::string& answer) { return answer.size() > 12 ? std::atoi(answer.c_str() + 9) : 0; }
std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

}  // namespace

TEST_CASE("a connection serves one request after another", "[http]") {
  Rig rig;
  Client client(rig);
  const std::string first = client.ask("/text");
  CHECK(status_of(first) == 200);
  CHECK(body_of(first) == "1");
  for (const char* header : {"Content-Type: text/plain; charset=utf-8\r\n", "Cache-Control: no-store\r\n",
                             "X-Content-Type-Options: nosniff\r\n", "Content-Security-Policy: default-src 'none'"})
    CHECK_THAT(first, Catch::Contains(header));
  CHECK(body_of(client.ask("/text")) == "2");
  CHECK(body_of(client.ask("/echo?q=a%20b")) == "a b");
  CHECK_THAT(client.ask("/echo?q=1"), Catch::Contains("Content-Type: application/json\r\n"));
  CHECK(status_of(client.ask("/none")) == 404);
  CHECK(status_of(client.ask("/text?%")) == 400);
  CHECK(body_of(client.ask("/open")) == "open");
  CHECK(body_of(client.ask("/large")).size() == 4 << 20);
  client.send("GET /text HTTP/1.0\r\nHost: localhost\r\n\r\n");
  CHECK(body_of(client.answer()) == "3");
  CHECK(client.waits_for_end());
}

TEST_CASE("requests that come at once are answered in their order", "[http]") {
  Rig rig;
  Client client(rig);
  std::string all;
  for (int i = 0; i < 20; i++) all += "GET /echo?q=" + std::to_string(i) + " HTTP/1.1\r\nHost: [::1]:1\r\n\r\n";
  client.send(all);
  for (int i = 0; i < 20; i++) CHECK(body_of(client.answer()) == std::to_string(i));
  client.send("GET /open HTTP/1.1\r\nHost: localhost\r\n\r\n\x16\x03\x01 garbage\r\n\r\n");
  CHECK(body_of(client.answer()) == "open");
  CHECK(status_of(client.answer()) == 400);
  CHECK(client.waits_for_end());
}

TEST_CASE("HEAD has the header of GET, and no body", "[http]") {
  Rig rig;
  Client client(rig);
  client.send("HEAD /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK_THAT(client.answer(false),
             Catch::StartsWith("HTTP/1.1 200 ") && Catch::Contains("Content-Length: 4194304\r\n"));
  CHECK(body_of(client.ask("/open")) == "open");
}

TEST_CASE("what is no request for an answer is refused, and ends the connection", "[http]") {
  Rig rig;
  const auto refused = [&](const std::string& text, int status) {
    INFO(text.substr(0, 60));
    Client client(rig);
    client.send(text);
    CHECK(status_of(client.answer()) == status);
    CHECK(client.waits_for_end());
  };
  refused("POST /text HTTP/1.1\r\nHost: localhost\r\n\r\n", 405);
  refused("BREW /text HTTP/1.1\r\nHost: localhost\r\n\r\n", 405);
  refused("GET /text HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx", 413);
  refused("GET /text HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", 413);
  refused("GET /text HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413);
  refused("GET /text HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400);
  refused("GET /text HTTP/9.9\r\nHost: localhost\r\n\r\n", 400);
  refused("GET  /text HTTP/1.1\r\nHost: localhost\r\n\r\n", 400);
  refused("\r\nGET\r\n\r\n", 400);
  refused(std::string("\0\0\0\0\r\n\r\n", 8), 400);
  refused("GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 431);
  refused("GET /text HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(9000, 'x') + "\r\n\r\n", 431);
  CHECK(rig.made == 0);
}

TEST_CASE("a request that names another host, or none, gets nothing", "[http]") {
  Rig rig;
  Client client(rig);
  const auto status = [&](const std::string& hosts) {
    client.send("GET /text HTTP/1.1\r\n" + hosts + "\r\n");
    return status_of(client.answer());
  };
  CHECK(status("Host: example.org\r\n") == 403);
  CHECK(status("Host: localhost.example.org:80\r\n") == 403);
  CHECK(status("") == 400);
  CHECK(status("Host: localhost\r\nHost: localhost\r\n") == 400);
  CHECK(rig.made == 0);
  CHECK(status("Host: 127.0.0.1:9464\r\n") == 200);
}

TEST_CASE("with a token, only open routes answer without the token", "[http]") {
  const std::string token = "0123456789abcdef";
  Rig rig({}, token);
  Client client(rig);
  CHECK(status_of(client.ask("/open")) == 200);
  const std::string denied = client.ask("/text");
  CHECK(status_of(denied) == 401);
  CHECK_THAT(denied, Catch::Contains("WWW-Authenticate: Bearer realm=\"spdld\"\r\n"));
  for (const char* wrong : {"Bearer 0123456789abcdeX", "Bearer 0123456789abcde", "Basic 0123456789abcdef", "Bearer"})
    CHECK(status_of(client.ask("/text", std::string("Authorization: ") + wrong + "\r\n")) == 401);
  CHECK(rig.made == 0);
  CHECK(status_of(client.ask("/text", "Authorization: Bearer " + token + "\r\n")) == 200);
}

TEST_CASE("a client that is slow to ask is not waited for", "[http]") {
  Limits limits;
  limits.header_max = Ms(100), limits.idle_max = Ms(50);
  Rig rig(limits);
  Client silent(rig), begun(rig), dripping(rig);
  begun.send("GET /open HTTP/1.1\r\nHost: loc");
  bool open = true;
  for (const auto until = Clock::now() + std::chrono::seconds(5); open && Clock::now() < until;)
    open = dripping.send("G") && !dripping.waits_for_end(Ms(10));
  CHECK_FALSE(open);
  CHECK(silent.waits_for_end());
  CHECK(begun.waits_for_end());
  Client idle(rig);
  CHECK(status_of(idle.ask("/open")) == 200);
  CHECK(idle.waits_for_end());
}

TEST_CASE("a later request that is slow is not waited for either", "[http]") {
  Limits limits;
  limits.header_max = Ms(50);
  Rig rig(limits);
  Client client(rig);
  CHECK(status_of(client.ask("/open")) == 200);
  client.send("GET /op");
  CHECK(client.waits_for_end());
}

TEST_CASE("a client that does not read is not waited for", "[http]") {
  Limits limits;
  limits.write_max = Ms(100);
  Rig rig(limits);
  Client client(rig);
  client.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto until = Clock::now() + std::chrono::seconds(5);
  for (pollfd one{client.fd.get(), 0, 0}; Clock::now() < until && ::poll(&one, 1, 5) == 0;) rig.loop.run_ready();
  CHECK(client.answer().size() < (4 << 20));
  CHECK(client.ended);
}

TEST_CASE("a control thread that does not answer costs the client its connection, and not the server", "[http]") {
  Limits limits;
  limits.answer_max = Ms(100);
  Rig rig(limits);
  Client client(rig), other(rig);
  client.send("GET /text HTTP/1.1\r\nHost: localhost\r\n\r\n");
  pollfd one{client.fd.get(), POLLIN, 0};
  CHECK(::poll(&one, 1, 5'000) == 1);  // the control thread does not run
  CHECK(body_of(other.ask("/open")) == "open");
  CHECK(client.waits_for_end());
}

TEST_CASE("a half-closed connection still gets its answer", "[http]") {
  Rig rig;
  Client client(rig);
  client.send("GET /text HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ::shutdown(client.fd.get(), SHUT_WR);
  CHECK(body_of(client.answer()) == "1");
  CHECK(client.waits_for_end());
}

TEST_CASE("however many clients connect, the newest is answered", "[http]") {
  Limits limits;
  limits.connections_max = 4;
  Rig rig(limits);
  std::vector<std::unique_ptr<Client>> crowd;
  for (int i = 0; i < 50; i++) {
    crowd.push_back(std::make_unique<Client>(rig));
    crowd.back()->send("GET /op");
  }
  Client client(rig);
  CHECK(body_of(client.ask("/open")) == "open");
  int open = 0;
  for (const auto& one : crowd) open += !one->waits_for_end(Ms(1));
  CHECK(open <= 4);
}

TEST_CASE("a client that waits for its answer keeps its place before clients that say nothing", "[http]") {
  Limits limits;
  limits.connections_max = 2;
  Rig rig(limits);
  Client asks(rig);
  asks.send("GET /text HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::vector<std::unique_ptr<Client>> crowd;
  for (int i = 0; i < 10; i++) {
    crowd.push_back(std::make_unique<Client>(rig));
    CHECK(status_of(crowd.back()->ask("/open")) == 200);  // the server has taken it
  }
  CHECK(body_of(asks.answer()) == "1");
}

TEST_CASE("a server ends with connections and questions under way", "[http]") {
  Rig rig;
  Client idle(rig), asks(rig), begun(rig);
  CHECK(status_of(idle.ask("/open")) == 200);
  begun.send("GET /t");
  asks.send("GET /text HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Client last(rig);
  CHECK(status_of(last.ask("/echo?q=1")) == 200);
  rig.server.reset();
  rig.loop.run_ready();
  CHECK(idle.waits_for_end());
  CHECK(begun.waits_for_end());
}

}  // namespace spdld::http::server_test
