#include "daemon/store/credentials/refresh_policy.h"

#include <catch2/catch.hpp>

namespace spdld::store::refresh_policy_test {
namespace {

// A clock of the test, and the policy that is asked with it.
struct Simulation {
  RefreshPolicy policy = {};
  Moment now{1'000'000, 5'000};
  void pass(int64_t seconds) { now = {now.unix_s + seconds, now.steady_ms + seconds * 1000}; }
  void fetched_for(int64_t life_s) { policy.fetched(now, now.unix_s + life_s); }
  // How long until the next fetch, where the thread looks again after each wait; at most a day.
  int64_t seconds_to_fetch() {
    const int64_t begin_ms = now.steady_ms;
    while (now.steady_ms - begin_ms < 86'400'000) {
      const int64_t wait = policy.wait_ms(now);
      if (wait == 0) break;
      CHECK(wait <= RefreshPolicy::kLookMs);
      now = {now.unix_s + (wait + 999) / 1000, now.steady_ms + (wait + 999) / 1000 * 1000};
    }
    return (now.steady_ms - begin_ms) / 1000;
  }
};

}  // namespace

TEST_CASE("credentials are fetched at once, and again before they expire") {
  Simulation it;
  CHECK(it.seconds_to_fetch() == 0);
  it.fetched_for(3600);
  CHECK(it.seconds_to_fetch() == 3300);
  it.fetched_for(400);
  CHECK(it.seconds_to_fetch() == 200);
  it.fetched_for(600);
  CHECK(it.seconds_to_fetch() == 300);
}

TEST_CASE("credentials that live short, or not at all, are not fetched without a pause") {
  Simulation it;
  it.fetched_for(1);
  CHECK(it.seconds_to_fetch() == 1);
  it.fetched_for(0);
  CHECK(it.seconds_to_fetch() == 1);
  it.fetched_for(-1000);
  CHECK(it.seconds_to_fetch() == 1);
}

TEST_CASE("credentials that never expire are fetched again only when a store refuses them") {
  Simulation it;
  it.policy.fetched(it.now, 0);
  CHECK(it.seconds_to_fetch() == 86400);
  it.policy.asked();
  CHECK(it.seconds_to_fetch() == 0);
  it.policy.fetched(it.now, 0);
  CHECK(it.seconds_to_fetch() == 86400);
}

TEST_CASE("a store that refuses again and again is heard every ten seconds") {
  Simulation it;
  it.fetched_for(3600);
  it.policy.asked();
  CHECK(it.seconds_to_fetch() == 10);
  it.fetched_for(3600);
  it.pass(4);
  it.policy.asked();
  it.policy.asked();
  CHECK(it.seconds_to_fetch() == 6);
}

TEST_CASE("after failures the waits grow up to a minute, and a success ends them") {
  Simulation it;
  for (const int64_t wait : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    it.policy.failed(it.now);
    it.policy.asked();  // no refusal shortens them
    CHECK(it.seconds_to_fetch() == wait);
  }
  it.fetched_for(3600);
  CHECK(it.seconds_to_fetch() == 3300);
  it.policy.failed(it.now);
  CHECK(it.seconds_to_fetch() == 1);
}

TEST_CASE("a clock that is set back or forth does not make credentials late") {
  Simulation it;
  it.fetched_for(3600);
  it.now.unix_s -= 100'000;  // the time until the end seems long now
  CHECK(it.seconds_to_fetch() == 3300);
  it.fetched_for(3600);
  it.pass(10);
  it.now.unix_s += 3400;
  CHECK(it.seconds_to_fetch() == 0);
}

TEST_CASE("times at the end of the calendar do no harm") {
  Simulation it;
  it.policy.fetched(it.now, 253402300799);
  CHECK(it.policy.wait_ms(it.now) == RefreshPolicy::kLookMs);
  it.policy.fetched({253402300799, INT64_MAX / 4}, 1);
  CHECK(it.policy.wait_ms({0, INT64_MAX / 4}) > 0);
}

TEST_CASE("the clocks of the machine go on") {
  const Moment first = moment_now(), second = moment_now();
  CHECK(first.unix_s > 1'600'000'000);
  CHECK(second.steady_ms >= first.steady_ms);
}

}  // namespace spdld::store::refresh_policy_test
