#include "daemon/control/user_share.h"

#include <catch2/catch.hpp>

namespace spdld::user_share_test {

using namespace spdld;
using control::UserLimits;
using control::UserShares;
using std::chrono::milliseconds;

namespace {

constexpr uid_t kOwner = 7, kAlice = 1001, kBob = 1002;
constexpr uint64_t kMs = 1'000'000, kSecond = 1000 * kMs;

struct Case {
  explicit Case(const UserLimits& limits = {})
      : shares(
            limits, [this] { return now; }, [](uid_t uid) { return uid == kOwner; }) {}
  uint64_t now = kSecond;
  UserShares shares;
};

}  // namespace

TEST_CASE("one user has so many sessions at most, and owners have a reserve") {
  Case one({.sessions_max = 4, .sessions_per_user_max = 3, .sessions_reserve = 2});
  auto& shares = one.shares;
  for (int i = 0; i < 3; i++) REQUIRE(shares.enter(kAlice));
  const Status refused = shares.enter(kAlice);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().trouble == Trouble::kLimit);
  CHECK_THAT(refused.error().message,
             Catch::Contains("user 1001 has 3 clients") && Catch::Contains("limits.sessions_per_user_max"));
  REQUIRE(shares.enter(kBob));
  const Status full = shares.enter(kBob);
  REQUIRE_FALSE(full);
  CHECK_THAT(full.error().message, Catch::Contains("limits.sessions_max"));
  CHECK(shares.enter(kOwner));
  CHECK(shares.enter(kOwner));
  CHECK_FALSE(shares.enter(kOwner));  // the reserve has an end too
  shares.leave(kOwner);
  CHECK_FALSE(shares.enter(kBob));  // which is not for others
  shares.leave(kOwner);
  shares.leave(kAlice);
  CHECK(shares.enter(kBob));
  CHECK(shares.shares().at(kAlice).refused == 1);
  CHECK(shares.shares().at(kBob).refused == 2);
  CHECK(shares.shares().at(kBob).sessions == 2);
}

TEST_CASE("queries beyond the rate wait, each for its turn, and other messages do not") {
  Case one({.queries_per_user_s_max = 10});
  auto& shares = one.shares;
  REQUIRE(shares.enter(kAlice));
  for (int i = 0; i < 10; i++) {
    CHECK(shares.wait(kAlice, true) == milliseconds(0));
    shares.note_query(kAlice);
  }
  const auto wait = shares.wait(kAlice, true);
  CHECK(wait >= milliseconds(100));
  CHECK(wait <= milliseconds(102));
  CHECK(shares.wait(kAlice, false) == milliseconds(0));
  CHECK(shares.wait(kBob, true) == milliseconds(0));
  one.now += static_cast<uint64_t>(wait.count()) * kMs;
  CHECK(shares.wait(kAlice, true) == milliseconds(0));
  CHECK(shares.shares().at(kAlice).queried == 10);
  CHECK(shares.shares().at(kAlice).waits == 1);
  for (int i = 0; i < 1000; i++) shares.note_query(kOwner);
  CHECK(shares.wait(kOwner, true) == milliseconds(0));
  shares.set_limits({.queries_per_user_s_max = 1000});
  one.now += kSecond;
  for (int i = 0; i < 900; i++) shares.note_query(kAlice);
  CHECK(shares.wait(kAlice, true) == milliseconds(0));
}

TEST_CASE("a user whose messages take the control thread's time waits, where somebody else is connected") {
  Case one;
  auto& shares = one.shares;
  REQUIRE(shares.enter(kAlice));
  shares.note_time(kAlice, 500 * kMs);  // twice its share of a second
  CHECK(shares.wait(kAlice, false) == milliseconds(0));
  REQUIRE(shares.enter(kBob));
  const auto wait = shares.wait(kAlice, false);
  CHECK(wait >= milliseconds(900));
  CHECK(shares.wait(kBob, false) == milliseconds(0));
  one.now += 1100 * kMs;
  CHECK(shares.wait(kAlice, false) == milliseconds(0));
  shares.note_time(kAlice, 3600 * kSecond);  // alone for an hour, say
  one.now += 5 * kSecond;
  CHECK(shares.wait(kAlice, false) == milliseconds(0));  // is soon forgotten
  shares.note_time(kAlice, 500 * kMs);
  shares.leave(kBob);
  CHECK(shares.wait(kAlice, false) == milliseconds(0));  // nobody else is there
  shares.note_time(kOwner, 3600 * kSecond);
  REQUIRE(shares.enter(kOwner));
  CHECK(shares.wait(kOwner, false) == milliseconds(0));
  CHECK(shares.wait(kAlice, false) > milliseconds(0));
}

TEST_CASE("the log has so many lines about one user, over all its sessions") {
  Case one;
  int lines = 0;
  for (int i = 0; i < 1000; i++) lines += one.shares.may_log(kAlice);
  CHECK(lines == 20);
  CHECK(one.shares.may_log(kBob));
  CHECK(one.shares.shares().at(kAlice).unlogged == 980);
  one.now += 5 * kSecond;
  CHECK(one.shares.may_log(kAlice));
  CHECK_FALSE(one.shares.may_log(kAlice));
}

TEST_CASE("users who have gone are forgotten in the end, unless they owe something") {
  Case one;
  auto& shares = one.shares;
  REQUIRE(shares.enter(kAlice));
  shares.note_time(kBob, 1000 * kMs);
  for (uid_t uid = 10'000; uid < 12'000; uid++) {
    REQUIRE(shares.enter(uid));
    shares.leave(uid);
  }
  CHECK(shares.shares().size() <= 1024);
  CHECK(shares.shares().contains(kAlice));
  CHECK(shares.shares().contains(kBob));
}

}  // namespace spdld::user_share_test
