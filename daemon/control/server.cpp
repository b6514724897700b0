#include "daemon/control/server.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "daemon/base/log.h"

namespace spdld::control {
namespace {

constexpr int kAcceptsAtOnce = 16;
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);

// One typed sentence to a client that is turned away before it has a session.
void turn_away(const UniqueFd& socket, proto::ErrorCode code, const std::string& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(message);
  proto::send_message(socket.get(),
                      proto::finish(builder, proto::Body::ErrorReply, proto::CreateErrorReply(builder, 0, code, text)));
}

}  // namespace

Server::Server(EventLoop& loop, UniqueFd listener, uint32_t sessions_max, Service& service,
               std::function<void()> emptied)
    : loop_(loop),
      listener_(loop, std::move(listener)),
      pause_(loop),
      sessions_max_(sessions_max),
      service_(service),
      emptied_(std::move(emptied)) {
  wait();
}

void Server::wait() {
  listener_.when_readable([this] { accept_all(); });
}

void Server::accept_all() {
  for (int i = 0; i < kAcceptsAtOnce; i++) {
    UniqueFd socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      take(std::move(socket));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    if (errno == EINTR || errno == ECONNABORTED) continue;
    log::error("a client could not be accepted: {}", std::strerror(errno));
    pause_.start(kPauseAfterFailure, [this] { wait(); });
    return;
  }
  wait();
}

void Server::take(UniqueFd socket) {
  const auto peer = proto::peer_credentials(socket.get());
  if (only_uid_ && peer.uid != *only_uid_ && peer.uid != 0) {
    log::warn("a client of uid {} was turned away: this daemon serves uid {} alone", peer.uid, *only_uid_);
    return turn_away(socket, proto::ErrorCode::denied,
                     "this is the private spdld of uid " + std::to_string(*only_uid_) + ": it serves nobody else");
  }
  if (sessions_.size() >= sessions_max_) {
    log::warn("a client of uid {} was turned away: sessions_max = {} is reached", peer.uid, sessions_max_);
    return turn_away(socket, proto::ErrorCode::limit,
                     "spdld has " + std::to_string(sessions_max_) + " clients already (limits.sessions_max)");
  }
  const uint64_t id = next_id_++;
  auto session = std::make_shared<Session>(loop_, std::move(socket), id, service_, [this, id] {
    sessions_.erase(id);
    if (sessions_.empty()) emptied_();
  });
  sessions_[id] = session;
  session->start();
}

void Server::stop(const std::string& message) {
  listener_.close();
  pause_.cancel();
  for (const auto& [id, session] : sessions_) session->say_goodbye(message);
}

}  // namespace spdld::control
