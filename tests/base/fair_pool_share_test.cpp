// How lanes of dear and of cheap tasks share several threads, in simulated time: no clock of the machine is read.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <vector>

#include "tests/base/simulated_pool.h"

namespace spdld::fair_pool_share_test {

using spdld::FairPool;
using test::kMs;
using test::kSecond;
using test::now_ns;
using test::Simulation;

namespace {

// What `lane` used of all that `lanes` used since `before`.
double share(Simulation& sim, FairPool::Lane& lane, const std::vector<FairPool::Lane*>& lanes,
             std::map<FairPool::Lane*, uint64_t> before = {}) {
  double all = 0;
  for (FairPool::Lane* one : lanes) all += static_cast<double>(sim.used(*one) - before[one]);
  return static_cast<double>(sim.used(lane) - before[&lane]) / all;
}

}  // namespace

TEST_CASE("dear tasks hold at most half of the threads while cheap ones come") {
  const unsigned threads = GENERATE(2u, 3u, 8u);
  Simulation sim(threads);
  FairPool::Lane& cheap = sim.lane();
  FairPool::Lane& dear = sim.lane();
  sim.begin(cheap, 5 * kMs, 4 * threads);
  sim.run_until(now_ns + 100 * kMs, threads);
  sim.begin(dear, kSecond, 6 * threads);  // nobody knows yet what they cost
  size_t most = 0;
  for (int i = 0; i < 4000; i++) {
    sim.settle(threads);
    most = std::max(most, sim.running(dear));
    sim.step();
  }
  CHECK(most == std::max(threads / 2, 1u));
}

TEST_CASE("a lane of dear tasks that is alone has all threads") {
  Simulation sim(4);
  FairPool::Lane& dear = sim.lane();
  sim.begin(dear, 5 * kSecond, 8);
  for (int i = 0; i < 40; i++) {
    sim.settle(4);
    sim.step();
  }
  sim.settle(4);
  CHECK(sim.running(dear) == 4);
}

TEST_CASE("where the cheap tasks have ended long ago, dear ones have all threads again") {
  Simulation sim(2);
  FairPool::Lane& cheap = sim.lane();
  FairPool::Lane& dear = sim.lane();
  Simulation::Task& last = sim.task(cheap, 5 * kMs);
  last.goes_on = false;
  sim.begin(dear, kSecond, 4);
  sim.settle(2);
  for (int i = 0; i < 4; i++) sim.step(), sim.settle(2);
  sim.pool.submit(cheap, last);
  while (last.ran == 0) sim.step(), sim.settle(last.ran ? 1 : 2);
  sim.await_charge(cheap);
  const uint64_t rests_ns = now_ns;
  while (now_ns < rests_ns + FairPool::kNeighbourNs)
    sim.step(), sim.settle(now_ns < rests_ns + FairPool::kNeighbourNs ? 1 : 2);
  sim.settle(2);
  CHECK(sim.running(dear) == 2);
}

TEST_CASE("dear and cheap lanes get the CPU time that their weights promise") {
  struct Case {
    double dear, cheap;
    double promised;  // to the dear lane, which never has more than half of the threads
  };
  const Case given = GENERATE(Case{1, 1, 0.5}, Case{1, 3, 0.25}, Case{1, 9, 0.1}, Case{3, 1, 0.5});
  Simulation sim(4);
  FairPool::Lane& dear = sim.lane(given.dear);
  FairPool::Lane& cheap = sim.lane(given.cheap);
  sim.begin(cheap, 20 * kMs, 12);
  sim.run_until(now_ns + kSecond, 4);
  std::map<FairPool::Lane*, uint64_t> before = {{&dear, sim.used(dear)}, {&cheap, sim.used(cheap)}};
  sim.begin(dear, 500 * kMs, 12);
  sim.run_until(now_ns + 100 * kSecond, 4);
  INFO(given.dear << ":" << given.cheap);
  CHECK(share(sim, dear, {&dear, &cheap}, before) == Approx(given.promised).epsilon(0.05));
}

TEST_CASE("all lanes of a group have one weight together, which they share by their own") {
  Simulation sim(2);
  FairPool::Lane& named = sim.lane();
  const auto group = std::make_shared<FairPool::Group>(sim.pool, 1.0);
  std::vector<FairPool::Lane*> lanes = {&named};
  for (const double weight : {1.0, 1.0, 2.0}) {
    lanes.push_back(&sim.lane(weight));
    lanes.back()->join(group);
  }
  for (FairPool::Lane* lane : lanes) sim.begin(*lane, lane == &named ? 3 * kMs : 7 * kMs, 6);
  sim.run_until(now_ns + 12 * kSecond, 2);
  CHECK(share(sim, named, lanes) == Approx(0.5).epsilon(0.03));
  CHECK(share(sim, *lanes[1], lanes) == Approx(0.125).epsilon(0.03));
  CHECK(share(sim, *lanes[3], lanes) == Approx(0.25).epsilon(0.03));
  group->set_weight(3);
  CHECK(group->weight() == 3);
  std::map<FairPool::Lane*, uint64_t> before;
  for (FairPool::Lane* lane : lanes) before[lane] = sim.used(*lane);
  sim.run_until(now_ns + 12 * kSecond, 2);
  CHECK(share(sim, named, lanes, before) == Approx(0.25).epsilon(0.03));
}

TEST_CASE("a lane without a task for a moment is still owed what others had used too much") {
  Simulation sim(1);
  FairPool::Lane& cheap = sim.lane();
  FairPool::Lane& heavy = sim.lane();
  std::vector<Simulation::Task*> tasks;
  for (int i = 0; i < 2; i++) tasks.push_back(&sim.task(cheap, 5 * kMs));
  for (auto* task : tasks) sim.begin(*task);
  sim.run_until(now_ns + 50 * kMs, 1);
  sim.begin(heavy, 4 * kSecond, 2);
  while (sim.used(heavy) == 0) sim.step(), sim.settle(1);
  // From here on `cheap` is owed four seconds. It has no task for a tenth of a second, which it has given up.
  for (auto* task : tasks) task->goes_on = false;
  for (size_t left = tasks.size(); left > 0;) sim.step(), sim.settle(--left > 0 ? 1 : 0);
  const uint64_t cheap_before = sim.used(cheap);
  sim.pass(100 * kMs);
  for (auto* task : tasks) sim.begin(*task);
  sim.settle(1);
  const uint64_t heavy_before = sim.used(heavy);
  while (sim.running(heavy) == 0) sim.step(), sim.settle(1);
  CHECK(sim.used(heavy) == heavy_before);
  CHECK(static_cast<double>(sim.used(cheap) - cheap_before) / kSecond == Approx(3.9).epsilon(0.03));
}

TEST_CASE("a lane that has used more than its part begins no long task while another has none for a moment") {
  Simulation sim(2);
  FairPool::Lane& cheap = sim.lane(19);
  FairPool::Lane& heavy = sim.lane();
  std::vector<Simulation::Task*> tasks;
  for (int i = 0; i < 4; i++) tasks.push_back(&sim.task(cheap, kMs));
  for (auto* task : tasks) sim.begin(*task);
  sim.run_until(now_ns + 50 * kMs, 2);
  sim.begin(heavy, 40 * kMs, 2);
  while (sim.used(heavy) == 0) sim.step(), sim.settle(2);
  for (auto* task : tasks) task->goes_on = false;
  for (size_t left = tasks.size(); left > 0;) sim.step(), sim.settle(std::min<size_t>(--left, 2));
  CHECK(sim.pool.waiting() == 2);  // of `heavy`, and both threads are idle
  sim.pass(10 * kMs);
  for (auto* task : tasks) sim.begin(*task);
  sim.settle(2);
  CHECK(sim.running(cheap) == 2);  // at once
  for (auto* task : tasks) task->goes_on = false;
  for (size_t left = tasks.size(); left > 0;) sim.step(), sim.settle(std::min<size_t>(--left, 2));
  sim.pass(15 * kMs);  // two threads have idled for longer in all than `heavy` was ahead, and not for a task more
  sim.settle(1);
  CHECK(sim.running(heavy) == 1);
}

TEST_CASE("a lane that slept long is owed nothing") {
  Simulation sim(1);
  FairPool::Lane& one = sim.lane();
  FairPool::Lane& other = sim.lane();
  Simulation::Task& early = sim.task(one, 5 * kMs);
  early.goes_on = false;
  sim.pool.submit(one, early);
  sim.settle(1);
  sim.step();
  sim.begin(other, 5 * kMs, 3);
  sim.run_until(now_ns + 20 * kSecond, 1);
  std::map<FairPool::Lane*, uint64_t> before = {{&one, sim.used(one)}, {&other, sim.used(other)}};
  sim.begin(one, 5 * kMs, 3);
  sim.run_until(now_ns + kSecond, 1);
  CHECK(share(sim, one, {&one, &other}, before) == Approx(0.5).epsilon(0.05));
}

TEST_CASE("a lane whose tasks became dear counts as dear while the first of them still runs") {
  Simulation sim(4);
  FairPool::Lane& cheap = sim.lane();
  FairPool::Lane& turning = sim.lane();
  sim.begin(cheap, 5 * kMs, 16);
  std::vector<Simulation::Task*> tasks;
  for (int i = 0; i < 16; i++) tasks.push_back(&sim.task(turning, 5 * kMs));
  for (auto* task : tasks) sim.begin(*task);
  sim.run_until(now_ns + kSecond, 4);
  // One task becomes dear. When it has run for long, others of its lane are held back before it ends.
  tasks[0]->lasts_ns = 100 * kSecond;
  sim.run_until(now_ns + 2 * kSecond, 4);
  for (size_t i = 1; i < tasks.size(); i++) tasks[i]->lasts_ns = 100 * kSecond;
  size_t most = 0;
  for (int i = 0; i < 4000; i++) {
    sim.step(), sim.settle(4);
    most = std::max(most, sim.running(turning));
  }
  CHECK(most == 2);
}

TEST_CASE("a slice counts from its beginning: free threads are not all given to the lane that is behind") {
  Simulation sim(8);
  FairPool::Lane& one = sim.lane();
  FairPool::Lane& other = sim.lane();
  sim.begin(one, 90 * kMs, 16);
  sim.begin(other, 90 * kMs, 16);
  for (int i = 0; i < 80; i++) sim.settle(8), sim.step();
  size_t most = 0;
  for (int i = 0; i < 400; i++) {
    sim.settle(8);
    most = std::max({most, sim.running(one), sim.running(other)});
    sim.step();
  }
  CHECK(most <= 5);
}

}  // namespace spdld::fair_pool_share_test
