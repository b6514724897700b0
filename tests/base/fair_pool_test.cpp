#include "daemon/base/fair_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <latch>
#include <vector>

#include "daemon/base/cpu.h"

using spdld::FairPool;
using spdld::FairTask;

namespace {

struct Call final : FairTask {
  std::function<void(unsigned)> does;
  void run(unsigned thread) override { does(thread); }
};

void burn(uint64_t ns) {
  const uint64_t until_ns = spdld::thread_cpu_ns() + ns;
  while (spdld::thread_cpu_ns() < until_ns) {
  }
}

}  // namespace

TEST_CASE("every task of many submitters runs exactly once") {
  FairPool pool(4);
  FairPool::Lane one(pool), two(pool);
  constexpr size_t kTasks = 2000;
  std::vector<Call> calls(2 * kTasks);
  std::atomic<size_t> ran{0};
  std::latch all(2 * kTasks);
  for (auto& call : calls)
    call.does = [&](unsigned thread) {
      if (thread < 4) ran++;
      all.count_down();
    };
  std::thread other([&] {
    for (size_t i = 0; i < kTasks; i++) pool.submit(one, calls[i]);
  });
  for (size_t i = kTasks; i < 2 * kTasks; i++) pool.submit(two, calls[i]);
  other.join();
  all.wait();
  CHECK(ran == 2 * kTasks);
}

TEST_CASE("a lane runs its tasks in the order of submission") {
  FairPool pool(1);
  FairPool::Lane lane(pool);
  std::vector<Call> calls(100);
  std::vector<size_t> order;
  std::latch all(100);
  for (size_t i = 0; i < calls.size(); i++) {
    calls[i].does = [&, i](unsigned) {
      order.push_back(i);
      all.count_down();
    };
    pool.submit(lane, calls[i]);
  }
  all.wait();
  for (size_t i = 0; i < order.size(); i++) REQUIRE(order[i] == i);
}

TEST_CASE("a lane of heavy tasks and one of light tasks get the same CPU time") {
  FairPool pool(1);
  FairPool::Lane heavy(pool), light(pool);
  std::atomic<bool> go_on{true};
  std::atomic<int> resting{0};
  Call a, b;
  const auto again = [&](Call& call, FairPool::Lane& lane, uint64_t ns) {
    call.does = [&, ns](unsigned) {
      burn(ns);
      if (go_on)
        pool.submit(lane, call);
      else
        resting++;
    };
  };
  again(a, heavy, 800'000);
  again(b, light, 100'000);
  pool.submit(heavy, a);
  pool.submit(light, b);
  while (pool.busy_ns().value() < 200'000'000) std::this_thread::yield();
  go_on = false;
  while (resting < 2) std::this_thread::yield();
  const double share = static_cast<double>(light.busy_ns().value()) / static_cast<double>(pool.busy_ns().value());
  CHECK(share == Approx(0.5).margin(0.1));
}

TEST_CASE("weights divide the CPU time, and a lane that slept gains no credit") {
  FairPool pool(1);
  FairPool::Lane triple(pool, 3.0), single(pool, 1.0);
  std::atomic<bool> go_on{true};
  std::atomic<int> resting{0};
  Call a, b;
  const auto again = [&](Call& call, FairPool::Lane& lane) {
    call.does = [&](unsigned) {
      burn(200'000);
      if (go_on)
        pool.submit(lane, call);
      else
        resting++;
    };
  };
  again(a, triple);
  again(b, single);
  pool.submit(triple, a);
  while (pool.busy_ns().value() < 60'000'000) std::this_thread::yield();  // `single` sleeps meanwhile
  const uint64_t before_triple = triple.busy_ns().value();
  pool.submit(single, b);
  while (pool.busy_ns().value() < 260'000'000) std::this_thread::yield();
  const double got_triple = static_cast<double>(triple.busy_ns().value() - before_triple);
  const double got_single = static_cast<double>(single.busy_ns().value());
  go_on = false;
  while (resting < 2) std::this_thread::yield();
  CHECK(got_triple / (got_triple + got_single) == Approx(0.75).margin(0.08));
}

TEST_CASE("a lane's end waits for its tasks") {
  FairPool pool(2);
  for (int round = 0; round < 200; round++) {
    std::atomic<bool> ran{false};
    Call call;
    call.does = [&](unsigned) { ran = true; };
    {
      FairPool::Lane lane(pool);
      pool.submit(lane, call);
    }
    REQUIRE(ran);
  }
}
