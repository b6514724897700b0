// How many threads of the pool serve at once. Gates, not times: a pool that lets a thread idle would not come to an
// end.
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <functional>
#include <latch>
#include <mutex>
#include <set>
#include <vector>

#include "daemon/base/fair_pool.h"
#include "daemon/base/system/cpu.h"
#include "tests/support/rendezvous.h"

namespace spdld::fair_pool_concurrency_test {

using spdld::FairPool;
using spdld::FairTask;

namespace {

struct Call final : FairTask {
  std::function<void(unsigned)> does;
  void run(unsigned thread) override { does(thread); }
};

class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    inside_++;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    inside_--;
  }
  void wait_inside(unsigned count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= count; });
  }
  unsigned inside() {
    std::lock_guard lock(mutex_);
    return inside_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  unsigned inside_ = 0;
};

void submit_all(FairPool& pool, FairPool::Lane& lane, std::vector<Call>& calls,
                const std::function<void(unsigned)>& does) {
  for (auto& call : calls) {
    call.does = does;
    pool.submit(lane, call);
  }
}

}  // namespace

TEST_CASE("as many tasks run at once as the concurrency says, no thread idles, and the lowest threads serve") {
  FairPool pool(6);
  for (const unsigned concurrency : {6u, 3u, 1u, 4u, 2u, 6u}) {
    pool.set_concurrency(concurrency);
    CHECK(pool.concurrency() == concurrency);
    // Each task waits until as many run as may: a thread that idled would be waited for in vain.
    spdld::test::Rendezvous together(concurrency);
    std::atomic<unsigned> running{0}, peak{0}, highest{0};
    std::vector<Call> calls(size_t{concurrency} * 200);
    {
      FairPool::Lane lane(pool);
      submit_all(pool, lane, calls, [&](unsigned thread) {
        const unsigned now = ++running;
        for (unsigned seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) {
        }
        for (unsigned seen = highest; thread > seen && !highest.compare_exchange_weak(seen, thread);) {
        }
        together.arrive_and_wait();
        running--;
      });
    }
    CHECK(peak == concurrency);
    CHECK(highest == concurrency - 1);
    CHECK(pool.waiting() == 0);
  }
}

TEST_CASE("a concurrency out of range is brought into it") {
  FairPool pool(3);
  CHECK(pool.concurrency() == 3);
  pool.set_concurrency(0);
  CHECK(pool.concurrency() == 1);
  pool.set_concurrency(99);
  CHECK(pool.concurrency() == 3);
}

TEST_CASE("more concurrency wakes threads for the tasks that wait already") {
  FairPool pool(4);
  pool.set_concurrency(1);
  Gate gate;
  std::vector<Call> calls(6);
  FairPool::Lane lane(pool);
  submit_all(pool, lane, calls, [&](unsigned) { gate.pass(); });
  gate.wait_inside(1);
  CHECK(pool.waiting() == 5);
  CHECK(gate.inside() == 1);
  pool.set_concurrency(4);
  gate.wait_inside(4);
  CHECK(pool.waiting() == 2);
  gate.open();
}

TEST_CASE("less concurrency begins no task until few enough run, and hands over to the lowest thread") {
  FairPool pool(3);
  FairPool::Lane lane(pool);
  Gate first;
  std::vector<Call> held(3), later(50);
  submit_all(pool, lane, held, [&](unsigned) { first.pass(); });
  first.wait_inside(3);
  pool.set_concurrency(1);
  std::mutex mutex;
  std::set<unsigned> threads;
  unsigned overlaps = 0;
  std::latch all(50);
  submit_all(pool, lane, later, [&](unsigned thread) {
    {
      std::lock_guard lock(mutex);
      threads.insert(thread);
      if (first.inside() > 0) overlaps++;
    }
    all.count_down();
  });
  CHECK(pool.waiting() == 50);
  first.open();
  all.wait();
  CHECK(threads == std::set<unsigned>{0});
  CHECK(overlaps == 0);
}

TEST_CASE("the concurrency may change while many submit: every task runs once, and nothing waits for ever") {
  FairPool pool(4);
  std::atomic<unsigned> ran{0};
  constexpr unsigned kRounds = 300;
  std::atomic<bool> go_on{true};
  std::thread changes([&] {
    for (unsigned i = 0; go_on; i++) {
      pool.set_concurrency(1 + i * 7 % 4);
      std::this_thread::yield();
    }
  });
  for (unsigned round = 0; round < kRounds; round++) {
    std::vector<Call> calls(20), others(20);
    FairPool::Lane lane(pool), other(pool, 2.0);
    std::thread submitter([&] { submit_all(pool, lane, calls, [&](unsigned) { ran++; }); });
    submit_all(pool, other, others, [&](unsigned) { ran++; });
    submitter.join();
  }
  go_on = false;
  changes.join();
  CHECK(ran == kRounds * 40);
}

TEST_CASE("all CPU time of tasks is charged, and none twice, by the time their lanes have ended") {
  FairPool pool(2);
  const uint64_t before_ns = spdld::process_cpu_ns();
  std::atomic<uint64_t> measured_ns{0};
  std::vector<Call> calls(60), others(60);
  const auto work = [&](unsigned) {
    const uint64_t start_ns = spdld::thread_cpu_ns();
    while (spdld::thread_cpu_ns() < start_ns + 100'000) {
    }
    measured_ns += spdld::thread_cpu_ns() - start_ns;
  };
  {
    FairPool::Lane one(pool), two(pool);
    submit_all(pool, one, calls, work);
    submit_all(pool, two, others, work);
  }
  CHECK(pool.busy_ns().value() >= measured_ns);
  CHECK(pool.busy_ns().value() <= spdld::process_cpu_ns() - before_ns);
}

TEST_CASE("lanes of light and of less light tasks share several threads evenly, a slice at a time") {
  FairPool pool(2);
  std::vector<Call> light(64), heavier(64);  // so many that a thread that is held up takes no lane's last
  std::atomic<bool> go_on{true};
  FairPool::Lane one(pool), two(pool);
  const auto begin = [&](FairPool::Lane& lane, std::vector<Call>& calls, uint64_t ns) {
    for (auto& call : calls) {
      call.does = [&, ns](unsigned) {
        for (const uint64_t end_ns = spdld::thread_cpu_ns() + ns; spdld::thread_cpu_ns() < end_ns;) {
        }
        if (go_on) pool.submit(lane, call);
      };
      pool.submit(lane, call);
    }
  };
  begin(one, light, 20'000);
  begin(two, heavier, 120'000);
  while (pool.busy_ns().value() < 300'000'000) std::this_thread::yield();
  const double share = static_cast<double>(one.busy_ns().value()) / static_cast<double>(pool.busy_ns().value());
  go_on = false;
  CHECK(share == Approx(0.5).margin(0.1));
}

}  // namespace spdld::fair_pool_concurrency_test
