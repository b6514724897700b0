#include "daemon/base/system/line_limits.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

namespace spdld::line_limits_test {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr auto kBurst = static_cast<uint64_t>(LineLimits::kBurst);

TEST_CASE("a burst of lines is written, then a line every few seconds, which tells how many were left out") {
  LineLimits limits;
  uint64_t written = 0;
  for (int i = 0; i < 1000; i++) written += limits.take("bad {}", "p", kSecondNs).has_value();
  CHECK(written == kBurst);
  CHECK_FALSE(limits.take("bad {}", "p", 5 * kSecondNs));  // 4 s later
  CHECK(limits.take("bad {}", "p", 7 * kSecondNs) == 1000 - kBurst + 1);
  CHECK_FALSE(limits.take("bad {}", "p", 7 * kSecondNs));
  CHECK(limits.take("bad {}", "p", 13 * kSecondNs) == 1);
  CHECK(limits.take("bad {}", "p", 1000 * kSecondNs) == 0);
}

TEST_CASE("other sentences and other pipelines have limits of their own") {
  LineLimits limits;
  while (limits.take("bad {}", "p", kSecondNs)) {
  }
  CHECK(limits.take("bad {}", "q", kSecondNs) == 0);
  CHECK(limits.take("failed {}", "p", kSecondNs) == 0);
}

TEST_CASE("what was left out is told once, when a line may be written, or at the end") {
  LineLimits limits;
  for (int i = 0; i < 100; i++) limits.take("bad {}", "p", kSecondNs);
  CHECK(limits.take_left_out(2 * kSecondNs).empty());
  const auto told = limits.take_left_out(7 * kSecondNs);
  REQUIRE(told.size() == 1);
  CHECK(told[0].sentence == "bad {}");
  CHECK(told[0].pipeline == "p");
  CHECK(told[0].lines == 100 - kBurst);
  CHECK(limits.take_left_out(100 * kSecondNs).empty());
  for (int i = 0; i < 100; i++) limits.take("bad {}", "q", 100 * kSecondNs);
  CHECK(limits.take_left_out(100 * kSecondNs).empty());
  CHECK(limits.take_left_out(100 * kSecondNs, true).size() == 1);
}

TEST_CASE("as many kinds as are known leave room for a new one where they are old") {
  LineLimits limits;
  for (size_t i = 0; i < LineLimits::kKindsMax; i++) limits.take("bad {}", "p" + std::to_string(i), kSecondNs);
  while (limits.take("new {}", "p", 3600 * kSecondNs)) {
  }
  CHECK(limits.take_left_out(3600 * kSecondNs, true).at(0).sentence == "new {}");
}

TEST_CASE("kinds are bounded: old ones are forgotten, and further ones share a limit") {
  LineLimits limits;
  uint64_t written = 0;
  const auto write = [&](uint64_t now_ns) {
    for (size_t i = 0; i < 2 * LineLimits::kKindsMax; i++)
      written += limits.take("bad {}", "p" + std::to_string(i), now_ns).has_value();
  };
  write(kSecondNs);
  CHECK(written == LineLimits::kKindsMax + kBurst);
  CHECK(limits.take_left_out(kSecondNs, true).at(0).sentence.empty());
  written = 0;
  for (size_t i = 0; i < LineLimits::kKindsMax; i++)
    written += limits.take("new {}", "p" + std::to_string(i), 3600 * kSecondNs).has_value();
  CHECK(written == LineLimits::kKindsMax);
}

TEST_CASE("threads share the limits, and every line is written or counted") {
  LineLimits limits;
  std::atomic<uint64_t> written = 0, told = 0;
  constexpr uint64_t kThreads = 4, kLines = 20'000;
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < kThreads; thread++)
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kLines; i++)
        if (const auto left_out = limits.take("bad {}", "p", kSecondNs + i * 10'000'000)) ++written, told += *left_out;
    });
  for (int i = 0; i < 100; i++)
    for (const auto& kind : limits.take_left_out(kSecondNs)) told += kind.lines;
  threads.clear();
  for (const auto& kind : limits.take_left_out(kSecondNs, true)) told += kind.lines;
  CHECK(written + told == kThreads * kLines);
  CHECK(written <= kBurst + 1 + static_cast<uint64_t>(LineLimits::kPerS * 200));
}

}  // namespace spdld::line_limits_test
