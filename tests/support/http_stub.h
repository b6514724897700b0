// A small HTTP server on a loopback port, for tests of clients: a function of the test makes the replies, and may have
// them come late, cut off, or not at all. HTTP/1.1 with kept connections; bodies of requests have a Content-Length.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "proto/unique_fd.h"

namespace spdld::test {

struct StubRequest {
  std::string method, target;                  // "GET", "/path?query"
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct StubReply {
  int status = 200;
  std::string body = {};
  std::vector<std::string> headers = {};    // "Name: value", beside Content-Length
  std::chrono::milliseconds delay{0};       // before the first byte
  std::optional<size_t> cut_after = {};     // the connection ends after so many bytes of the body
  std::optional<size_t> pauses_after = {};  // so many bytes of the body, for `pause`
  std::chrono::milliseconds pause{0};
  bool is_dropped = false;              // the connection ends without a reply
  std::optional<std::string> raw = {};  // these bytes and the end of the connection instead of all else
};

class HttpStub {
 public:
  using Answer = std::function<StubReply(const StubRequest&)>;

  // `answer` is called on a thread of each connection.
  explicit HttpStub(Answer answer) : answer_(std::move(answer)), ending_(::eventfd(0, EFD_CLOEXEC)) {
    listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof address;
    if (!ending_ || ::bind(listener_.get(), plain, bytes) != 0 || ::listen(listener_.get(), 64) != 0 ||
        ::getsockname(listener_.get(), plain, &bytes) != 0)
      throw std::runtime_error("there is no loopback port to be had");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~HttpStub() {
    const uint64_t one = 1;
    (void)!::write(ending_.get(), &one, sizeof one);
    acceptor_.join();
    for (std::thread& thread : connections_) thread.join();
  }
  HttpStub(const HttpStub&) = delete;
  HttpStub& operator=(const HttpStub&) = delete;

  uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // What has come so far.
  std::vector<StubRequest> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

 private:
  // Whether `fd` is ready before the stub ends, and before the time is over.
  bool wait(int fd, short events, std::chrono::milliseconds patience = std::chrono::milliseconds(-1)) const {
    std::array<pollfd, 2> watched{{{fd, events, 0}, {ending_.get(), POLLIN, 0}}};
    return ::poll(watched.data(), watched.size(), static_cast<int>(patience.count())) > 0 && watched[1].revents == 0;
  }
  // False where the stub ends.
  bool pause(std::chrono::milliseconds time) const {
    pollfd watched{ending_.get(), POLLIN, 0};
    return time.count() == 0 || ::poll(&watched, 1, static_cast<int>(time.count())) == 0;
  }

  void accept_all() {
    while (wait(listener_.get(), POLLIN)) {
      UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) connections_.emplace_back([this, connection = std::move(fd)] { serve(connection.get()); });
    }
  }

  void serve(int fd) {
    std::string received;
    for (;;) {
      auto request = read_request(fd, received);
      if (!request) return;
      {
        const std::scoped_lock lock(mutex_);
        requests_.push_back(*request);
      }
      const StubReply reply = answer_(*request);
      if (!pause(reply.delay) || reply.is_dropped) return;
      if (!send(fd, reply, request->method == "HEAD")) return;
    }
  }

  bool receive(int fd, std::string& received) const {
    std::array<char, 16384> bytes;
    if (!wait(fd, POLLIN)) return false;
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (got > 0) received.append(bytes.data(), static_cast<size_t>(got));
    return got > 0;
  }

  // Takes one request off what was received; more is received where there is not enough.
  std::optional<StubRequest> read_request(int fd, std::string& received) const {
    constexpr std::string_view kEnd = "\r\n\r\n";
    size_t head = 0;
    while ((head = received.find(kEnd)) == std::string::npos)
      if (!receive(fd, received)) return std::nullopt;
    StubRequest request = parse(std::string_view(received).substr(0, head));
    size_t length = 0;
    const std::string text = request.header("content-length");
    std::from_chars(text.data(), text.data() + text.size(), length);
    const size_t whole = head + kEnd.size() + length;
    while (received.size() < whole)
      if (!receive(fd, received)) return std::nullopt;
    request.body = received.substr(head + kEnd.size(), length);
    received.erase(0, whole);
    return request;
  }

  static StubRequest parse(std::string_view head) {
    StubRequest request;
    const std::string_view first = head.substr(0, head.find("\r\n"));
    const size_t space = first.find(' '), last = first.rfind(' ');
    request.method = first.substr(0, space);
    if (last > space) request.target = first.substr(space + 1, last - space - 1);
    head.remove_prefix(first.size());
    while (head.starts_with("\r\n")) {
      head.remove_prefix(2);
      const std::string_view line = head.substr(0, head.find("\r\n"));
      head.remove_prefix(line.size());
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      std::string name(line.substr(0, colon));
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      const size_t value = line.find_first_not_of(' ', colon + 1);
      request.headers[name] = value == std::string_view::npos ? "" : line.substr(value);
    }
    return request;
  }

  // Whether another request may follow.
  bool send(int fd, const StubReply& reply, bool is_head) const {
    if (reply.raw) return send_bytes(fd, *reply.raw), false;
    std::string text = "HTTP/1.1 " + std::to_string(reply.status) +
                       " Status\r\nContent-Length: " + std::to_string(reply.body.size()) + "\r\n";
    for (const std::string& line : reply.headers) text += line + "\r\n";
    text += "\r\n";
    std::string_view body = is_head ? std::string_view() : std::string_view(reply.body);
    body = body.substr(0, reply.cut_after.value_or(std::string::npos));
    if (reply.pauses_after) {
      text += body.substr(0, *reply.pauses_after);
      body.remove_prefix(std::min(body.size(), *reply.pauses_after));
      if (!send_bytes(fd, std::exchange(text, {})) || !pause(reply.pause)) return false;
    }
    return send_bytes(fd, text.append(body)) && !reply.cut_after;
  }

  bool send_bytes(int fd, std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
      if (sent < 0 && (errno != EAGAIN || !wait(fd, POLLOUT))) return false;
    }
    return true;
  }

  const Answer answer_;
  UniqueFd ending_, listener_;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<StubRequest> requests_;     // under mutex_
  std::vector<std::thread> connections_;  // the acceptor's until it has ended
  std::thread acceptor_;
};

}  // namespace spdld::test
