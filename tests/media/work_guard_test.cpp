#include "daemon/media/work_guard.h"

#include <catch2/catch.hpp>
#include <string>

#include "daemon/media/cpu_budget.h"

namespace spdld::media {
namespace {

uint64_t cpu_now_ns = 0, clock_reads = 0;
uint64_t simulated_cpu_ns() {
  ++clock_reads;
  return cpu_now_ns;
}

DecodeLimits limits_of(uint64_t ms) { return {.cpu_ms_max = ms, .cpu_ns = simulated_cpu_ns}; }

struct Owner final : WorkOwner {
  bool is_wanted() const override { return wanted; }
  void give_way() override { ++ways; }
  bool wanted = true;
  int ways = 0;
};

constexpr uint64_t kLook = WorkGuard::kBetweenLooksNs;

// The error with which the work ends; "": it goes on.
Error error_of(WorkGuard& guard, uint64_t ns) {
  try {
    guard.spend(ns);
  } catch (const WorkEnded& ended) {
    return ended.error();
  }
  return {Trouble::kInternal, ""};
}

}  // namespace

TEST_CASE("a guard looks at its clock once in so much work, and never in a small sample") {
  cpu_now_ns = 5, clock_reads = 0;
  WorkGuard guard(limits_of(10'000));
  Owner owner;
  guard.set_owner(&owner);
  for (int sample = 0; sample < 100; ++sample) {
    guard.begin();
    for (int piece = 0; piece < 20; ++piece) guard.spend(kLook / 20);
  }
  CHECK(clock_reads == 0);
  CHECK(owner.ways == 0);
  guard.begin();
  for (int piece = 0; piece < 100; ++piece) guard.spend(kLook / 10);
  CHECK(clock_reads == 9);
  CHECK(owner.ways == 9);
}

TEST_CASE(
    "a sample that takes more CPU time than it may have ends with a sentence that says what, how much and whose "
    "bound") {
  cpu_now_ns = 1'000'000'000;
  WorkGuard guard(limits_of(250));
  guard.begin();
  guard.doing("gaussian-blur");
  CHECK(error_of(guard, 2 * kLook).message.empty());
  cpu_now_ns += 250'000'000;
  CHECK(error_of(guard, 2 * kLook).message.empty());
  cpu_now_ns += 1;
  const Error error = error_of(guard, 2 * kLook);
  CHECK(error.trouble == Trouble::kContent);
  CHECK(error.message ==
        "gaussian-blur takes more CPU time than the operator's limit of 250 ms for a sample (limits.sample_ms_max): "
        "let the operation work on less");
  guard.begin();  // the next sample has all of it again
  CHECK(error_of(guard, 2 * kLook).message.empty());
}

TEST_CASE("work whose sizes tell that it can't end in time does not begin") {
  cpu_now_ns = clock_reads = 0;
  WorkGuard guard(limits_of(250));
  guard.expect(251'000'000);  // no sample has begun: nothing is bounded
  guard.begin();
  guard.expect(250'000'000);
  guard.doing("gaussian-blur");
  CHECK_THROWS_WITH(guard.expect(250'000'001), Catch::StartsWith("gaussian-blur would take more CPU time"));
  CHECK(clock_reads == 0);
  WorkGuard without(limits_of(0));
  without.begin();
  without.expect(UINT64_MAX);
}

TEST_CASE("work that nobody wants any more ends at its next look") {
  WorkGuard guard(limits_of(0));
  Owner owner;
  guard.set_owner(&owner);
  guard.begin();
  CHECK(error_of(guard, 2 * kLook).message.empty());
  owner.wanted = false;
  CHECK(error_of(guard, kLook).message.empty());
  CHECK(error_of(guard, kLook).trouble == Trouble::kStopping);
}

TEST_CASE("a decoder's budget lasts as long as it says, from when it is made") {
  cpu_now_ns = 1'000'000'000;
  const CpuBudget budget(limits_of(250)), none(limits_of(0));
  cpu_now_ns += 250'000'000;
  CHECK_FALSE(budget.is_spent());
  CHECK(budget.check());
  cpu_now_ns += 1;
  CHECK(budget.is_spent());
  CHECK(budget.check().error().message == kTooMuchCpuTime);
  CHECK_FALSE(CpuBudget(limits_of(250)).is_spent());
  cpu_now_ns = UINT64_MAX;
  CHECK_FALSE(none.is_spent());
}

TEST_CASE("a decoder's budget is spent where nobody wants the work, and gives way at each look") {
  cpu_now_ns = 0;
  WorkGuard guard(limits_of(250));
  Owner owner;
  guard.set_owner(&owner);
  DecodeLimits limits = limits_of(250);
  limits.guard = &guard;
  const CpuBudget budget(limits);
  CHECK_FALSE(budget.is_spent());
  CHECK(budget.check());
  CHECK(owner.ways == 2);
  owner.wanted = false;
  CHECK(budget.is_spent());
  CHECK_FALSE(budget.check());
}

}  // namespace spdld::media
