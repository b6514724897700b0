// Rows of 224 x 224 pictures mixed with one another in place, on one thread: the time of a pixel of three values.
// bench/mixing/plain_way.py measures what torch takes for a batch of the same pictures.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "daemon/mixing/rows.h"

namespace {

using namespace spdld;

void mix(benchmark::State& state, config::DType dtype) {
  constexpr size_t kPixels = 224 * 224, kRows = 32;
  const size_t row_bytes = 3 * kPixels * config::dtype_bytes(dtype);
  // Half of the largest exponent: a finite number of any type.
  std::vector<uint8_t> rows(kRows * row_bytes, 0x3C);
  size_t at = 1;
  for (auto _ : state) {
    mixing::mix_rows(dtype, 0.3, 3 * kPixels, rows.data() + at * row_bytes, rows.data() + (at - 1) * row_bytes);
    at = at + 1 == kRows ? 1 : at + 1;
  }
  state.counters["time/pixel"] =
      benchmark::Counter(kPixels, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(mix, uint8, config::DType::kUint8);
BENCHMARK_CAPTURE(mix, float16, config::DType::kFloat16);
BENCHMARK_CAPTURE(mix, bfloat16, config::DType::kBfloat16);
BENCHMARK_CAPTURE(mix, float32, config::DType::kFloat32);

}  // namespace

BENCHMARK_MAIN();
