// Measures what the pool adds to a task, and what recording adds. CPU is the whole process's time for one task.
#include <benchmark/benchmark.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "daemon/base/distribution.h"
#include "daemon/base/fair_pool.h"
#include "daemon/base/statistics.h"
#include "daemon/base/system/cpu.h"

namespace {

using namespace spdld;

void burn(uint64_t ns) {
  if (!ns) return;
  const uint64_t until_ns = monotonic_ns() + ns;
  while (monotonic_ns() < until_ns) {
  }
}

// Tasks that submit themselves again until `left` is used up, as a stream's do.
struct Round {
  std::mutex mutex;
  std::condition_variable over;
  std::atomic<int64_t> left{0};
  size_t resting = 0;
};

struct Task final : FairTask {
  void run(unsigned) override {
    burn(work_ns);
    if (round->left.fetch_sub(1, std::memory_order_relaxed) > 0) return pool->submit(*lane, *this);
    std::lock_guard lock(round->mutex);
    round->resting++;
    round->over.notify_one();
  }
  FairPool* pool = nullptr;
  FairPool::Lane* lane = nullptr;
  Round* round = nullptr;
  uint64_t work_ns = 0;
};

constexpr int64_t kTasks = 20'000;

// Arguments: threads, lanes, work of a task in ns. CPU less the work itself is the pool's.
void pool_full(benchmark::State& state) {
  FairPool pool(static_cast<unsigned>(state.range(0)));
  std::vector<std::unique_ptr<FairPool::Lane>> lanes;
  for (int64_t i = 0; i < state.range(1); i++) lanes.push_back(std::make_unique<FairPool::Lane>(pool));
  Round round;
  std::vector<Task> tasks(24);
  for (size_t i = 0; i < tasks.size(); i++) {
    tasks[i].pool = &pool;
    tasks[i].lane = lanes[i % lanes.size()].get();
    tasks[i].round = &round;
    tasks[i].work_ns = static_cast<uint64_t>(state.range(2));
  }
  for (auto _ : state) {
    round.left = kTasks - static_cast<int64_t>(tasks.size());
    round.resting = 0;
    for (auto& task : tasks) pool.submit(*task.lane, task);
    std::unique_lock lock(round.mutex);
    round.over.wait(lock, [&] { return round.resting == tasks.size(); });
  }
  state.SetItemsProcessed(state.iterations() * kTasks);
}
BENCHMARK(pool_full)
    ->Args({1, 1, 0})
    ->Args({2, 1, 0})
    ->Args({2, 2, 0})
    ->Args({1, 1, 20'000})
    ->Args({2, 1, 20'000})
    ->Args({2, 2, 20'000})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// One task at a time from outside: a thread is woken for each. Argument: threads.
void pool_wakes(benchmark::State& state) {
  FairPool pool(static_cast<unsigned>(state.range(0)));
  FairPool::Lane lane(pool);
  Round round;
  Task task;
  task.pool = &pool;
  task.lane = &lane;
  task.round = &round;
  for (auto _ : state) {
    round.left = 0;
    round.resting = 0;
    pool.submit(lane, task);
    std::unique_lock lock(round.mutex);
    round.over.wait(lock, [&] { return round.resting == 1; });
  }
}
BENCHMARK(pool_wakes)->Arg(1)->Arg(2)->Arg(16)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMicrosecond);

void histogram_record(benchmark::State& state) {
  static Histogram histogram;
  uint64_t value = 1;
  for (auto _ : state) {
    histogram.record(value);
    value = value * 2862933555777941757u + 3037000493u;
    value >>= 20;
  }
}
BENCHMARK(histogram_record)->Threads(1)->Threads(2);

void histogram_quantile(benchmark::State& state) {
  Histogram histogram;
  for (uint64_t i = 0; i < 100'000; i++) histogram.record(i * i);
  for (auto _ : state) benchmark::DoNotOptimize(Distribution::of(histogram).quantile(0.99));
}
BENCHMARK(histogram_quantile);

void clock_monotonic(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(monotonic_ns());
}
BENCHMARK(clock_monotonic);

void clock_thread_cpu(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(thread_cpu_ns());
}
BENCHMARK(clock_thread_cpu);

}  // namespace

BENCHMARK_MAIN();
