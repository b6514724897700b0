// Tasks that give way, and threads beyond the concurrency, in simulated time.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <latch>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "tests/base/simulated_pool.h"

namespace spdld::fair_pool_parking_test {

using spdld::FairPool;
using spdld::FairTask;
using test::kMs;
using test::kSecond;
using test::now_ns;
using test::Simulation;

namespace {

constexpr uint64_t kPart = 10 * kMs;

// Steps until a task of the lane runs. How long that took, in simulated time.
uint64_t wait_for(Simulation& sim, FairPool::Lane& lane, size_t running) {
  const uint64_t since_ns = now_ns;
  for (sim.settle(running); sim.running(lane) == 0; sim.settle(running)) sim.step();
  return now_ns - since_ns;
}

}  // namespace

TEST_CASE("in a pool of one thread a cheap task waits for no more than a part of a dear one that gives way") {
  Simulation sim(1);
  FairPool::Lane& cheap = sim.lane();
  FairPool::Lane& dear = sim.lane();
  sim.begin(dear, 100 * kSecond, 1, kPart);
  sim.settle(1);
  for (int i = 0; i < 30; i++) sim.step(), sim.settle(1);
  Simulation::Task& task = sim.task(cheap, kMs);
  task.goes_on = false;
  for (int round = 0; round < 20; round++) {
    sim.pool.submit(cheap, task);
    CHECK(wait_for(sim, cheap, 1) <= kPart);
    sim.step();
    CHECK(wait_for(sim, dear, 1) == 0);  // what was parked goes on
    for (int i = 0; i < 7; i++) sim.step(), sim.settle(1);
  }
}

TEST_CASE("a task that will be dear, as its lane's last one was, gives way as soon as any dear task") {
  Simulation sim(1);
  FairPool::Lane& cheap = sim.lane();
  FairPool::Lane& dear = sim.lane();
  sim.begin(dear, 2 * kSecond, 1, kPart);
  while (sim.used(dear) < 2 * kSecond) sim.settle(1), sim.step();
  sim.await_charge(dear);
  sim.settle(1);  // the next one, which counts as two seconds from its beginning
  Simulation::Task& task = sim.task(cheap, kMs);
  task.goes_on = false;
  sim.pool.submit(cheap, task);
  CHECK(wait_for(sim, cheap, 1) <= 2 * kPart);
}

TEST_CASE("one thread is shared by weight, whatever its tasks cost, and no lane waits long") {
  const double weight = GENERATE(1.0, 3.0);
  const bool are_of_one_group = GENERATE(false, true);
  Simulation sim(1);
  FairPool::Lane& cheap = sim.lane(weight);
  FairPool::Lane& dear = sim.lane();
  if (are_of_one_group) {
    const auto group = std::make_shared<FairPool::Group>(sim.pool);
    cheap.join(group);
    dear.join(group);
  }
  sim.begin(dear, 60 * kSecond, 2, kPart);
  sim.begin(cheap, kMs, 4);
  sim.run_until(now_ns + kSecond, 1);
  const uint64_t cheap_before = sim.used(cheap), dear_before = sim.used(dear);
  uint64_t longest_ns = 0;
  for (const uint64_t until_ns = now_ns + 20 * kSecond; now_ns < until_ns;) {
    longest_ns = std::max(longest_ns, wait_for(sim, cheap, 1));
    sim.step();
    sim.settle(1);
  }
  const auto got = static_cast<double>(sim.used(cheap) - cheap_before);
  CHECK(got / (got + static_cast<double>(sim.used(dear) - dear_before)) == Approx(weight / (1 + weight)).epsilon(0.05));
  CHECK(longest_ns <= 2 * kPart);
}

TEST_CASE("cheap tasks that look whether they should give way are not interrupted") {
  constexpr uint64_t kCheap = 100'000, kCheapPart = 30'000, kParts = 4;
  Simulation sim(1);
  sim.begin(sim.lane(), kCheap, 2, kCheapPart);
  sim.begin(sim.lane(), kCheap, 2, kCheapPart);
  const Simulation::Task* before = nullptr;
  for (int i = 0; i < 4000; i++) {
    sim.settle(1);
    const Simulation::Task& now = sim.step();
    const bool is_within = before != nullptr && before->parts % kParts != 0;
    if (is_within) REQUIRE(&now == before);
    before = &now;
  }
}

TEST_CASE("beside several users of dear tasks, a newcomer's first task begins within some parts") {
  const unsigned threads = GENERATE(1u, 2u);
  Simulation sim(threads);
  for (int user = 0; user < 3; user++) {
    sim.begin(sim.lane(), 1000 * kSecond, 8, kPart);
    for (int i = 0; i < 40; i++) sim.settle(threads), sim.step();
  }
  FairPool::Lane& newcomer = sim.lane();
  sim.settle(threads);
  sim.begin(newcomer, kMs, 1);
  CHECK(wait_for(sim, newcomer, threads) <= 4 * kPart);
}

TEST_CASE("no more tasks run at once than the concurrency says, however many are parked") {
  Simulation sim(3);
  sim.pool.set_concurrency(2, 2);
  std::vector<FairPool::Lane*> lanes;
  for (int i = 0; i < 4; i++) {
    lanes.push_back(&sim.lane());
    sim.begin(*lanes.back(), (i + 1) * 300 * kMs, 3, (i + 1) * 3 * kMs);
  }
  for (int i = 0; i < 3000; i++) sim.settle(2), sim.step();  // settle() fails where more run for long
  for (FairPool::Lane* lane : lanes) CHECK(sim.used(*lane) > 0);
}

TEST_CASE("where dear tasks hold all threads that serve, a cheap one begins at once on one thread more") {
  Simulation sim(2);
  FairPool::Lane& cheap = sim.lane();
  FairPool::Lane& dear = sim.lane();
  Simulation::Task& early = sim.task(cheap, kMs);
  early.goes_on = false;
  sim.pool.submit(cheap, early);
  sim.settle(1), sim.step(), sim.await_charge(cheap);
  sim.pool.set_concurrency(1);
  sim.begin(dear, 100 * kSecond, 2);  // gives no way
  sim.settle(1);
  sim.pool.submit(cheap, early);
  sim.settle(2);
  CHECK(sim.running(cheap) == 1);
  sim.step();
  sim.settle(1);  // dear tasks get no more of it while the cheap lane is there
  CHECK(sim.running(dear) == 1);
}

TEST_CASE("a task that turns out dear on the only thread that serves is seen while it runs") {
  Simulation sim(2);
  FairPool::Lane& cheap = sim.lane();
  FairPool::Lane& turning = sim.lane();
  for (FairPool::Lane* lane : {&cheap, &turning}) {
    Simulation::Task& first = sim.task(*lane, kMs);
    first.goes_on = false;
    sim.pool.submit(*lane, first);
    sim.settle(1), sim.step(), sim.await_charge(*lane);
  }
  sim.pool.set_concurrency(1);
  Simulation::Task& long_one = sim.task(turning, 100 * kSecond);
  long_one.goes_on = false;
  sim.pool.submit(turning, long_one);
  sim.settle(1);
  sim.begin(cheap, kMs, 1);
  now_ns += 2 * FairPool::kDearNs;
  sim.settle(2);
  CHECK(sim.running(cheap) == 1);
}

TEST_CASE("dear tasks of one user alone get no more threads than the concurrency says") {
  Simulation sim(3);
  sim.pool.set_concurrency(1);
  FairPool::Lane& dear = sim.lane();
  sim.begin(dear, 10 * kSecond, 4);
  for (int i = 0; i < 200; i++) sim.settle(1), sim.step();
  CHECK(sim.running(dear) <= 1);
}

TEST_CASE("a concurrency that is pinned is not exceeded for the sake of cheap tasks") {
  Simulation sim(2);
  FairPool::Lane& cheap = sim.lane();
  FairPool::Lane& dear = sim.lane();
  sim.pool.set_concurrency(1, 1);
  sim.begin(cheap, kMs, 2);
  sim.begin(dear, 2 * kSecond, 2);
  for (int i = 0; i < 5000; i++) sim.settle(1), sim.step();
  CHECK(sim.used(dear) > 0);
}

namespace {

struct Call final : FairTask {
  void run(unsigned thread) override {
    const unsigned now = ++*running;
    for (unsigned seen = *peak; now > seen && !peak->compare_exchange_weak(seen, now);) {
    }
    for (int i = 0; i < 4; i++) {
      for (const uint64_t end_ns = thread_cpu_ns() + FairPool::kLeastPartNs; thread_cpu_ns() < end_ns;) {
      }
      --*running;
      pool->give_way(thread);
      ++*running;
    }
    --*running;
    ended->count_down();
  }
  FairPool* pool = nullptr;
  std::atomic<unsigned>*running = nullptr, *peak = nullptr;
  std::latch* ended = nullptr;
};

}  // namespace

TEST_CASE("tasks that give way all the time all end, while the concurrency changes") {
  FairPool pool(3);
  std::atomic<unsigned> running{0}, peak{0};
  std::atomic<bool> go_on{true};
  std::thread changes([&] {
    for (unsigned i = 0; go_on; i++) {
      pool.set_concurrency(1 + i * 7 % 3);
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 4; round++) {
    constexpr size_t kLanes = 5, kTasks = 8;
    std::latch ended(kLanes * kTasks);
    std::vector<Call> calls(kLanes * kTasks);
    std::vector<std::unique_ptr<FairPool::Lane>> lanes;
    for (size_t i = 0; i < kLanes; i++) lanes.push_back(std::make_unique<FairPool::Lane>(pool, 1.0 + i % 2));
    for (size_t i = 0; i < calls.size(); i++) {
      calls[i].pool = &pool, calls[i].running = &running, calls[i].peak = &peak, calls[i].ended = &ended;
      pool.submit(*lanes[i % kLanes], calls[i]);
    }
    ended.wait();
  }
  go_on = false;
  changes.join();
  CHECK(peak <= 3);
  CHECK(pool.waiting() == 0);
}

}  // namespace spdld::fair_pool_parking_test
