#include "daemon/http/server.h"

#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "daemon/http/connection.h"

namespace spdld::http {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr int kAcceptsAtOnce = 8;
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);

std::string_view text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

class HttpServer::Core final : public Connection::House {
 public:
  Core(EventLoop& loop, Settings settings)
      : settings_(std::move(settings)),
        listener_(context_),
        pause_(context_),
        desk_(std::make_shared<Desk>([&loop](Desk::Task task) { loop.post(std::move(task)); },
                                     [this](Desk::Task task) { asio::post(context_, std::move(task)); },
                                     [] { return monotonic_ns(); })) {
    listener_.assign(settings_.listener.get());
    settings_.listener.release();
    wait();
    thread_ = std::thread([this] { run(); });
  }
  ~Core() override {
    context_.stop();
    thread_.join();
    for (const auto& connection : std::exchange(connections_, {})) connection->close();
  }

  const Limits& limits() const override { return settings_.limits; }
  void answer(const Connection::Header& header, Desk::Reply reply) override;
  void ended(Connection& connection) override { connections_.erase(connection.shared_from_this()); }

 private:
  void run();
  void wait();
  void accept_some();
  void take(UniqueFd socket);
  void make_room();
  bool knows_token(const Connection::Header& header) const;

  Settings settings_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context_);
  asio::posix::stream_descriptor listener_;
  asio::steady_timer pause_;  // after a failed accept
  std::shared_ptr<Desk> desk_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::thread thread_;
};

void HttpServer::Core::run() {
  pthread_setname_np(pthread_self(), "spdld-http");
  for (;;) {
    try {
      context_.run();
      return;
    } catch (const std::exception& error) {  // the connections' own limits end what it has left undone
      log::error("the HTTP server could not end what it did: {}", error.what());
    }
  }
}

void HttpServer::Core::wait() {
  listener_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
    if (!error) accept_some();
  });
}

void HttpServer::Core::accept_some() {
  for (int i = 0; i < kAcceptsAtOnce; i++) {
    UniqueFd socket(accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      try {
        take(std::move(socket));
      } catch (const std::exception& error) {
        log::error("a client of the HTTP server could not be accepted: {}", error.what());
      }
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    pause_.expires_after(kPauseAfterFailure);  // no descriptors are left
    return pause_.async_wait([this](error_code error) {
      if (!error) wait();
    });
  }
  wait();
}

void HttpServer::Core::take(UniqueFd socket) {
  if (connections_.size() >= settings_.limits.connections_max) make_room();
  int family = AF_UNIX;
  socklen_t bytes = sizeof family;
  getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &bytes);
  Connection::Socket taken(context_);
  taken.assign({family, 0}, socket.get());
  socket.release();
  const auto connection = std::make_shared<Connection>(std::move(taken), *this);
  connections_.insert(connection);
  connection->start();
}

// Of the connections whose clients keep the server waiting, the oldest one ends. Where all clients wait for answers,
// the first of them gets none.
void HttpServer::Core::make_room() {
  const auto oldest = std::min_element(connections_.begin(), connections_.end(), [](const auto& a, const auto& b) {
    using Time = std::chrono::steady_clock::time_point;
    return a->waits_since().value_or(Time::max()) < b->waits_since().value_or(Time::max());
  });
  const auto held = *oldest;
  held->close();
}

bool HttpServer::Core::knows_token(const Connection::Header& header) const {
  if (settings_.token.empty()) return true;
  const auto given = header.find(boost::beast::http::field::authorization);
  return given != header.end() && is_same_secret(bearer_token(text_of(given->value())), settings_.token);
}

void HttpServer::Core::answer(const Connection::Header& header, Desk::Reply reply) {
  const auto say = [&](unsigned status, std::string text) {
    reply(std::make_shared<const Answer>(sentence(status, std::move(text))));
  };
  const auto host = header.find(boost::beast::http::field::host);
  if (host == header.end() || header.count(boost::beast::http::field::host) != 1)
    return say(400, "a request needs one Host header");
  if (!is_local_host(text_of(host->value())))
    return say(403, "this server answers to 127.0.0.1, [::1] and localhost alone, by whatever port");
  const auto request = parse_target(text_of(header.target()));
  if (!request) return say(400, "this is no target that this server understands");
  const auto route = std::find_if(settings_.routes.begin(), settings_.routes.end(),
                                  [&](const Route& one) { return one.path == request->path; });
  if (route == settings_.routes.end()) return say(404, "nothing is served there");
  if (!route->is_open && !knows_token(header))
    return say(401, "this needs the token of http.token_file: Authorization: Bearer TOKEN");
  desk_->ask(*route, *request, std::move(reply));
}

HttpServer::HttpServer(EventLoop& loop, Settings settings) : core_(std::make_unique<Core>(loop, std::move(settings))) {}

HttpServer::~HttpServer() = default;

}  // namespace spdld::http
