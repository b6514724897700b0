// A picture's way from decoded rows to its tensor, by the size of the box that was drawn.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "config/load.h"
#include "daemon/transform/image_program.h"

namespace {

using namespace spdld;

transform::ImageProgram train_program(const std::string& dtype) {
  const auto spec = config::load_pipeline_toml(
      "name = \"bench\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = "
      "\"image\"\n"
      "from = \"image\"\nops = [{ op = \"decode-image\" }, { op = \"resize\", size = [224, 224] }, { op = "
      "\"horizontal-flip\" },"
      "{ op = \"normalize\", mean = [0.5, 0.5, 0.5], std = [0.2, 0.2, 0.2], dtype = \"" +
          dtype + "\" }]\n",
      "bench.toml");
  return transform::ImageProgram(spec.value->outputs.front());
}

void render(benchmark::State& state, const std::string& dtype) {
  const auto side = static_cast<int>(state.range(0));
  PixelRows rows;
  rows.covers = {0, 0, side, side};
  rows.picture = {side, side};
  rows.stride_bytes = static_cast<size_t>(side) * 3;
  const size_t bytes = rows.stride_bytes * static_cast<size_t>(side) + PixelRows::kSlackBytes;
  uint8_t* pixels = rows.memory.resize(bytes);
  for (size_t i = 0; i < bytes; ++i) pixels[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  const auto program = train_program(dtype);
  std::vector<uint8_t> tensor(program.tensor().bytes());
  transform::Scratch scratch;
  transform::Geometry geometry;
  uint64_t sample = 0;
  for (auto _ : state) {
    program.resolve(rows.picture, {1, 1, sample++}, geometry);
    program.render(rows, geometry, scratch, tensor.data());
    benchmark::DoNotOptimize(tensor.data());
  }
}

BENCHMARK_CAPTURE(render, float32, "float32")->Arg(120)->Arg(300)->Arg(600)->Arg(2000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(render, float16, "float16")->Arg(300)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
