#include "daemon/store/http/pace.h"

#include <arpa/inet.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/base/turns.h"
#include "daemon/store/http/transfer.h"

namespace spdld::store::pace_test {
namespace {

using http::Allowance;
using http::backoff_ns;
using http::Latencies;
using http::Limits;
using http::retry_after_s;

constexpr uint64_t kSecond = 1'000'000'000;

bool is_refused(const char* text) {
  sockaddr_storage storage{};
  auto* const in6 = reinterpret_cast<sockaddr_in6*>(&storage);
  auto* const in4 = reinterpret_cast<sockaddr_in*>(&storage);
  if (inet_pton(AF_INET, text, &in4->sin_addr) == 1) {
    in4->sin_family = AF_INET;
  } else {
    storage = {};
    REQUIRE(inet_pton(AF_INET6, text, &in6->sin6_addr) == 1);
    in6->sin6_family = AF_INET6;
  }
  return http::is_cloud_address(reinterpret_cast<const sockaddr&>(storage));
}

}  // namespace

TEST_CASE("an allowance gives a second's worth at once, and then as much as comes") {
  Allowance allowance(10);
  uint64_t now_ns = 5 * kSecond;
  for (int i = 0; i < 10; ++i) {
    CHECK(allowance.wait_ns(now_ns) == 0);
    allowance.take(1, now_ns);
  }
  const uint64_t wait_ns = allowance.wait_ns(now_ns);
  CHECK(wait_ns > kSecond / 11);
  CHECK(wait_ns < kSecond / 9);
  CHECK(allowance.wait_ns(now_ns + wait_ns) == 0);
  // After a long rest there is one second's worth, and not more.
  now_ns += 1000 * kSecond;
  allowance.take(30, now_ns);
  CHECK(allowance.wait_ns(now_ns) > 2 * kSecond);
  CHECK(allowance.wait_ns(now_ns) < 3 * kSecond);
  CHECK(allowance.wait_ns(now_ns - kSecond) > 2 * kSecond);  // a clock that went back brings nothing
}

TEST_CASE("an allowance of 0 is no limit") {
  Allowance allowance(0);
  allowance.take(UINT64_MAX, 0);
  CHECK(allowance.wait_ns(0) == 0);
}

TEST_CASE("the wait before an attempt lies anywhere below a bound that doubles") {
  Limits limits;
  limits.backoff_ms = 50, limits.backoff_ms_max = 5'000;
  CHECK(backoff_ns(limits, 1, 0) == 0);
  CHECK(backoff_ns(limits, 1, 0.5) == 25'000'000);
  CHECK(backoff_ns(limits, 2, 0.5) == 50'000'000);
  CHECK(backoff_ns(limits, 3, 0.5) == 100'000'000);
  for (const uint32_t failures : {8u, 30u, 64u, UINT32_MAX}) {
    CHECK(backoff_ns(limits, failures, 0.5) == 2'500'000'000);
    CHECK(backoff_ns(limits, failures, 0) == 0);
  }
  limits.backoff_ms = UINT32_MAX, limits.backoff_ms_max = UINT32_MAX;
  CHECK(backoff_ns(limits, UINT32_MAX, 0.5) == static_cast<uint64_t>(UINT32_MAX * 0.5 * 1e6));
  limits.backoff_ms = 100, limits.backoff_ms_max = 1;  // the least bound counts
  CHECK(backoff_ns(limits, 9, 0.5) == 50'000'000);
}

TEST_CASE("Retry-After is a number of seconds, a date, or nothing") {
  CHECK(retry_after_s("0", 0) == 0u);
  CHECK(retry_after_s("120", 0) == 120u);
  CHECK(retry_after_s("Thu, 01 Jan 1970 00:01:40 GMT", 40) == 60u);
  CHECK(retry_after_s("Thu, 01 Jan 1970 00:01:40 GMT", 100) == 0u);
  CHECK(retry_after_s("Thu, 01 Jan 1970 00:01:40 GMT", 1'000) == 0u);
  for (const char* none : {"", "soon", "-5", "1.5.7", "10 s x"}) {
    INFO(none);
    CHECK_FALSE(retry_after_s(none, 0));
  }
}

TEST_CASE(
    "a Retry-After that is too large for a number is the largest one, and what is neither number nor date is none") {
  for (const char* huge : {"18446744073709551615", "18446744073709551616", "99999999999999999999999999"})
    CHECK(http::retry_after_s(huge, 0) == UINT64_MAX);
  for (const char* none : {"-1", "-99999999999999999999999", "+5", "1.5", "5 s", "1e99", "0x10", "soon", " 5"})
    CHECK_FALSE(http::retry_after_s(none, 0));
}

TEST_CASE("an endpoint that gives nothing but failures is asked at a rate that falls, until the first answer") {
  Limits limits;
  http::Setbacks setbacks(limits);
  uint64_t now_ns = 5 * kSecond;
  // Few failures, or failures of a moment, are no reason to wait.
  for (int i = 0; i < 100; ++i) CHECK_FALSE(setbacks.on_failure(now_ns, now_ns, 0.5));
  CHECK(setbacks.wait_ns(now_ns) == 0);
  setbacks.on_answer();
  const auto fail_for_seconds = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      now_ns += kSecond;
      CHECK_FALSE(setbacks.on_failure(now_ns, now_ns, 0.5));
    }
  };
  fail_for_seconds(7);
  CHECK_FALSE(setbacks.is_failing());
  std::vector<uint64_t> pauses_ms;
  for (int i = 0; i < 9; ++i) {
    const uint64_t before_ns = now_ns++;
    REQUIRE(setbacks.on_failure(now_ns, now_ns, 0));
    CHECK_FALSE(setbacks.on_failure(before_ns, now_ns, 0));  // it ran at the same time as the failure before
    pauses_ms.push_back(setbacks.wait_ns(now_ns) / 1'000'000);
    now_ns += setbacks.wait_ns(now_ns);
    CHECK(setbacks.wait_ns(now_ns) == 0);
    setbacks.on_begin(now_ns, 0.999999);
    CHECK(setbacks.wait_ns(now_ns) / 1'000'000 >= pauses_ms.back() * 2 - 1);
    now_ns += setbacks.wait_ns(now_ns);
  }
  CHECK(pauses_ms == std::vector<uint64_t>{50, 100, 200, 400, 800, 1600, 2500, 2500, 2500});
  setbacks.on_answer();
  CHECK(setbacks.wait_ns(now_ns) == 0);
  fail_for_seconds(7);
}

TEST_CASE("the slowest reads are known once there were enough, and the past fades") {
  Latencies latencies;
  for (int i = 0; i < 99; ++i) latencies.record(1'000);
  CHECK_FALSE(latencies.slowest_ns(5));
  latencies.record(1'000);
  REQUIRE(latencies.slowest_ns(5));
  CHECK(*latencies.slowest_ns(5) < 1'200);
  for (int i = 0; i < 80; ++i) latencies.record(1'000'000);
  CHECK(*latencies.slowest_ns(5) > 800'000);
  CHECK(*latencies.slowest_ns(50) < 1'200);
  for (uint64_t i = 0; i < 2 * Latencies::kRecords; ++i) latencies.record(10);
  CHECK(*latencies.slowest_ns(5) < 20);
}

TEST_CASE("link-local addresses, and those where clouds serve credentials, are known") {
  for (const char* address :
       {"169.254.169.254",
        "169.254.0.0",
        "169.254.255.255",
        "::ffff:169.254.169.254",
        "fe80::1",
        "febf::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "::ffff:100.100.100.200",
        "168.63.129.16",  // Azure
        "192.0.0.192",    // Oracle
        "::ffff:168.63.129.16",
        "::ffff:192.0.0.192",
        "fd20:ce::254",              // Google
        "fd00:42::42",               // Scaleway
        "::168.63.129.16",           // compatible
        "::ffff:0:169.254.169.254",  // translated
        "2002:a9fe:a9fe::1",         // 6to4
        "2002:a83f:8110:7::9",
        "64:ff9b::169.254.169.254",  // NAT64
        "64:ff9b:1::192.0.0.192",
        "64:ff9b:1:a9fe:a9:fe00::",
        "2001:0:4136:e378:8000:63bf:5601:5601",  // Teredo, whose client is written with each bit turned
        "2001:db8::5efe:169.254.169.254",        // ISATAP
        "2001:db8::200:5efe:168.63.129.16"}) {
    INFO(address);
    CHECK(is_refused(address));
  }
  for (const char* address : {"127.0.0.1",       "169.253.255.255",
                              "169.255.0.1",     "10.0.0.1",
                              "254.169.254.169", "::1",
                              "::ffff:10.0.0.1", "fec0::1",
                              "fd00:ec3::254",   "2001:db8::169.254.1.1",
                              "100.100.100.201", "168.63.129.17",
                              "192.0.0.193",     "192.0.2.1",
                              "fd20:ce::255",    "fd00:42::43",
                              "2002:7f00:1::1",  "64:ff9b::8.8.8.8",
                              "::ffff:8.8.8.8",  "2001:0:4136:e378:8000:63bf:a9fe:a9fe"}) {
    INFO(address);
    CHECK_FALSE(is_refused(address));
  }
  sockaddr other{};
  other.sa_family = AF_UNIX;
  CHECK_FALSE(http::is_cloud_address(other));
}

TEST_CASE("owners take turns, and each owner's own order stays") {
  struct Item {
    uint64_t owner;
    int number;
  };
  std::vector<Item> items = {{1, 0}, {1, 1}, {1, 2}, {2, 3}, {3, 4}, {3, 5}};
  Turns<Item> turns;
  for (Item& item : items) turns.push(item);
  CHECK(turns.remove(items[1]));
  CHECK_FALSE(turns.remove(items[1]));
  Item unknown{9, 9};
  CHECK_FALSE(turns.remove(unknown));
  std::vector<int> numbers;
  while (!turns.empty()) numbers.push_back(turns.pop()->number);
  std::vector<int> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == std::vector<int>{0, 2, 3, 4, 5});
  const auto place = [&](int number) { return std::find(numbers.begin(), numbers.end(), number) - numbers.begin(); };
  CHECK(place(0) < place(2));
  CHECK(place(4) < place(5));
  CHECK(place(3) < place(2));
  CHECK(place(3) < place(5));
}

TEST_CASE("an owner whose only request leaves gives its turn away") {
  struct Item {
    uint64_t owner;
  };
  std::vector<Item> items;
  for (uint64_t i = 0; i < 200; ++i) items.push_back({i});
  Turns<Item> turns;
  for (Item& item : items) turns.push(item);
  for (size_t i = 0; i < items.size(); i += 2) REQUIRE(turns.remove(items[i]));
  for (size_t i = 1; i < items.size(); i += 2) REQUIRE(turns.pop() == &items[i]);
  CHECK(turns.empty());
}

}  // namespace spdld::store::pace_test
