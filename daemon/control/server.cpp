#include "daemon/control/server.h"

#include <sys/socket.h>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"

namespace spdld::control {
namespace {

constexpr int kAcceptsAtOnce = 8;  // before the sessions have their turn
constexpr auto kPauseForFlood = std::chrono::milliseconds(4);
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);
constexpr auto kPauseForCloser = std::chrono::milliseconds(2);

}  // namespace

Server::Server(EventLoop& loop, UniqueFd listener, const UserLimits& limits, Service& service,
               std::function<void()> emptied)
    : loop_(loop),
      surroundings_(std::make_shared<Surroundings>(limits)),
      listener_(loop, std::move(listener)),
      pause_(loop),
      service_(service),
      emptied_(std::move(emptied)) {
  turned_away_.reserve(kAcceptsAtOnce);
  wait();
}

void Server::wait() {
  listener_.when_readable([this] { accept_all(); });
}

void Server::accept_all() {
  accept_some();
  close_turned_away();
}

void Server::close_turned_away() {
  for (auto& [uid, socket] : turned_away_)
    surroundings_->closer.close(uid, Closer::DescriptorClass::kSocket, std::move(socket));
  turned_away_.clear();
}

void Server::accept_some() {
  for (int i = 0; i < kAcceptsAtOnce; i++) {
    if (surroundings_->closer.full(Closer::DescriptorClass::kSocket))
      return pause_.start(kPauseForCloser, [this] { accept_all(); });
    UniqueFd socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      take_safely(std::move(socket));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    if (errno == EINTR || errno == ECONNABORTED) continue;
    log::error("a client could not be accepted: {}", std::strerror(errno));
    pause_.start(kPauseAfterFailure, [this] { wait(); });
    return;
  }
  // A user who connects again and again does not keep this thread busy.
  if (std::exchange(flooded_, false)) return pause_.start(kPauseForFlood, [this] { wait(); });
  wait();
}

void Server::take_safely(UniqueFd socket) {
  try {
    take(std::move(socket));
  } catch (const std::bad_alloc&) {
    log::error("a client could not be accepted: spdld is short of memory");
  }
}

void Server::take(UniqueFd socket) {
  const uint64_t begin_ns = monotonic_ns();
  const auto peer = proto::peer_credentials(socket.get());
  UserShares& users = surroundings_->users;
  admit(std::move(socket), peer);
  users.note_time(peer.uid, monotonic_ns() - begin_ns);
  if (users.wait(peer.uid, false).count() > 0) flooded_ = true;
}

void Server::admit(UniqueFd socket, const proto::PeerCredentials& peer) {
  UserShares& users = surroundings_->users;
  if (only_uid_ && peer.uid != *only_uid_ && peer.uid != 0) {
    if (users.may_log(peer.uid))
      log::warn("a client of uid {} was turned away: this daemon serves uid {} alone", peer.uid, *only_uid_);
    return turn_away(std::move(socket), peer.uid, proto::ErrorCode::denied,
                     "this is the private spdld of uid " + std::to_string(*only_uid_) + ": it serves nobody else");
  }
  if (const Status room = users.enter(peer.uid); !room) {
    if (users.may_log(peer.uid)) log::warn("a client of uid {} was turned away: {}", peer.uid, room.error().message);
    return turn_away(std::move(socket), peer.uid, proto::ErrorCode::limit, room.error().message);
  }
  const uint64_t id = next_id_++;
  auto session =
      std::make_shared<Session>(loop_, std::move(socket), id, service_, surroundings_, [this, id, uid = peer.uid] {
        surroundings_->users.leave(uid);
        sessions_.erase(id);
        if (sessions_.empty()) emptied_();
      });
  sessions_[id] = session;
  session->start();
}

// One typed sentence to a client that gets no session, and the end of the connection.
void Server::turn_away(UniqueFd socket, uid_t uid, proto::ErrorCode code, const std::string& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(message);
  proto::send_message(socket.get(),
                      proto::finish(builder, proto::Body::ErrorReply, proto::CreateErrorReply(builder, 0, code, text)));
  shutdown(socket.get(), SHUT_RDWR);  // the client hears of the end at once, whenever the socket is closed
  turned_away_.emplace_back(uid, std::move(socket));
}

void Server::end_silent(std::chrono::milliseconds limit) {
  for (const auto& [id, session] : sessions_) session->end_if_silent(limit);
}

void Server::stop(const std::string& message) {
  // Clients that wait to be accepted go with the listener, and so do the descriptors that they have sent.
  if (listener_.is_open()) surroundings_->closer.close(geteuid(), Closer::DescriptorClass::kSocket, listener_.take());
  pause_.cancel();
  for (const auto& [id, session] : sessions_) session->say_goodbye(message);
}

}  // namespace spdld::control
