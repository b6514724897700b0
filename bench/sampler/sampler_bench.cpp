// What it takes to say which sample comes at a position: the same for every size and place, and without memory.
#include <benchmark/benchmark.h>

#include "daemon/sampler/order.h"

namespace {

using namespace spdld::sampler;

void permutation(benchmark::State& state) {
  const auto size = static_cast<uint64_t>(state.range(0));
  const Permutation order(size, 17, 3);
  uint64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(order(position));
    position = (position + 7919) % size;
  }
}
// Cycle walking: 1 try on average just below a power of two, nearly 2 just above one.
BENCHMARK(permutation)->Arg(2000)->Arg(1 << 20)->Arg((1 << 20) + 1)->Arg(1281167)->Arg(1ll << 40);

void epoch_begins(benchmark::State& state) {
  uint64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(Permutation(1281167, 17, epoch++)(0));
}
BENCHMARK(epoch_begins);

void substitute(benchmark::State& state) {
  const Order order{1281167, 17, true};
  uint64_t position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(substitute_at(order, 3, position++ % order.size, 1));
}
BENCHMARK(substitute);

}  // namespace

BENCHMARK_MAIN();
