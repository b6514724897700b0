#include "daemon/base/fair_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <latch>
#include <vector>

#include "daemon/base/system/cpu.h"

namespace spdld::fair_pool_test {

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

namespace {

std::atomic<uint64_t> simulated_ns{0};

// Two lanes that always have tasks, on one thread whose clock only the tasks move. What the first had got, and all,
// after each task.
struct Shared {
  uint64_t first_ns, all_ns;
};
std::vector<Shared> share_out(double first_weight, uint64_t first_task_ns, double other_weight, uint64_t other_task_ns,
                              uint64_t lasts_ns) {
  simulated_ns = 0;
  const auto now_ns = [] { return simulated_ns.load(); };
  FairPool pool(1, {now_ns, now_ns});
  FairPool::Lane first(pool, 1.0), other(pool, other_weight);
  first.set_weight(first_weight);
  std::vector<Shared> shared = {{0, 0}};
  std::vector<Call> calls(16);
  std::latch all(static_cast<std::ptrdiff_t>(calls.size()));
  for (size_t i = 0; i < calls.size(); i++) {
    FairPool::Lane& lane = i % 2 ? other : first;
    calls[i].does = [&, i](unsigned) {
      const uint64_t took_ns = i % 2 ? other_task_ns : first_task_ns;
      simulated_ns += took_ns;
      shared.push_back({shared.back().first_ns + (i % 2 ? 0 : took_ns), simulated_ns});
      if (simulated_ns < lasts_ns)
        pool.submit(lane, calls[i]);
      else
        all.count_down();
    };
  }
  Call begin;  // all are there before the first runs
  begin.does = [&](unsigned) {
    for (size_t i = 0; i < calls.size(); i++) pool.submit(i % 2 ? other : first, calls[i]);
  };
  pool.submit(first, begin);
  while (!all.try_wait()) {  // the last tasks may have to wait for their turn, and no task moves the clock meanwhile
    if (simulated_ns >= lasts_ns) simulated_ns += 1'000'000;
    std::this_thread::yield();
  }
  return shared;
}

}  // namespace

TEST_CASE("in any ten seconds each of two unequal lanes gets what the weights promise") {
  constexpr uint64_t kWindow_ns = 10'000'000'000, kLasts_ns = 25'000'000'000;
  for (const auto& [first, other] : {std::pair{1.0, 1.0}, {1.0, 3.0}, {3.0, 1.0}, {9.0, 1.0}, {0.1, 1.0}, {1.0, 9.0}}) {
    const auto shared = share_out(first, 20'000'000, other, 100'000, kLasts_ns);  // 20 ms beside 0.1 ms
    const double promised = first / (first + other);
    double least = 1, most = 0;
    for (size_t from = 0, to = 0; from < shared.size(); from++) {
      while (to < shared.size() && shared[to].all_ns - shared[from].all_ns < kWindow_ns) to++;
      if (to == shared.size() || shared[to].all_ns > kLasts_ns) break;
      const double share = static_cast<double>(shared[to].first_ns - shared[from].first_ns) /
                           static_cast<double>(shared[to].all_ns - shared[from].all_ns);
      least = std::min(least, share);
      most = std::max(most, share);
    }
    INFO(first << ":" << other);
    CHECK(least == Approx(promised).epsilon(0.05));
    CHECK(most == Approx(promised).epsilon(0.05));
  }
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

}  // namespace spdld::fair_pool_test
