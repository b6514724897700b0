// Each user's part of the control room, and its bounds: sessions, queries a second, the control thread's time, lines in
// the log. Root and the daemon's own user, the owners, are counted and not limited, and have a reserve
// of sessions. Control thread only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "daemon/base/result.h"
#include "daemon/base/system/allowance.h"

namespace spdld::control {

struct UserLimits {
  uint32_t sessions_max = 256;           // of all users together
  uint32_t sessions_per_user_max = 128;  // of one user
  uint32_t sessions_reserve = 0;         // that only owners may have, beyond sessions_max
  uint32_t queries_per_user_s_max = 100;
};

class UserShares {
 public:
  using Clock = std::function<uint64_t()>;  // ns, never back
  using IsOwner = std::function<bool(uid_t)>;
  // The part of its time that the control thread has for one limited user's messages while other users are connected.
  static constexpr double kTimeShare = 0.25;
  static constexpr double kLinesBurst = 20, kLinesPerS = 0.2;  // of the log, for what one user did wrong

  explicit UserShares(const UserLimits& limits);
  UserShares(const UserLimits& limits, Clock clock, IsOwner is_owner);

  void set_limits(const UserLimits& limits);
  const UserLimits& limits() const { return limits_; }

  // A session of this user begins, or there is no room for it: kLimit, with a sentence. leave() follows its end.
  Status enter(uid_t uid);
  void leave(uid_t uid);

  // How long the user's next message must stay unread; 0: read it. `after_query`: the session's last message was a
  // query.
  std::chrono::milliseconds wait(uid_t uid, bool after_query);
  void note_time(uid_t uid, uint64_t ns);  // that a message took
  void note_query(uid_t uid);
  // Whether a line about this user may be logged; a refused line is counted.
  bool may_log(uid_t uid);

  struct Share {
    explicit Share(const UserLimits& limits)
        : queries(limits.queries_per_user_s_max, limits.queries_per_user_s_max),
          time_s(kTimeShare, kTimeShare),
          lines(kLinesPerS, kLinesBurst) {}
    size_t sessions = 0;
    uint64_t queried = 0, waits = 0, refused = 0, unlogged = 0;  // waits: how often messages were left unread
    double time_taken_s = 0;
    Allowance queries, time_s, lines;
  };
  // Users with sessions, and users who had some a moment ago.
  const std::map<uid_t, Share>& shares() const { return shares_; }

 private:
  static constexpr size_t kUsersMax = 1024;  // that are remembered without a session
  Share& share_of(uid_t uid);
  void forget_idle();

  UserLimits limits_;
  Clock clock_;
  IsOwner is_owner_;
  size_t sessions_ = 0;   // of all users
  size_t connected_ = 0;  // users with sessions
  std::map<uid_t, Share> shares_;
};

}  // namespace spdld::control
