#include "daemon/base/system/allowance.h"

#include <catch2/catch.hpp>
#include <limits>

namespace spdld::allowance_test {

constexpr uint64_t kSecond = 1'000'000'000;

TEST_CASE("a burst is there at the start, and then what comes in a second") {
  Allowance allowance(10, 5);
  uint64_t now = 7 * kSecond;
  for (int i = 0; i < 5; i++) {
    CHECK(allowance.wait_ns(1, now) == 0);
    allowance.take(1, now);
  }
  CHECK(allowance.wait_ns(1, now) == kSecond / 10 + 1);
  now += kSecond / 10;
  CHECK(allowance.wait_ns(1, now) <= 1);
  now += 1;
  CHECK(allowance.wait_ns(1, now) == 0);
  CHECK_FALSE(allowance.is_whole(now));
  now += 100 * kSecond;
  CHECK(allowance.is_whole(now));
  allowance.take(5, now);
  CHECK(allowance.wait_ns(1, now) > 0);  // no more than the burst has gathered
}

TEST_CASE("what was overdrawn is waited for, and a large debt is forgiven") {
  Allowance allowance(2, 4);
  const uint64_t now = kSecond;
  allowance.take(10, now);  // 6 too much
  CHECK(allowance.wait_ns(0, now) == 3 * kSecond + 1);
  CHECK(allowance.wait_ns(1, now) == kSecond * 7 / 2 + 1);
  allowance.take(1e9, now);
  CHECK(allowance.wait_ns(0, now) == 8 * kSecond + 1);  // four bursts of 4, at 2 a second
}

TEST_CASE("another rate holds at once, and time does not go back") {
  Allowance allowance(1, 1);
  allowance.take(1, 10 * kSecond);
  allowance.set(10, 10);
  CHECK(allowance.wait_ns(1, 10 * kSecond) == kSecond / 10 + 1);
  CHECK(allowance.wait_ns(1, 5 * kSecond) == kSecond / 10 + 1);
  allowance.set(0, 1);
  CHECK(allowance.wait_ns(1, 20 * kSecond) == std::numeric_limits<uint64_t>::max());
  allowance.set(10, 1);
  CHECK(allowance.wait_ns(2, 20 * kSecond) == std::numeric_limits<uint64_t>::max());  // more than a burst
}

}  // namespace spdld::allowance_test
