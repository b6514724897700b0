// Accepts clients and keeps their sessions. Control thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/system/closer.h"
#include "daemon/base/system/event_loop.h"
#include "daemon/control/service.h"
#include "daemon/control/session.h"
#include "daemon/control/user_share.h"
#include "proto/unique_fd.h"

namespace spdld::control {

class Server {
 public:
  // `listener` is a listening SOCK_SEQPACKET socket. `emptied` is called whenever the last session has ended.
  Server(EventLoop& loop, UniqueFd listener, const UserLimits& limits, Service& service, std::function<void()> emptied);

  // From now on only this uid and root may connect, as to a private daemon.
  void admit_only(uid_t uid) { only_uid_ = uid; }
  void set_limits(const UserLimits& limits) { surroundings_->users.set_limits(limits); }
  const UserShares& users() const { return surroundings_->users; }
  size_t closing() const { return surroundings_->closer.waiting(); }  // descriptors that wait to be closed
  // Ends the sessions whose clients hold batches and have sent nothing for so long.
  void end_silent(std::chrono::milliseconds limit);
  // Accepts no further client, and says GOODBYE to the clients that are connected.
  void stop(const std::string& message);

  const std::map<uint64_t, std::shared_ptr<Session>>& sessions() const { return sessions_; }

 private:
  void wait();
  void accept_all();
  void accept_some();
  void close_turned_away();
  void take_safely(UniqueFd socket);
  void take(UniqueFd socket);
  void admit(UniqueFd socket, const proto::PeerCredentials& peer);
  void turn_away(UniqueFd socket, uid_t uid, proto::ErrorCode code, const std::string& message);

  EventLoop& loop_;
  const std::shared_ptr<Surroundings> surroundings_;
  Watch listener_;
  Timer pause_;  // after a failed accept (no descriptors left), or where many sockets wait to be closed
  Service& service_;
  std::function<void()> emptied_;
  std::optional<uid_t> only_uid_;
  // Clients that got no session: closed together, so that the closer's thread wakes once for several of them.
  std::vector<std::pair<uid_t, UniqueFd>> turned_away_;
  bool flooded_ = false;  // a user connected who has taken more than its share of this thread's time
  uint64_t next_id_ = 1;
  std::map<uint64_t, std::shared_ptr<Session>> sessions_;
};

}  // namespace spdld::control
