// Measures how long it takes to say which sample comes at a position. The time is the same for every size and position.
#include <benchmark/benchmark.h>

#include <vector>

#include "daemon/sampler/order.h"

namespace {

using namespace spdld;
using namespace spdld::sampler;

void permutation(benchmark::State& state) {
  const auto size = static_cast<uint64_t>(state.range(0));
  const Permutation order(size, spdld::Draw(17, 3, 0, spdld::draw_key("order")));
  uint64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(order(position));
    position = (position + 7919) % size;
  }
}
// Cycle walking: 1 try on average just below a power of two, nearly 2 just above one.
BENCHMARK(permutation)->Arg(2000)->Arg(1 << 20)->Arg((1 << 20) + 1)->Arg(1281167)->Arg(1ll << 40);

void epoch_begins(benchmark::State& state) {
  const Order order({}, Subset(1281167));
  uint64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(EpochOrder(order, epoch++)(0));
}
BENCHMARK(epoch_begins);

void substitute(benchmark::State& state) {
  const Order order({}, Subset(1281167));
  const EpochOrder epoch(order, 3);
  uint64_t position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(epoch.substitute(position++ % order.size(), 1));
}
BENCHMARK(substitute);

// 1,282 archives of a thousand samples, as ImageNet is often packed.
void window(benchmark::State& state) {
  std::vector<uint64_t> starts;
  for (uint64_t id = 0; id < 1281167; id += 1000) starts.push_back(id);
  const Order order({config::Shuffle::kWindow, 17, 10000}, Subset(1281167), starts);
  const EpochOrder epoch(order, 3);
  uint64_t position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(epoch(position++ % order.size()));
}
BENCHMARK(window);

// A million samples, of weights between 1 and 1000.
std::vector<double> million_weights() {
  std::vector<double> weights(1'000'000);
  Draw draw(17, 0, 0, draw_key("weights"));
  for (double& weight : weights) weight = draw.uniform(1, 1000);
  return weights;
}

void alias_table(benchmark::State& state) {
  const std::vector<double> weights = million_weights();
  for (auto _ : state) benchmark::DoNotOptimize(AliasTable(weights).size());
}
BENCHMARK(alias_table)->Unit(benchmark::kMillisecond);

void weighted_position(benchmark::State& state) {
  const Order order(17, Subset(1'000'000), {million_weights(), true, 1'000'000});
  const EpochOrder epoch(order, 3);
  uint64_t position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(epoch(position++));
}
BENCHMARK(weighted_position);

// Of so many samples without replacement; made ahead of its epoch, on the pool.
void weighted_epoch_begins(benchmark::State& state) {
  const Order order(17, Subset(1'000'000), {million_weights(), false, static_cast<uint64_t>(state.range(0))});
  uint64_t epoch = 0;
  for (auto _ : state) benchmark::DoNotOptimize(EpochOrder(order, epoch++)(0));
}
BENCHMARK(weighted_epoch_begins)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
