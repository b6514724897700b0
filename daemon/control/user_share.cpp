#include "daemon/control/user_share.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "daemon/base/system/cpu.h"

namespace spdld::control {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kWaitNsMax = 1'000 * kNsPerMs;  // a later look may find other limits

}  // namespace

UserShares::UserShares(const UserLimits& limits)
    : UserShares(limits, monotonic_ns, [](uid_t uid) { return uid == 0 || uid == geteuid(); }) {}

UserShares::UserShares(const UserLimits& limits, Clock clock, IsOwner is_owner)
    : limits_(limits), clock_(std::move(clock)), is_owner_(std::move(is_owner)) {}

void UserShares::set_limits(const UserLimits& limits) {
  limits_ = limits;
  for (auto& [uid, share] : shares_) share.queries.set(limits.queries_per_user_s_max, limits.queries_per_user_s_max);
}

UserShares::Share& UserShares::share_of(uid_t uid) {
  const auto at = shares_.find(uid);
  if (at != shares_.end()) return at->second;
  if (shares_.size() >= kUsersMax) forget_idle();
  return shares_.emplace(uid, Share(limits_)).first->second;
}

// Users who have no session and owe nothing.
void UserShares::forget_idle() {
  const uint64_t now_ns = clock_();
  for (auto at = shares_.begin(); at != shares_.end();) {
    Share& share = at->second;
    const bool is_idle = share.sessions == 0 && share.queries.is_whole(now_ns) && share.time_s.is_whole(now_ns);
    at = is_idle ? shares_.erase(at) : std::next(at);
  }
}

Status UserShares::enter(uid_t uid) {
  Share& share = share_of(uid);
  const bool owns = is_owner_(uid);
  const auto refuse = [&](const std::string& why) {
    share.refused++;
    return Error{Trouble::kLimit, why};
  };
  const size_t sessions_max = size_t{limits_.sessions_max} + (owns ? limits_.sessions_reserve : 0);
  if (sessions_ >= sessions_max)
    return refuse("spdld has " + std::to_string(sessions_) + " clients already (limits.sessions_max)");
  if (!owns && share.sessions >= limits_.sessions_per_user_max)
    return refuse("user " + std::to_string(uid) + " has " + std::to_string(share.sessions) +
                  " clients here already (limits.sessions_per_user_max)");
  if (share.sessions++ == 0) connected_++;
  sessions_++;
  return Done{};
}

void UserShares::leave(uid_t uid) {
  const auto at = shares_.find(uid);
  if (at == shares_.end() || at->second.sessions == 0) return;
  sessions_--;
  if (--at->second.sessions == 0) connected_--;
}

std::chrono::milliseconds UserShares::wait(uid_t uid, bool after_query) {
  if (is_owner_(uid)) return {};
  Share& share = share_of(uid);
  const uint64_t now_ns = clock_();
  uint64_t wait_ns = connected_ > 1 ? share.time_s.wait_ns(0, now_ns) : 0;
  if (after_query) wait_ns = std::max(wait_ns, share.queries.wait_ns(1, now_ns));
  if (wait_ns == 0) return {};
  share.waits++;
  return std::chrono::milliseconds(std::min(wait_ns, kWaitNsMax) / kNsPerMs + 1);
}

void UserShares::note_time(uid_t uid, uint64_t ns) {
  Share& share = share_of(uid);
  const double taken_s = seconds(ns);
  share.time_taken_s += taken_s;
  if (!is_owner_(uid)) share.time_s.take(taken_s, clock_());
}

void UserShares::note_query(uid_t uid) {
  Share& share = share_of(uid);
  share.queried++;
  if (!is_owner_(uid)) share.queries.take(1, clock_());
}

bool UserShares::may_log(uid_t uid) {
  Share& share = share_of(uid);
  const uint64_t now_ns = clock_();
  if (share.lines.wait_ns(1, now_ns) == 0) {
    share.lines.take(1, now_ns);
    return true;
  }
  share.unlogged++;
  return false;
}

}  // namespace spdld::control
