// Measures the node's cache: a look-up, a new entry, and the start with a full disk. Counters show the memory for each
// sample.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "daemon/cache/cache.h"
#include "daemon/cache/disk/index_file.h"
#include "daemon/cache/disk/shelf_header.h"

namespace {

using namespace spdld;
using cache::Cache;
namespace fs = std::filesystem;

const cache::ShelfKey kKey{"file:///bench", "f", "image", "planes"};
constexpr uint64_t kImageNet = 1'300'000;

std::vector<uint64_t> shuffled(uint64_t count) {
  std::vector<uint64_t> order(count);
  for (uint64_t i = 0; i < count; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  return order;
}

// Small entries, in random order as an epoch asks for them: neither words nor headers are in the processor's caches.
void find_hit(benchmark::State& state) {
  const auto samples = static_cast<uint64_t>(state.range(0));
  Cache cache({.ram_bytes_max = 1ull << 30});
  const auto shelf = cache.open(kKey, samples);
  const auto order = shuffled(samples);
  for (const uint64_t sample : order) shelf->reserve(sample, 64).keep({sample, 1});
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(shelf->find(order[at]));
    at = at + 1 == order.size() ? 0 : at + 1;
  }
  state.counters["bytes_a_sample"] =
      static_cast<double>(cache.report().ram_bytes - shelf->report().memory_bytes) / static_cast<double>(samples);
}
BENCHMARK(find_hit)->Arg(2000)->Arg(kImageNet);

void find_miss(benchmark::State& state) {
  Cache cache({.ram_bytes_max = 1ull << 30});
  const auto shelf = cache.open(kKey, kImageNet);
  uint64_t sample = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(shelf->find(sample));
    sample = (sample + 7919) % kImageNet;
  }
}
BENCHMARK(find_miss);

// With its bytes written, into memory that the system gives just now: pages are the greatest part of it.
void reserve_keep(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const std::vector<uint8_t> entry(bytes, 7);
  constexpr uint64_t kEntries = 1500;
  std::optional<Cache> cache;
  std::shared_ptr<cache::Shelf> shelf;
  uint64_t sample = kEntries;
  for (auto _ : state) {
    if (sample == kEntries) {
      state.PauseTiming();
      shelf.reset();
      cache.emplace(cache::Settings{.ram_bytes_max = 512u << 20});
      shelf = cache->open(kKey, kEntries);
      sample = 0;
      state.ResumeTiming();
    }
    auto room = shelf->reserve(sample, bytes);
    if (!room) return state.SkipWithError("there is no room");
    std::memcpy(room.memory(), entry.data(), bytes);
    room.keep({sample, 1});
    ++sample;
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * static_cast<int64_t>(state.iterations()));
}
BENCHMARK(reserve_keep)->Arg(300'000);

void refused(benchmark::State& state) {
  Cache cache({.ram_bytes_max = 1u << 20});
  const auto shelf = cache.open(kKey, kImageNet);
  uint64_t sample = 0;
  for (auto _ : state) benchmark::DoNotOptimize(shelf->reserve(sample = (sample + 1) % kImageNet, 4u << 20));
}
BENCHMARK(refused);

void open_disk_index(benchmark::State& state) {
  std::string name = (fs::temp_directory_path() / "spdld-bench-XXXXXX").string();
  if (!::mkdtemp(name.data())) return state.SkipWithError("there is no folder for it");
  const fs::path folder = fs::path(name) / cache::key_digits(kKey);
  fs::create_directories(folder);
  {
    std::ofstream(folder / "shelf") << cache::header_text({kKey, kImageNet});
    std::ofstream index(folder / "index", std::ios::binary);
    const auto header = cache::index_header(cache::key_digits(kKey));
    index.write(reinterpret_cast<const char*>(header.data()), header.size());
    for (const uint64_t sample : shuffled(kImageNet)) {
      const auto record = cache::index_record({sample, {sample, 1}, sample * 10, 10, sample});
      index.write(reinterpret_cast<const char*>(record.data()), record.size());
    }
    std::ofstream(folder / "entries") << ' ';
  }
  fs::resize_file(folder / "entries", kImageNet * 10);
  uint64_t entries = 0;
  for (auto _ : state) {
    Cache cache({.folder = name, .disk_bytes_max = 1ull << 40});
    const auto shelf = cache.open(kKey, kImageNet);
    entries = shelf->report().disk_entries;
  }
  state.counters["entries"] = static_cast<double>(entries);
  fs::remove_all(name);
}
BENCHMARK(open_disk_index)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
